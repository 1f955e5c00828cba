/**
 * Poseidon with compressed constants and sparse matrices (see `src/circuit/poseidon/constants.ts`), in Montgomery form.
 *
 * A table (made by `poseidonTable` in TypeScript) has the arity and the count of partial rounds as two u32, and from
 * byte 16 limb records: element 0 after the first S-box (it depends on the domain tag only); the keys before the
 * S-boxes of round 0 for elements 1 to arity; the keys after every further S-box in order; the MDS matrix, the
 * pre-sparse matrix (column by column); for each partial round wHat and vRest.
 *
 * Sizes, in units of r (R is 70.6): a product of values x and y leaves a reduction below x · y / 70.6 + 1, and a key
 * adds 1. After the first full rounds elements are below 1.5. In a partial round element 0 is at most 11 before its
 * S-box and 2.3 after it, so the others grow by less than 1.04, to 61 before the last full rounds. There a square is
 * below 54, a fourth power below 43, a fifth below 40, and the next sum of twelve below 8. So no value reaches R =
 * 2^261, and all limbs stay below 2^29.
 */
import { addProduct, carryColumns, clearColumns, LAZY_PRODUCTS } from './columns'
import { addLimbs, fromMontgomery, multiply, multiplyAdd, square, toMontgomery } from './fr'
import { reduceToLimbs } from './reduce'
import { LIMBS, scratchFree, temporary } from './scratch'

const TABLE_HEADER: usize = 16
/** Widest state: arity 11 and the tag. */
const MAXIMUM_WIDTH: usize = 12
/** Scratch of a permutation: two states. */
export const POSEIDON_SCRATCH: usize = 2 * MAXIMUM_WIDTH * LIMBS

/** Where the next aux value goes; 0 if they aren't wanted. */
let auxAt: usize = 0

function emit(element: usize): void {
  if (!auxAt) return
  fromMontgomery(auxAt, element)
  auxAt += 32
}

/** element = (base)^5 + key (no key: 0). Emits the square, the fourth and, with the key, the fifth power. */
function sbox(element: usize, base: usize, key: usize): void {
  const second = temporary + 4 * LIMBS
  const fourth = temporary + 5 * LIMBS
  square(second, base)
  emit(second)
  square(fourth, second)
  emit(fourth)
  if (key) multiplyAdd(element, base, fourth, key)
  else multiply(element, base, fourth)
  emit(element)
}

/** limbs(out) = Σ a[i] · b[i] / R over records that follow each other. */
function dot(out: usize, a: usize, b: usize, count: usize): void {
  clearColumns()
  for (let i: usize = 0; i < count; i++) {
    if (i == <usize>LAZY_PRODUCTS) carryColumns()
    addProduct(a + i * LIMBS, b + i * LIMBS)
  }
  reduceToLimbs(out)
}

/**
 * How many aux variables the legacy circuit allocates: three an S-box, and one for each combination that an S-box or
 * the output needs.
 */
export function poseidonAuxCount(table: usize): u32 {
  const t = load<u32>(table) + 1
  const partialRounds = load<u32>(table, 4)
  return 3 * (8 * t + partialRounds - 1) + 7 * t + partialRounds + 1
}

/**
 * The permutation of a preimage that stands as Montgomery limbs in elements 1 to arity of the state at `scratchFree`;
 * element 1 has the hash afterwards.
 */
function permute(table: usize): void {
  const arity = <usize>load<u32>(table)
  const partialRounds = <usize>load<u32>(table, 4)
  const t = arity + 1
  if (t > MAXIMUM_WIDTH) unreachable()
  let state = scratchFree
  let next = state + MAXIMUM_WIDTH * LIMBS
  const start = table + TABLE_HEADER
  const before = start + LIMBS
  let key = before + arity * LIMBS
  const keys = arity + 3 * t + partialRounds + 3 * t
  const mds = key + keys * LIMBS
  const preSparse = mds + t * t * LIMBS
  let sparse = preSparse + t * t * LIMBS
  const sum = temporary + 6 * LIMBS

  memory.copy(state, start, LIMBS)
  for (let i: usize = 1; i < t; i++, key += LIMBS) {
    addLimbs(sum, state + i * LIMBS, before + (i - 1) * LIMBS)
    sbox(state + i * LIMBS, sum, key)
  }
  for (let j: usize = 0; j < t; j++) dot(next + j * LIMBS, mds + j * t * LIMBS, state, t)

  for (let round = 1; round < 4; round++) {
    const swap = state
    state = next
    next = swap
    for (let i: usize = 0; i < t; i++, key += LIMBS) {
      const element = state + i * LIMBS
      emit(element)
      sbox(element, element, key)
    }
    const matrix = round == 3 ? preSparse : mds
    for (let j: usize = 0; j < t; j++) dot(next + j * LIMBS, matrix + j * t * LIMBS, state, t)
  }

  state = next
  next = state == scratchFree ? state + MAXIMUM_WIDTH * LIMBS : scratchFree
  for (let p: usize = 0; p < partialRounds; p++, key += LIMBS) {
    emit(state)
    sbox(state, state, key)
    dot(sum, sparse, state, t)
    sparse += t * LIMBS
    for (let j: usize = 1; j < t; j++, sparse += LIMBS) {
      const element = state + j * LIMBS
      multiplyAdd(element, sparse, state, element)
    }
    memory.copy(state, sum, LIMBS)
  }

  for (let round = 0; round < 4; round++) {
    for (let i: usize = 0; i < t; i++) {
      const element = state + i * LIMBS
      emit(element)
      sbox(element, element, round < 3 ? key : 0)
      key += LIMBS
    }
    if (round < 3) {
      for (let j: usize = 0; j < t; j++) dot(next + j * LIMBS, mds + j * t * LIMBS, state, t)
      const swap = state
      state = next
      next = swap
    }
  }
  // Of the last mixing only the output is wanted.
  dot(next + LIMBS, mds + t * LIMBS, state, t)
  emit(next + LIMBS)
  if (next != scratchFree) memory.copy(scratchFree + LIMBS, next + LIMBS, LIMBS)
}

/** Places one preimage element (32 bytes, canonical) for {@link poseidonAux}. */
export function poseidonInput(index: usize, value: usize): void {
  toMontgomery(scratchFree + (index + 1) * LIMBS, value)
}

/** Permutes the placed preimage and writes all aux values of the circuit, 32 bytes each, in its order of allocation. */
export function poseidonAux(table: usize, aux: usize): void {
  auxAt = aux
  permute(table)
}

/** Hashes `count` preimages that follow each other (arity · 32 bytes each, canonical) to 32 bytes each. */
export function poseidonHashMany(table: usize, preimages: usize, out: usize, count: u32): void {
  const arity = <usize>load<u32>(table)
  auxAt = 0
  for (let k: u32 = 0; k < count; k++) {
    for (let i: usize = 0; i < arity; i++, preimages += 32) poseidonInput(i, preimages)
    permute(table)
    fromMontgomery(out + (k << 5), scratchFree + LIMBS)
  }
}
