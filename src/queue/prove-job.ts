/** All partitions of a job, side by side as the scheduler lets them. */
import { ProverError } from '../errors.ts'
import type { PartitionInput } from '../synthesis/partition-input.ts'
import type { Job } from './job.ts'
import type { PartitionSteps } from './partition-steps.ts'
import { type ProvedPartition, provePartition } from './prove-partition.ts'

/**
 * Proves partitions; if one fails for good, the others are stopped.
 * @throws what made the first of them fail, or what the job was aborted with
 */
export async function proveJob(
  steps: PartitionSteps,
  job: Job,
  inputs: readonly PartitionInput[],
  which: Job['partitions'] = job.partitions,
): Promise<ProvedPartition[]> {
  const runs = which.map(async (partition) => {
    try {
      return await provePartition(steps, partition, inputs[partition.index] as PartitionInput)
    } catch (error) {
      if (partition.state !== 'done') partition.move('failed')
      job.abort(error)
      throw error
    }
  })
  await Promise.allSettled(runs)
  if (isUnavailable(job.signal.reason)) await steps.circuits.forget(job.circuitId)
  job.signal.throwIfAborted()
  return Promise.all(runs)
}

/** Parameters that turned out bad are dropped, so that the next job reads them anew. */
function isUnavailable(error: unknown): boolean {
  return ProverError.is(error) && error.code === 'ERR_SRS_UNAVAILABLE'
}
