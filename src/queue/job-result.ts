/** What a finished job returns, and what it teaches about the time that its circuit takes. */
import type { ProofResult } from '../events.ts'
import type { Job, Partition } from './job.ts'
import type { Rates } from './progress.ts'
import type { ProvedPartition } from './prove-partition.ts'
import { concatenate } from './verify-job.ts'

/** To be called once all partitions are verified. */
export function jobResult(job: Job, proved: readonly ProvedPartition[], verifyMs: number, rates: Rates): ProofResult {
  const { id, ref, circuitId, partitions, createdAt, startedAt = createdAt } = job
  const sum = (of: (partition: Partition) => number | undefined): number =>
    partitions.reduce((total, partition) => total + (of(partition) ?? 0), 0)
  const synthesisMs = sum((partition) => partition.synthesisMs)
  const gpuMs = sum((partition) => partition.gpuMs)
  const count = partitions.length
  rates.add(circuitId, { synthesisMs: synthesisMs / count, gpuMs: gpuMs / count, verifyMs: verifyMs / count })
  return {
    jobId: id,
    kind: ref.kind,
    circuitId,
    proof: concatenate(proved),
    partitions: count,
    verified: true,
    development: proved.some(({ circuit }) => circuit.development),
    timings: {
      queueMs: startedAt - createdAt,
      srsLoadMs: Math.max(...proved.map(({ loadMs }) => loadMs)),
      synthesisMs,
      gpuMs,
      verifyMs,
      totalMs: job.clock.now() - createdAt,
    },
  }
}
