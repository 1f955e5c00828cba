/** Proof that a leaf lies in a tree (`por.rs` in storage-proofs-core, with the challenge as a public input). */
import type { Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import type { Variable } from '../shape.ts'
import { allocateBits } from './boolean.ts'
import { insert } from './insertion.ts'
import { allocateNum } from './num.ts'
import { packIntoInputs } from './packing.ts'
import { poseidon } from './poseidon.ts'

/** Hash function of a tree inside a circuit. */
export interface TreeHasher {
  /** Part of the names of templates. */
  readonly name: string
  hash(cs: ConstraintSystem, children: readonly Variable[]): Variable
}

export const POSEIDON_TREE: TreeHasher = { name: 'poseidon', hash: (cs, children) => poseidon(cs, children) }

/**
 * Walks from a leaf to the root: index bits and siblings of each level are new variables; the index becomes a public
 * input.
 * @param arities of each level from the leaf upwards
 * @returns the root that follows, for the caller to compare
 */
export function merklePath(
  cs: ConstraintSystem,
  hasher: TreeHasher,
  leaf: Variable,
  arities: readonly number[],
): Variable {
  let current = leaf
  const index: Bit[] = []
  for (const arity of arities) {
    const level = cs.template(`${hasher.name}-level-${arity}`, { nums: [current] }, (body, { nums }) => {
      const bits = allocateBits(body, Math.log2(arity))
      const siblings = Array.from({ length: arity - 1 }, () => allocateNum(body))
      const children = insert(body, nums[0] as Variable, bits, siblings)
      return { nums: [hasher.hash(body, children)], bits }
    })
    current = level.nums[0] as Variable
    index.push(...level.bits)
  }
  packIntoInputs(cs, index)
  return current
}
