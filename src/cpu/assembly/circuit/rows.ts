/**
 * What each mode of the walk does with a template's rows. Linear combinations 3r, 3r + 1 and 3r + 2 are A, B and C of
 * row r.
 */
import { blake2sDigest, blake2sUpdate, blake2sUpdateTwo } from './blake2s'
import { addBytes, copyBytes, equalBytes, isOneBytes, isZeroBytes, negateBytes, smallBytes, zeroBytes } from './bytes'
import { multiplyBytes, multiplyPlain } from './fr'
import { LIMBS } from './scratch'
import { buffers, coefficientBytes, coefficientLimbs, evaluate, inputs, resolve, valueOf } from './walk'

// --- digest ---------------------------------------------------------------------------------------------------------

/** Most terms of one linear combination; `serializeShape` checks it. */
const MAXIMUM_TERMS: u32 = 4096

let digestBuffer: usize = 0
let digestAt: usize = 0
let digestEnd: usize = 0
let hashState: usize = 0
let streamState: usize = 0
let copyState: usize = 0
let sortSpace: usize = 0
let checkpointEvery: u32 = 0
let untilCheckpoint: u32 = 0
let checkpointAt: usize = 0
let checkpointEnd: usize = 0

/**
 * Prepares digesting.
 * @param buffer where constraint bytes collect
 * @param hash a BLAKE2s state
 * @param stream another one, which absorbs the same bytes
 * @param copy a third one, for the digests of checkpoints
 * @param sort space of MAXIMUM_TERMS pairs of u32
 * @param every rows between checkpoints, 0 for none
 * @param until rows to the next one
 * @param checkpoints where digests of `stream` go, 32 bytes each, before `checkpointsEnd`
 */
export function bindDigest(
  buffer: usize,
  bytes: u32,
  hash: usize,
  stream: usize,
  copy: usize,
  sort: usize,
  every: u32,
  until: u32,
  checkpoints: usize,
  checkpointsEnd: usize,
): void {
  if (bytes < 256) unreachable()
  digestBuffer = buffer
  digestAt = buffer
  digestEnd = buffer + bytes
  hashState = hash
  streamState = stream
  copyState = copy
  sortSpace = sort
  checkpointEvery = every
  untilCheckpoint = until
  checkpointAt = checkpoints
  checkpointEnd = checkpointsEnd
}

/** Hashes what has collected. @returns rows to the next checkpoint */
export function flushDigest(): u32 {
  const bytes = <u32>(digestAt - digestBuffer)
  blake2sUpdateTwo(hashState, streamState, digestBuffer, bytes)
  digestAt = digestBuffer
  return untilCheckpoint
}

function digestCombination(terms: usize, count: u32): void {
  if (count > MAXIMUM_TERMS) unreachable()
  if (digestAt + 8 > digestEnd) flushDigest()
  store<u64>(digestAt, bswap<u64>(<u64>count))
  digestAt += 8
  // Terms come in the order ONE, inputs, wires, aux; only wires can be out of order, and seldom are.
  const pairs = sortSpace
  let previous: i64 = -1
  for (let i: u32 = 0; i < count; i++) {
    const key = resolve(load<u32>(terms + (<usize>i << 3)))
    let at = pairs + (<usize>i << 3)
    if (<i64>key <= previous) {
      while (at > pairs && load<u32>(at - 8) > key) {
        store<u64>(at, load<u64>(at - 8))
        at -= 8
      }
      // Two wires that are one variable: their terms would have to merge, and another template be recorded.
      if (at > pairs && load<u32>(at - 8) == key) unreachable()
    } else previous = key
    store<u32>(at, key)
    store<u32>(at, load<u32>(terms + (<usize>i << 3), 4), 4)
  }
  for (let i: u32 = 0; i < count; i++) {
    const pair = pairs + (<usize>i << 3)
    const key = load<u32>(pair)
    const coefficient = coefficientBytes + (<usize>load<u32>(pair, 4) << 5)
    if (digestAt + 41 > digestEnd) flushDigest()
    const at = digestAt
    // 'I' or 'A', then the index as u64 big-endian, of which the upper half is zero.
    const isInput = key < inputs
    store<u64>(at, isInput ? 0x49 : 0x41)
    store<u32>(at, bswap<u32>(isInput ? key : key - inputs), 5)
    v128.store(at, v128.load(coefficient), 9)
    v128.store(at, v128.load(coefficient, 16), 25)
    digestAt = at + 41
  }
}

