/**
 * The last step before a result: every proof is verified, and none that does not hold is returned.
 *
 * One that does not hold is made anew, on another device where there is one. If that holds, the parameters were sound
 * and the first device is suspect; if it does not, the parameters are read again to tell a file that was damaged from a
 * machine that computes wrong.
 */
import { asError, ProofInvalidError, type ProverError, SrsUnavailableError } from '../errors.ts'
import type { Diagnosis } from '../events.ts'
import type { PreparedInputs } from '../groth16/verify.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import type { Job, Partition } from './job.ts'
import type { JobStatement } from './job-statement.ts'
import { attempts, forgetUnavailable, type PartitionSteps, verifying } from './partition-steps.ts'
import type { ProvedPartition } from './prove-partition.ts'

/** A second proof of a partition that does not hold is no passing fault. */
const MAX_FAILURES = 2

/**
 * Verifies all partitions of a job, and proves those anew, once, that do not hold.
 * @param proved in order of the partitions; replaced where a partition was proved anew
 * @param prove proves some partitions of the job
 * @returns ms that verification took
 * @throws {ProofInvalidError}, or {SrsUnavailableError} where the parameters are damaged
 */
export async function verifyJob(
  steps: PartitionSteps,
  job: Job,
  statement: JobStatement,
  proved: ProvedPartition[],
  prove: (partitions: readonly Partition[]) => Promise<ProvedPartition[]>,
): Promise<number> {
  let verifyMs = 0
  /** The device that made the first proof of each partition that did not hold. */
  const first = new Map<Partition, number>()
  for (let failures = 1; ; failures++) {
    const from = job.clock.now()
    const bad = await findInvalid(steps, job, statement, proved).catch(async (error: unknown) => {
      // Its key is not the one that the points belong to any more.
      await forgetUnavailable(steps, job, error)
      throw error
    })
    verifyMs += job.clock.now() - from
    for (const [partition, gpu] of first) {
      if (!bad.includes(partition)) steps.diagnosed(partition, { gpu, parameters: 'sound', again: 'holds' })
    }
    if (bad.length === 0) {
      for (const partition of job.partitions) steps.verified(partition)
      return verifyMs
    }
    const error = doesNotVerify(job, bad)
    for (const partition of bad) {
      steps.verifyFailed(partition)
      partition.move('pending')
    }
    if (failures === MAX_FAILURES) {
      const { location } = (proved[0] as ProvedPartition).circuit
      const { parameters, verdict } = await diagnose(steps, job, location, error)
      for (const partition of bad) {
        steps.diagnosed(partition, { gpu: first.get(partition) ?? 0, parameters, again: 'wrong' })
      }
      throw verdict
    }
    for (const partition of bad) {
      first.set(partition, partition.gpu ?? 0)
      partition.doubt = error
      steps.retry(partition, failures + 1, error)
    }
    const again = await prove(bad)
    for (const [k, { index }] of bad.entries()) proved[index] = again[k] as ProvedPartition
  }
}

function doesNotVerify(job: Job, bad: readonly Partition[]): ProofInvalidError {
  const indices = bad.map(({ index }) => index).join(', ')
  const details = { partition: (bad[0] as Partition).index }
  return new ProofInvalidError(`the proof of partition ${indices} does not verify`, { details, jobId: job.id })
}

/**
 * Reads the parameters of proofs that did not hold twice.
 * @returns what they are, and what the job fails with
 * @throws `job.signal.reason` once the job is aborted
 */
async function diagnose(
  steps: PartitionSteps,
  job: Job,
  location: ParametersLocation,
  wrong: ProofInvalidError,
): Promise<{ parameters: Diagnosis['parameters']; verdict: ProverError }> {
  const { paramsFile: file, paramsDigest: expected } = location
  const { details, jobId } = wrong
  let received: string
  try {
    received = await steps.synthesizer.digestOf(location, { priority: job.rank, signal: job.signal })
  } catch (cause) {
    job.signal.throwIfAborted()
    const message = `${wrong.message}, nor did it the first time; its parameters ${file} can't be read: ${asError(cause).message}`
    const verdict = new ProofInvalidError(message, { details: { ...details, file }, jobId, cause })
    return { parameters: 'unreadable', verdict }
  }
  if (received !== expected) {
    const message = `parameters ${file}: wrong digest; the file was damaged while in use`
    const verdict = new SrsUnavailableError(message, { details: { file, expected, received }, jobId, cause: wrong })
    await steps.circuits.forget(job.circuitId)
    return { parameters: 'damaged', verdict }
  }
  const message =
    `${wrong.message}, nor did it the first time, and its parameters are sound: ` +
    'a device or the memory of this machine computes wrong'
  return { parameters: 'sound', verdict: new ProofInvalidError(message, { details: { ...details, file }, jobId }) }
}

/** All at once first, as it was prepared; only if that fails each alone, to know which. */
async function findInvalid(
  steps: PartitionSteps,
  job: Job,
  statement: JobStatement,
  proved: readonly ProvedPartition[],
): Promise<readonly Partition[]> {
  const { partitions } = job
  const { location } = (proved[0] as ProvedPartition).circuit
  const publicInputs = await statement.publicInputs()
  const hold = (which: readonly Partition[], prepared?: PreparedInputs): Promise<boolean> =>
    attempts(steps, which[0] as Partition, () =>
      steps.synthesizer.verify(
        {
          location,
          inputs: prepared ?? which.map(({ index }) => publicInputs[index] as readonly Uint8Array[]),
          proof: concatenate(which.map(({ index }) => proved[index] as ProvedPartition)),
        },
        verifying(steps, which[0] as Partition),
      ),
    )
  const prepared = await statement.prepared(location)
  if (prepared !== undefined && (await hold(partitions, prepared))) return []
  // Nothing was prepared, or that is wrong and not the proof.
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
