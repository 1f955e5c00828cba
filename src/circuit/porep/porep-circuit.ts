/**
 * PoRep: StackedCircuit of storage-proofs-porep. Interactive, synthetic and non-interactive PoRep share it; it knows
 * nothing of how challenges and parents are chosen, which only shows in the public inputs.
 *
 * What a witness sends, in order of allocation. `wide` are scalars, `bits` bits; everything else is derived.
 *
 *     replica id                  wide 1, bits 255 (of the replica id)
 *     comm_d, comm_r              wide 2
 *     comm_r_last, comm_c         wide 2
 *     each challenge:
 *       data leaf                 wide 1
 *       path in TreeD             each level: bits 1 (index), wide 1 (sibling); bits of two to-bits and two compressions
 *       each of 14 parents:       first the 6 DRG parents, then the 8 expander parents
 *         column                  wide L (labels of layers 1 to L)
 *         path in TreeC           each level: bits log2(arity) (index), wide arity − 1 (siblings)
 *       challenge                 bits 64
 *       each layer:
 *         parents' labels         bits 255 each: 6 DRG parents in this layer; then, from layer 2 on, 8 expander parents in the layer below
 *         label                   bits of 20 compressions
 *       path in TreeR             each level as in TreeC
 *       path in TreeC             the same
 *
 * Index bits and bits of numbers have the least significant first. `gadgets/sha256.ts` has the order within a
 * compression.
 *
 * Public inputs after ONE: replica id, comm_d, comm_r; then for each challenge its index, the 14 parents' indices, and
 * three times its index again.
 */
import type { Bit } from '../bit.ts'
import type { SectorSizeTag } from '../circuit-id.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { merklePath, POSEIDON_TREE, type TreeHasher } from '../gadgets/merkle-path.ts'
import { add, allocateNum, enforceEqual, inputize, toBits } from '../gadgets/num.ts'
import { poseidon } from '../gadgets/poseidon.ts'
import { messageBits, reverseBytewise, SHA256_TREE } from '../gadgets/sha256-tree.ts'
import { allocatePublicUInt64 } from '../gadgets/uint64.ts'
import { sectorNodes, treeArities } from '../sector-tree.ts'
import type { Variable } from '../shape.ts'
import { expandParents, label } from './label.ts'

/** Parents in the base graph, in the same layer. */
export const DRG_PARENTS = 6
/** Parents in the expander graph, in the layer below. */
export const EXPANDER_PARENTS = 8

/** What tells the circuits of different sector sizes apart. */
export interface PorepParameters {
  readonly layers: number
  /** Challenges of each partition. */
  readonly challenges: number
  /** Levels of the binary tree over the data (TreeD). */
  readonly dataLevels: number
  /** Arity of each level of the trees over columns (TreeC) and replica (TreeR), from the leaf upwards. */
  readonly arities: readonly number[]
}

const LAYERS: Readonly<Record<SectorSizeTag, number>> = { '2k': 2, '8m': 2, '512m': 2, '32g': 11, '64g': 11 }
const CHALLENGES: Readonly<Record<SectorSizeTag, number>> = { '2k': 2, '8m': 2, '512m': 2, '32g': 18, '64g': 18 }

/** Parameters of Filecoin's proofs (`constants.rs` in filecoin-proofs). */
export function porepParameters(size: SectorSizeTag): PorepParameters {
  return {
    layers: LAYERS[size],
    challenges: CHALLENGES[size],
    dataLevels: Math.log2(sectorNodes(size)),
    arities: treeArities(size),
  }
}

/** What all challenges of a partition read. */
interface Sector {
  /** 256 bits of a message. */
  readonly replicaId: readonly Bit[]
  readonly commD: Variable
  readonly commRLast: Variable
  readonly commC: Variable
}

/**
 * A partition: sector, then challenges.
 *
 * To be called once a circuit: the names of its templates don't tell the parameters.
 */
export function synthesizePorep(cs: ConstraintSystem, parameters: PorepParameters): void {
  const replicaId = allocateNum(cs)
  inputize(cs, replicaId)
  // Not a template of its own: challenges can be assigned side by side if all that they share comes before the first
  // one.
  const replicaIdBits = reverseBytewise(toBits(cs, replicaId))
  const commD = allocateNum(cs)
  inputize(cs, commD)
  const commR = allocateNum(cs)
  inputize(cs, commR)
  const commRLast = allocateNum(cs)
  const commC = allocateNum(cs)
  enforceEqual(cs, commR, poseidon(cs, [commC, commRLast]))

  for (let challenge = 0; challenge < parameters.challenges; challenge++) {
    const shared = { nums: [commD, commRLast, commC], bits: replicaIdBits }
    cs.template('porep-challenge', shared, (body, { nums, bits }) => {
      const [commD, commRLast, commC] = nums as [Variable, Variable, Variable]
      synthesizeChallenge(body, { replicaId: bits, commD, commRLast, commC }, parameters)
      return {}
    })
  }
}

function synthesizeChallenge(cs: ConstraintSystem, sector: Sector, parameters: PorepParameters): void {
  const { layers, dataLevels, arities } = parameters
  const dataLeaf = allocateNum(cs)
  includeLeaf(cs, SHA256_TREE, dataLeaf, new Array<number>(dataLevels).fill(2), sector.commD)

  const columns = Array.from({ length: DRG_PARENTS + EXPANDER_PARENTS }, () => {
    const { nums } = cs.template('porep-parent', { nums: [sector.commC] }, (body, { nums }) => {
      const rows = Array.from({ length: layers }, () => allocateNum(body))
      includeLeaf(body, POSEIDON_TREE, poseidon(body, rows), arities, nums[0] as Variable)
      return { nums: rows }
    })
    return nums
  })

  const node = allocatePublicUInt64(cs)
  const labels: Variable[] = []
  for (let layer = 1; layer <= layers; layer++) {
    // A parent's label is decomposed afresh wherever it is hashed.
    const parents = columns.slice(0, DRG_PARENTS).map((rows) => messageBits(cs, rows[layer - 1] as Variable))
    if (layer > 1) {
      parents.push(...columns.slice(DRG_PARENTS).map((rows) => messageBits(cs, rows[layer - 2] as Variable)))
    }
    labels.push(label(cs, sector.replicaId, layer, node, expandParents(parents)))
  }

  const key = labels[layers - 1] as Variable
  includeLeaf(cs, POSEIDON_TREE, add(cs, key, dataLeaf), arities, sector.commRLast)
  includeLeaf(cs, POSEIDON_TREE, poseidon(cs, labels), arities, sector.commC)
}

/** The leaf lies in the tree with this root; its index becomes a public input. */
function includeLeaf(
  cs: ConstraintSystem,
  hasher: TreeHasher,
  leaf: Variable,
  arities: readonly number[],
  root: Variable,
): void {
  enforceEqual(cs, merklePath(cs, hasher, leaf, arities), root)
}
