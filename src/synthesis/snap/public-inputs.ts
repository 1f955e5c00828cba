/** What an update states: the public inputs of its partitions. */
import { writeU32 } from '../records.ts'
import type { SnapGeometry } from './snap-geometry.ts'
import type { SnapCommitments } from './snap-partition.ts'

const SCALAR_BYTES = 32

/** Public inputs of a partition, ONE left out. */
export const SNAP_INPUTS = 4

/** The partition's index in the low bits, h select above them: an input, and bits of the witness. */
export function packedSelectors({ parameters, hSelect }: SnapGeometry, partition: number): number {
  return partition + 2 ** parameters.partitionBits * hSelect
}

/**
 * Public inputs of a partition without ONE: partition and h select, comm_r_old, comm_d_new, comm_r_new.
 * @returns 32 bytes little-endian each, one after another
 */
export function snapPublicInputs(geometry: SnapGeometry, commitments: SnapCommitments, partition: number): Uint8Array {
  const bytes = new Uint8Array(SNAP_INPUTS * SCALAR_BYTES)
  writeU32(bytes, 0, packedSelectors(geometry, partition))
  bytes.set(commitments.commROld, SCALAR_BYTES)
  bytes.set(commitments.commDNew, 2 * SCALAR_BYTES)
  bytes.set(commitments.commRNew, 3 * SCALAR_BYTES)
  return bytes
}
