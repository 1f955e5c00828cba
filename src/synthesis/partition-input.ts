/** What a synthesis worker is given for a partition of any kind. */
import type { CompactWitness } from '../circuit/shape.ts'
import type { PorepPartition } from './porep/porep-partition.ts'
import type { PostPartition, UncheckedPartition } from './post-partition.ts'
import type { SnapPartition } from './snap/snap-partition.ts'

/** Told apart by `kind`. */
export type PartitionInput = PostPartition | PorepPartition | SnapPartition

/**
 * The same partition, to be synthesized without what a GPU checks faster: the hashes of a PoSt, nearly all of its
 * synthesis. Those of a seal or an update are few beside the work of its device.
 */
export function leftToDevice(input: PartitionInput): PartitionInput {
  return input.kind === 'window-post' || input.kind === 'winning-post' ? { ...input, unchecked: true } : input
}

/** Whether {@link leftToDevice} left something to the device. */
export function isUnchecked(input: PartitionInput): input is UncheckedPartition {
  return 'unchecked' in input && input.unchecked === true
}

/** Bytes of a partition's witness that are its input itself, and no copy. */
export function inputBytesOf({ wide }: CompactWitness, input: PartitionInput): number {
  return 'scalars' in input && wide.buffer === input.scalars.buffer ? wide.byteLength : 0
}
