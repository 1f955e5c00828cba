/** The last step before a result: every proof is verified, and none that does not hold is returned. */
import { ProofInvalidError, type ProverErrorDetails } from '../errors.ts'
import type { Job, Partition } from './job.ts'
import { attempts, type PartitionSteps, type ProvedPartition } from './prove-partition.ts'

/** A second proof of a partition that does not hold is no passing fault. */
const MAX_FAILURES = 2

type PublicInputs = readonly (readonly Uint8Array[])[]

/**
 * Verifies all partitions of a job, and proves those anew, once, that do not hold.
 * @param proved in order of the partitions; replaced where a partition was proved anew
 * @param prove proves some partitions of the job
 * @returns ms that verification took
 * @throws {ProofInvalidError}
 */
export async function verifyJob(
  steps: PartitionSteps,
  job: Job,
  publicInputs: PublicInputs,
  proved: ProvedPartition[],
  prove: (partitions: readonly Partition[]) => Promise<ProvedPartition[]>,
): Promise<number> {
  let verifyMs = 0
  for (let failures = 1; ; failures++) {
    const from = job.clock.now()
    const bad = await findInvalid(steps, job, publicInputs, proved)
    verifyMs += job.clock.now() - from
    const [first] = bad
    if (first === undefined) {
      for (const partition of job.partitions) steps.verified(partition)
      return verifyMs
    }
    const details: ProverErrorDetails = { partition: first.index }
    const indices = bad.map(({ index }) => index).join(', ')
    const error = new ProofInvalidError(`the proof of partition ${indices} does not verify`, { details, jobId: job.id })
    for (const partition of bad) {
      steps.verifyFailed(partition)
      partition.move('pending')
    }
    if (failures === MAX_FAILURES) throw error
    for (const partition of bad) steps.retry(partition, failures + 1, error)
    const again = await prove(bad)
    for (const [k, { index }] of bad.entries()) proved[index] = again[k] as ProvedPartition
  }
}

/** All at once first; only if that fails each alone, to know which. */
async function findInvalid(
  steps: PartitionSteps,
  job: Job,
  publicInputs: PublicInputs,
  proved: readonly ProvedPartition[],
): Promise<readonly Partition[]> {
  const { partitions } = job
  const hold = (which: readonly Partition[]): Promise<boolean> =>
    attempts(steps, which[0] as Partition, () =>
      steps.synthesizer.verify(
        {
          location: (proved[0] as ProvedPartition).circuit.location,
          publicInputs: which.map(({ index }) => publicInputs[index] as readonly Uint8Array[]),
          proof: concatenate(which.map(({ index }) => proved[index] as ProvedPartition)),
        },
        {
          priority: job.rank,
          signal: job.signal,
          onStall: (silentMs) => steps.stalled(which[0] as Partition, 'verification', silentMs),
        },
      ),
    )
  if (await hold(partitions)) return []
  if (partitions.length === 1) return partitions
  const bad: Partition[] = []
  for (const partition of partitions) if (!(await hold([partition]))) bad.push(partition)
  // All hold alone but not together: that can't be, so none is believed.
  return bad.length > 0 ? bad : partitions
}

/** The proofs one after another, as the chain message carries them. */
export function concatenate(proved: readonly ProvedPartition[]): Uint8Array {
  const length = proved.reduce((sum, { proof }) => sum + proof.length, 0)
  const bytes = new Uint8Array(length)
  let at = 0
  for (const { proof } of proved) {
    bytes.set(proof, at)
    at += proof.length
  }
  return bytes
}
