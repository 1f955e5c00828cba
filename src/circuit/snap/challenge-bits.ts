/** The randomness of SnapDeals, from Poseidon (`gadgets.rs` in storage-proofs-update). */
import { FR_BITS } from '../../field/fr.ts'
import type { Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { allocateBits } from '../gadgets/boolean.ts'
import { allocateSum, weightedSum } from '../gadgets/num.ts'
import { PACKED_BITS } from '../gadgets/packing.ts'
import { poseidon } from '../gadgets/poseidon.ts'
import { LinearCombination } from '../linear-combination.ts'
import { customTag } from '../poseidon/constants.ts'
import { ONE, type Variable } from '../shape.ts'

/** Hash of two elements with a domain of its own, 2^40. */
export function randomness(cs: ConstraintSystem, a: Variable, b: Variable): Variable {
  return poseidon(cs, [a, b], customTag(1))
}

/** Challenges that one digest gives. */
export function challengesPerDigest(bits: number): number {
  return Math.floor(PACKED_BITS / bits)
}

/**
 * Random bits for the challenges of a partition. Digest j of D is H(comm_r_new, D · partition + j); its bits are cut
 * from the least significant on.
 * @param bits of each challenge
 * @returns for each challenge, least significant first
 */
export function challengeBits(
  cs: ConstraintSystem,
  commRNew: Variable,
  partition: Variable,
  bits: number,
  challenges: number,
): Bit[][] {
  const perDigest = challengesPerDigest(bits)
  const digests = Math.ceil(challenges / perDigest)
  const found: Bit[][] = []
  for (let j = 0; j < digests; j++) {
    const index = LinearCombination.of(partition, BigInt(digests)).add(ONE, BigInt(j))
    const digest = digestBits(cs, commRNew, allocateSum(cs, index))
    for (let i = 0; i < perDigest && found.length < challenges; i++) found.push(digest.slice(i * bits, (i + 1) * bits))
  }
  return found
}

/** The 255 bits of a digest: (Σ 2^i·bit_i) · 1 = digest, another form of row than that of `toBits`. */
function digestBits(cs: ConstraintSystem, commRNew: Variable, index: Variable): readonly Bit[] {
  const { bits } = cs.template('snap-digest', { nums: [commRNew, index] }, (body, { nums }) => {
    const digest = randomness(body, ...(nums as [Variable, Variable]))
    const bits = allocateBits(body, FR_BITS)
    body.enforce(weightedSum(bits), LinearCombination.of(ONE), LinearCombination.of(digest))
    return { bits }
  })
  return bits
}
