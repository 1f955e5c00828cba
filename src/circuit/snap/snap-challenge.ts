/**
 * One challenge of SnapDeals: a leaf of the old replica, the new data and the new replica (`circuit.rs` in
 * storage-proofs-update).
 */
import type { Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { select } from '../gadgets/insertion.ts'
import { POSEIDON_TREE } from '../gadgets/merkle-path.ts'
import { merkleRoot } from '../gadgets/merkle-root.ts'
import { add, allocateNum, allocateSum, enforceEqual, multiply } from '../gadgets/num.ts'
import { packBits } from '../gadgets/packing.ts'
import { SHA256_TREE } from '../gadgets/sha256-tree.ts'
import { sumOf } from '../linear-combination.ts'
import type { Variable } from '../shape.ts'
import { randomness } from './challenge-bits.ts'
import type { SnapParameters } from './snap-parameters.ts'

/** What all challenges of a partition read. */
export interface SnapPartition {
  readonly phi: Variable
  readonly rootROld: Variable
  readonly rootRNew: Variable
  readonly apexLeafs: readonly Variable[]
  /** Bits of h select. */
  readonly select: readonly Bit[]
}

/**
 * The leaf's three values lie in their trees, at the same place, and the new one encodes the data.
 * @param challenge bits of the node's index, least significant first; the partition's are the highest
 */
export function synthesizeSnapChallenge(
  cs: ConstraintSystem,
  partition: SnapPartition,
  challenge: readonly Bit[],
  { arities, apexBits, partitionBits, highBits }: SnapParameters,
): void {
  const rho = randomness(cs, partition.phi, selectHighBits(cs, challenge, highBits, partition.select))
  const leafOld = allocateNum(cs)
  const leafData = allocateNum(cs)
  // The encoding: new = old + data · rho.
  const leafNew = add(cs, leafOld, multiply(cs, leafData, rho))

  for (const [leaf, root] of [
    [leafOld, partition.rootROld],
    [leafNew, partition.rootRNew],
  ] as const) {
    const siblings = arities.map((arity) => allocateNums(cs, arity - 1))
    enforceEqual(cs, merkleRoot(cs, POSEIDON_TREE, leaf, challenge, siblings), root)
  }

  // The data tree only up to the apex: the rest of the path is the same for all challenges.
  const apexAt = challenge.length - partitionBits - apexBits
  const apexLeaf = select(cs, partition.apexLeafs, challenge.slice(apexAt, apexAt + apexBits))
  const siblings = Array.from({ length: apexAt }, () => allocateNums(cs, 1))
  enforceEqual(cs, merkleRoot(cs, SHA256_TREE, leafData, challenge.slice(0, apexAt), siblings), apexLeaf)
}

/** The high bits of the challenge as a number: as many of them as the one bit of h select that is set stands for. */
function selectHighBits(
  cs: ConstraintSystem,
  challenge: readonly Bit[],
  highBits: readonly number[],
  selectors: readonly Bit[],
): Variable {
  const candidates = highBits.map((count, i) => {
    const high = packBits(cs, challenge.slice(challenge.length - count))
    const selector = selectors[i] as Bit
    if (selector.kind === 'constant') throw new Error('h select must be variables')
    return multiply(cs, high, selector.variable)
  })
  return allocateSum(cs, sumOf(...candidates))
}

/** So many new field elements of the witness. */
export function allocateNums(cs: ConstraintSystem, count: number): Variable[] {
  return Array.from({ length: count }, () => allocateNum(cs))
}
