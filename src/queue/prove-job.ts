/** All partitions of a job, side by side as the scheduler lets them. */
import type { PartitionInput } from '../synthesis/partition-input.ts'
import type { Job } from './job.ts'
import { forgetUnavailable, type PartitionSteps } from './partition-steps.ts'
import { type ProvedPartition, provePartition } from './prove-partition.ts'
import type { OnTaken } from './try-on-device.ts'

/**
 * Proves partitions; if one fails for good, the others are stopped.
 * @param onTaken called whenever a device has a partition's witness: the host has little to do then
 * @throws what made the first of them fail, or what the job was aborted with
 */
export async function proveJob(
  steps: PartitionSteps,
  job: Job,
  inputs: readonly PartitionInput[],
  onTaken: OnTaken,
  which: Job['partitions'] = job.partitions,
): Promise<ProvedPartition[]> {
  const runs = which.map(async (partition) => {
    try {
      return await provePartition(steps, partition, inputs[partition.index] as PartitionInput, onTaken)
    } catch (error) {
      if (partition.state !== 'done') partition.move('failed')
      job.abort(error)
      throw error
    }
  })
  await Promise.allSettled(runs)
  await forgetUnavailable(steps, job, job.signal.reason)
  job.signal.throwIfAborted()
  return Promise.all(runs)
}
