/**
 * SnapDeals: EmptySectorUpdateCircuit of storage-proofs-update, the variant with a SHA-256 tree over the data.
 *
 * What a witness sends, in order of allocation. `wide` are scalars, `bits` bits; everything else is derived. With N
 * nodes, K partitions and F apex leafs in each partition, n = log2(N), k = log2(K), f = log2(F):
 *
 *     partition index               bits k
 *     h select                      bits 6
 *     comm_r_old, comm_d_new, comm_r_new      wide 3
 *     comm_c, root_r_old, root_r_new          wide 3
 *     apex leafs                    wide F: all nodes of one level of the new TreeD below the partition's node
 *     partition path                wide k: siblings from the partition's node up to comm_d_new
 *     apex tree                     F − 1 pairs row by row from the leafs, left to right; then k pairs along the partition path.
 *                                   Each pair: bits 255 of the left element, bits 255 of the right one, bits of two compressions
 *     each challenge digest         bits 255
 *     each challenge:
 *       leafs                       wide 2: of the old replica, of the new data
 *       path in old TreeR           wide arity − 1 each level (siblings)
 *       path in new TreeR           the same
 *       path in new TreeD           wide n − k − f: siblings up to the apex leaf; then a pair each level, as in the apex tree
 *
 * Bits of numbers have the least significant first. `gadgets/sha256.ts` has the order within a compression.
 *
 * Public inputs after ONE: partition index + 2^k · h select, comm_r_old, comm_d_new, comm_r_new.
 */
import type { Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { allocateBits } from '../gadgets/boolean.ts'
import { merkleRoot } from '../gadgets/merkle-root.ts'
import { allocateNum, enforceEqual, inputize, weightedSum } from '../gadgets/num.ts'
import { packBits } from '../gadgets/packing.ts'
import { poseidon } from '../gadgets/poseidon.ts'
import { SHA256_TREE } from '../gadgets/sha256-tree.ts'
import { LinearCombination } from '../linear-combination.ts'
import { ONE, type Variable } from '../shape.ts'
import { challengeBits, randomness } from './challenge-bits.ts'
import { allocateNums, synthesizeSnapChallenge } from './snap-challenge.ts'
import type { SnapParameters } from './snap-parameters.ts'

/**
 * A partition: its place in the tree over the data, then challenges.
 *
 * To be called once a circuit: the names of its templates don't tell the parameters.
 */
export function synthesizeSnap(cs: ConstraintSystem, parameters: SnapParameters): void {
  const { partitionBits, apexBits, challenges, highBits, nodeBits } = parameters
  // The partition's index in the low bits, h select above. The packing comes after the input and derives the variable.
  const partitionAndSelect = cs.allocate('derived')
  inputize(cs, partitionAndSelect)
  const selectors = allocateBits(cs, partitionBits + highBits.length)
  const packed = LinearCombination.of(partitionAndSelect)
  cs.enforce(weightedSum(selectors), LinearCombination.of(ONE), packed, partitionAndSelect)
  const partition = selectors.slice(0, partitionBits)
  const select = selectors.slice(partitionBits)
  // Also for a single partition: the empty sum makes it 0.
  const partitionIndex = packBits(cs, partition)

  const commROld = allocatePublicNum(cs)
  const commDNew = allocatePublicNum(cs)
  const commRNew = allocatePublicNum(cs)
  const phi = randomness(cs, commDNew, commROld)
  const [commC, rootROld, rootRNew] = allocateNums(cs, 3) as [Variable, Variable, Variable]
  const apexLeafs = allocateNums(cs, 2 ** apexBits)
  const partitionPath = allocateNums(cs, partitionBits)
  // An update leaves the columns alone: comm_c is the same before and after. Here the hash stands in A and comm_r in C.
  enforceEqual(cs, poseidon(cs, [commC, rootROld]), commROld)
  enforceEqual(cs, poseidon(cs, [commC, rootRNew]), commRNew)
  includeApex(cs, apexLeafs, partition, partitionPath, commDNew)

  const randomBits = challengeBits(cs, commRNew, partitionIndex, nodeBits - partitionBits, challenges)
  for (const random of randomBits) {
    const operands = { nums: [phi, rootROld, rootRNew, ...apexLeafs], bits: [...random, ...partition, ...select] }
    cs.template('snap-challenge', operands, (body, { nums, bits }) => {
      const [phi, rootROld, rootRNew, ...apexLeafs] = nums as [Variable, Variable, Variable, ...Variable[]]
      const shared = { phi, rootROld, rootRNew, apexLeafs, select: bits.slice(nodeBits) }
      synthesizeSnapChallenge(body, shared, bits.slice(0, nodeBits), parameters)
      return {}
    })
  }
}

/** The apex leafs lie below the partition's node, and that lies in the tree with the root comm_d. */
function includeApex(
  cs: ConstraintSystem,
  apexLeafs: readonly Variable[],
  partition: readonly Bit[],
  partitionPath: readonly Variable[],
  commD: Variable,
): void {
  const operands = { nums: [commD, ...partitionPath, ...apexLeafs], bits: partition }
  cs.template('snap-apex', operands, (body, { nums: [commD, ...nums], bits }) => {
    const siblings = nums.slice(0, bits.length).map((sibling) => [sibling])
    let row = nums.slice(bits.length)
    while (row.length > 1) {
      row = Array.from({ length: row.length / 2 }, (_, i) => SHA256_TREE.hash(body, row.slice(2 * i, 2 * i + 2)))
    }
    const root = merkleRoot(body, SHA256_TREE, row[0] as Variable, bits, siblings)
    enforceEqual(body, root, commD as Variable)
    return {}
  })
}

function allocatePublicNum(cs: ConstraintSystem): Variable {
  const num = allocateNum(cs)
  inputize(cs, num)
  return num
}
