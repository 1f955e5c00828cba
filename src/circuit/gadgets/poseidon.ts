/**
 * The Poseidon circuit of Filecoin's trusted set-up (`circuit.rs` in neptune, not the shorter `circuit2.rs`).
 *
 * An S-box costs three variables (x², x⁴, x⁵ plus its constant). Linear layers cost nothing by themselves: an element
 * of the state is either a variable or a linear combination, and a combination becomes a variable only where an S-box
 * needs it. In a partial round only element 0 passes an S-box, so the other elements grow by one term a round until the
 * last full rounds.
 */
import { FR_MODULUS, frAdd, frMul } from '../../field/fr.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { LinearCombination } from '../linear-combination.ts'
import {
  FULL_ROUNDS,
  HALF_FULL_ROUNDS,
  merkleTreeTag,
  type PoseidonConstants,
  poseidonConstants,
  type SparseMatrix,
} from '../poseidon/constants.ts'
import type { Matrix } from '../poseidon/matrix.ts'
import { ONE, type Variable } from '../shape.ts'
import { allocateSum } from './num.ts'

/** An element of the state: allocated, or not (yet). */
type Element = Variable | LinearCombination

const asCombination = (element: Element): LinearCombination =>
  typeof element === 'number' ? LinearCombination.of(element) : element

/**
 * Hash of 2, 4, 8 or 11 variables, as a template.
 * @param domainTag element 0 of the state; that of a Merkle tree by default
 */
export function poseidon(
  cs: ConstraintSystem,
  preimage: readonly Variable[],
  domainTag: bigint = merkleTreeTag(preimage.length),
): Variable {
  const arity = preimage.length
  const isMerkleTree = domainTag === merkleTreeTag(arity)
  const name = isMerkleTree ? `poseidon-${arity}` : `poseidon-${arity}-tag-${domainTag.toString(16)}`
  const { nums } = cs.template(
    name,
    { nums: preimage },
    (body, { nums }) => ({ nums: [permute(body, nums, domainTag)] }),
    // Repeated operands merge terms, and the witness program counts on distinct ones.
    new Set(preimage).size === arity ? { arity, domainTag } : undefined,
  )
  return nums[0] as Variable
}

function permute(cs: ConstraintSystem, preimage: readonly Variable[], domainTag: bigint): Variable {
  const constants = poseidonConstants(preimage.length)
  const { width, partialRounds, compressed } = constants
  let position = width
  const nextKey = (): bigint => compressed[position++] as bigint

  // The first round adds its constants before the S-box too, and works on element 0, a constant, outside the circuit.
  const tagKey = frAdd(domainTag % FR_MODULUS, compressed[0] as bigint)
  const tagSquare = frMul(tagKey, tagKey)
  const tagFifth = frMul(frMul(tagSquare, tagSquare), tagKey)
  let state: Element[] = [
    LinearCombination.constant(frAdd(tagFifth, nextKey())),
    ...preimage.map((element, i) => fifthPower(cs, element, nextKey(), compressed[i + 1])),
  ]
  state = mixDense(state, constants.mds)

  const rounds = FULL_ROUNDS + partialRounds
  for (let round = 1; round < rounds; round++) {
    const partial = round - HALF_FULL_ROUNDS
    if (partial >= 0 && partial < partialRounds) {
      const first = fifthPower(cs, ensure(cs, state[0] as Element), nextKey())
      state = mixSparse(first, state, constants.sparse[partial] as SparseMatrix)
    } else {
      // The last round has no constants after its S-boxes.
      const key = (): bigint => (round === rounds - 1 ? 0n : nextKey())
      state = state.map((element) => fifthPower(cs, ensure(cs, element), key()))
      state = mixDense(state, matrixOf(constants, round))
    }
  }
  if (position !== compressed.length)
    throw new Error(`${compressed.length - position} Poseidon constants are left over`)
  return ensure(cs, state[1] as Element)
}

function matrixOf(constants: PoseidonConstants, round: number): Matrix {
  return round === HALF_FULL_ROUNDS - 1 ? constants.preSparse : constants.mds
}

function ensure(cs: ConstraintSystem, element: Element): Variable {
  return typeof element === 'number' ? element : allocateSum(cs, element)
}

/** (x + before)⁵ + after: rows (x + before)² = x2, x2² = x4, (x + before) · x4 = x5 − after. */
function fifthPower(cs: ConstraintSystem, x: Variable, after: bigint, before = 0n): Variable {
  const base = LinearCombination.of(x).add(ONE, before)
  const x2 = cs.allocate('derived')
  cs.enforce(base, base, LinearCombination.of(x2), x2)
  const x4 = cs.allocate('derived')
  cs.enforce(LinearCombination.of(x2), LinearCombination.of(x2), LinearCombination.of(x4), x4)
  const x5 = cs.allocate('derived')
  cs.enforce(base, LinearCombination.of(x4), LinearCombination.of(x5).subtract(ONE, after), x5)
  return x5
}

/** new[j] = Σ_i m[i][j] · el[i], a linear combination also where it is trivial. */
function mixDense(state: readonly Element[], matrix: Matrix): LinearCombination[] {
  const elements = state.map(asCombination)
  return elements.map((_, j) => {
    const mixed = new LinearCombination()
    for (const [i, element] of elements.entries()) mixed.addAll(element, matrix[i]?.[j] as bigint)
    return mixed
  })
}

/**
 * new[0] = Σ wHat[i] · el[i]; new[j] = el[j] + vRest[j − 1] · el[0]. Extends the other elements in place: they are not
 * shared.
 */
function mixSparse(first: Variable, state: readonly Element[], { wHat, vRest }: SparseMatrix): LinearCombination[] {
  const mixed = LinearCombination.of(first, wHat[0])
  const rest = state.slice(1).map(asCombination)
  for (const [i, element] of rest.entries()) {
    mixed.addAll(element, wHat[i + 1])
    element.add(first, vRest[i])
  }
  return [mixed, ...rest]
}