export function digestRows(starts: usize, terms: usize, count: u32): void {
  for (let r: u32 = 0; r < count; r++, starts += 12) {
    const a = load<u32>(starts)
    const b = load<u32>(starts, 4)
    const c = load<u32>(starts, 8)
    const end = load<u32>(starts, 12)
    digestCombination(terms + (<usize>a << 3), b - a)
    digestCombination(terms + (<usize>b << 3), c - b)
    digestCombination(terms + (<usize>c << 3), end - c)
    if (checkpointEvery && --untilCheckpoint == 0) {
      untilCheckpoint = checkpointEvery
      flushDigest()
      if (checkpointAt + 32 > checkpointEnd) unreachable()
      blake2sDigest(streamState, copyState, checkpointAt)
      checkpointAt += 32
    }
  }
}

// --- expand ---------------------------------------------------------------------------------------------------------

/** Gives the derived variable of a row its value, ±(A·B − rest of C). */
export function defineRow(starts: usize, terms: usize, key: u32): void {
  const at = load<u32>(starts)
  const bt = load<u32>(starts, 4)
  const ct = load<u32>(starts, 8)
  const end = load<u32>(starts, 12)
  const a = buffers
  const b = buffers + 32
  const c = buffers + 64
  // With the variable at 0, C is its rest.
  const out = valueOf(key)
  zeroBytes(out)
  evaluate(terms + (<usize>bt << 3), ct - bt, b)
  if (isZeroBytes(b)) zeroBytes(a)
  else {
    evaluate(terms + (<usize>at << 3), bt - at, a)
    if (!isOneBytes(b)) multiplyPlain(a, a, b)
  }
  let sign: u32 = 2
  for (let t = ct; t < end; t++) {
    const term = terms + (<usize>t << 3)
    if (resolve(load<u32>(term)) == key) sign = load<u32>(term, 4)
  }
  // Coefficient numbers: 0 is 1, 1 is −1.
  if (sign > 1) unreachable()
  if (end - ct == 1) {
    if (sign) negateBytes(out, a)
    else copyBytes(out, a)
    return
  }
  evaluate(terms + (<usize>ct << 3), end - ct, c)
  if (sign) negateBytes(a, a)
  else negateBytes(c, c)
  addBytes(out, a, c)
}

// --- rows -----------------------------------------------------------------------------------------------------------

let rowsA: usize = 0
let rowsB: usize = 0

/** Arrays of 32 bytes a row of the whole circuit; room for all rows of the context. */
export function bindRows(a: usize, b: usize): void {
  rowsA = a
  rowsB = b
}

// How to get a side of a row; `rowPlan` in TypeScript chooses.
const PLAN_ZERO: u32 = 0
const PLAN_ONE: u32 = 1
const PLAN_EVALUATE: u32 = 2
/** The value of C, where B is ONE and C is cheaper: equal in a row that holds. */
const PLAN_FROM_C: u32 = 3
const PLAN_SAME_AS_A: u32 = 4

