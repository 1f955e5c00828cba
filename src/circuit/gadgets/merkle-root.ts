/**
 * The root above a leaf whose index and siblings are variables already (`por_no_challenge_input` in
 * storage-proofs-update).
 */
import type { Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import type { Variable } from '../shape.ts'
import { insert } from './insertion.ts'
import type { TreeHasher } from './merkle-path.ts'

/**
 * Allocates only what insertions and hashes do.
 * @param index bits of the leaf's index, least significant first; each level takes log2 of its arity of them
 * @param siblings of each level from the leaf upwards, arity − 1 of them
 * @returns the root that follows, for the caller to compare; the leaf itself if there are no levels
 */
export function merkleRoot(
  cs: ConstraintSystem,
  hasher: TreeHasher,
  leaf: Variable,
  index: readonly Bit[],
  siblings: readonly (readonly Variable[])[],
): Variable {
  let current = leaf
  let used = 0
  for (const others of siblings) {
    const bits = Math.log2(others.length + 1)
    current = hasher.hash(cs, insert(cs, current, index.slice(used, used + bits), others))
    used += bits
  }
  if (used !== index.length) throw new RangeError(`${index.length} index bits for levels of ${used}`)
  return current
}
