/**
 * Many inclusion proofs of one form, hashed from their leaves upwards a level at a time, so that the hasher gets groups
 * in bulk.
 */
import type { MerkleLayout } from './merkle-record.ts'
import { readU32 } from './records.ts'

const SCALAR_BYTES = 32

/** Hashes groups of `arity` scalars each. */
export type GroupHasher = (arity: number, preimages: Uint8Array, digests: Uint8Array) => void

/**
 * The roots that follow from leaves.
 * @param offsets of the inclusion proofs in `bytes`; their indices were checked by {@link leafIndex}
 * @param leaves 32 bytes a proof; overwritten with the roots
 */
export function hashPaths(
  layout: MerkleLayout,
  bytes: Uint8Array,
  offsets: readonly number[],
  leaves: Uint8Array,
  hash: GroupHasher,
): void {
  const widest = Math.max(...layout.levels.map(({ arity }) => arity))
  const groups = new Uint8Array(offsets.length * widest * SCALAR_BYTES)
  for (const { arity, siblings, index } of layout.levels) {
    const groupBytes = arity * SCALAR_BYTES
    for (let i = 0; i < offsets.length; i++) {
      const proof = offsets[i] as number
      const from = proof + siblings
      const before = readU32(bytes, proof + index) * SCALAR_BYTES
      const group = i * groupBytes
      // The siblings of the own place, in rising order: those before it, then the rest.
      groups.set(bytes.subarray(from, from + before), group)
      groups.set(leaves.subarray(i * SCALAR_BYTES, (i + 1) * SCALAR_BYTES), group + before)
      groups.set(bytes.subarray(from + before, from + groupBytes - SCALAR_BYTES), group + before + SCALAR_BYTES)
    }
    hash(arity, groups.subarray(0, offsets.length * groupBytes), leaves)
  }
}

/**
 * The number of the leaf that an inclusion proof opens, or the level whose index is outside its group.
 * @param offset of the inclusion proof in `bytes`
 */
export function leafIndex(
  { levels }: MerkleLayout,
  bytes: Uint8Array,
  offset: number,
): { readonly leaf: number } | { readonly badLevel: number } {
  let leaf = 0
  let weight = 1
  for (const [i, { arity, index }] of levels.entries()) {
    const place = readU32(bytes, offset + index)
    if (place >= arity || readU32(bytes, offset + index + 4) !== 0) return { badLevel: i }
    leaf += place * weight
    weight *= arity
  }
  return { leaf }
}