export function evaluateRow(plan: u32, starts: usize, terms: usize, row: u32): void {
  const at = load<u32>(starts)
  const bt = load<u32>(starts, 4)
  const ct = load<u32>(starts, 8)
  const a = rowsA + (<usize>row << 5)
  const b = rowsB + (<usize>row << 5)
  const planA = plan & 0xff
  if (planA == PLAN_ZERO) zeroBytes(a)
  else if (planA == PLAN_ONE) smallBytes(a, 1)
  else if (planA == PLAN_FROM_C) evaluate(terms + (<usize>ct << 3), load<u32>(starts, 12) - ct, a)
  else evaluate(terms + (<usize>at << 3), bt - at, a)
  const planB = plan >> 8
  if (planB == PLAN_ZERO) zeroBytes(b)
  else if (planB == PLAN_ONE) smallBytes(b, 1)
  else if (planB == PLAN_SAME_AS_A) copyBytes(b, a)
  else evaluate(terms + (<usize>bt << 3), ct - bt, b)
}

// --- check ----------------------------------------------------------------------------------------------------------

let productStates: usize = 0
let firstFailure: u32 = 0xffff_ffff

/** @param states three BLAKE2s states for the values of A·z, B·z and C·z, or 0 */
export function bindCheck(states: usize): void {
  productStates = states
  firstFailure = 0xffff_ffff
}

/** The first row since {@link bindCheck} in which A·B ≠ C, or 0xffffffff. */
export function failedRow(): u32 {
  return firstFailure
}

export function checkRows(starts: usize, terms: usize, count: u32, row: u32): void {
  const a = buffers
  const b = buffers + 32
  const c = buffers + 64
  const product = buffers + 96
  for (let r: u32 = 0; r < count; r++, starts += 12) {
    const at = load<u32>(starts)
    const bt = load<u32>(starts, 4)
    const ct = load<u32>(starts, 8)
    evaluate(terms + (<usize>at << 3), bt - at, a)
    evaluate(terms + (<usize>bt << 3), ct - bt, b)
    evaluate(terms + (<usize>ct << 3), load<u32>(starts, 12) - ct, c)
    if (productStates) {
      blake2sUpdate(productStates, a, 32)
      blake2sUpdate(productStates + 128, b, 32)
      blake2sUpdate(productStates + 256, c, 32)
    }
    let holds: bool
    if (isOneBytes(b)) holds = equalBytes(a, c)
    else if (isZeroBytes(a) || isZeroBytes(b)) holds = isZeroBytes(c)
    else {
      multiplyPlain(product, a, b)
      holds = equalBytes(product, c)
    }
    if (!holds && row + r < firstFailure) firstFailure = row + r
  }
}

// --- transposed products --------------------------------------------------------------------------------------------

let lagrange: usize = 0
let sumsA: usize = 0
let sumsB: usize = 0
let sumsC: usize = 0

/** @param values one scalar a row; the sums have one a key, 32 bytes each, and are added to */
export function bindTranspose(values: usize, a: usize, b: usize, c: usize): void {
  lagrange = values
  sumsA = a
  sumsB = b
  sumsC = c
}

function addTerms(terms: usize, end: usize, value: usize, sums: usize): void {
  const product = buffers
  for (; terms < end; terms += 8) {
    const key = resolve(load<u32>(terms))
    // Traps unless every key has a place.
    const sum = sums + (valueOf(key) - valueOf(0))
    const coefficient = load<u32>(terms, 4)
    if (coefficient == 0) addBytes(sum, sum, value)
    else {
      if (coefficient == 1) negateBytes(product, value)
      else multiplyBytes(product, coefficientLimbs + <usize>coefficient * LIMBS, value)
      addBytes(sum, sum, product)
    }
  }
}

export function transposeRow(starts: usize, terms: usize, row: u32): void {
  const a = terms + (<usize>load<u32>(starts) << 3)
  const b = terms + (<usize>load<u32>(starts, 4) << 3)
  const c = terms + (<usize>load<u32>(starts, 8) << 3)
  const end = terms + (<usize>load<u32>(starts, 12) << 3)
  const value = lagrange + (<usize>row << 5)
  addTerms(a, b, value, sumsA)
  addTerms(b, c, value, sumsB)
  addTerms(c, end, value, sumsC)
}
