/**
 * Walks the instances of a circuit's templates over a serialised shape ("image", made by `serializeShape` in
 * TypeScript).
 *
 * A *key* numbers all variables of a circuit: inputs first (ONE is key 0), aux after them. A template's local variables
 * become keys by its origin (keys of its aux 0 and input 0) and its wires, which lie as keys on a stack in scratch
 * memory. A *piece* is a range of steps of one instance: the unit of work, so that long walks can be cut and shared.
 *
 * Values live in two areas: a fixed one with the first `fixedKeys` keys and a window of further ones. An assignment
 * that fits in memory is all fixed; one that doesn't is walked window by window.
 */
import { copyBytes, zeroBytes } from './bytes'
import { addPlainBytes, addProductBytes, carryColumns, clearColumns, LAZY_PRODUCTS, subtractPlainBytes } from './columns'
import { finishToBytes, reduceToBytes } from './reduce'
import { LIMBS, scratchEnd, scratchFree } from './scratch'
import { POSEIDON_SCRATCH, poseidonAux, poseidonAuxCount, poseidonInput } from './poseidon'
import { checkRows, defineRow, digestRows, evaluateRow, transposeRow } from './rows'

// Offsets of the context, an array of u32 that `CircuitMemory` in TypeScript fills in.
export let context: usize = 0
export let image: usize = 0
/** Limb records of the coefficients, in Montgomery form. */
export let coefficientLimbs: usize = 0
/** The coefficients as 32 bytes big-endian. */
export let coefficientBytes: usize = 0
let poseidonTables: usize = 0
/** Count of public inputs, ONE included: keys from here on are aux. */
export let inputs: u32 = 0
let keys: u32 = 0
let rowLimit: u32 = 0
let fixedBase: usize = 0
let fixedKeys: u32 = 0
let windowBase: usize = 0
let windowFirst: u32 = 0
let windowKeys: u32 = 0
let bits: usize = 0
let bitLimit: u32 = 0
let wide: usize = 0
let wideLimit: u32 = 0

export const MODE_DIGEST: u32 = 0
export const MODE_EXPAND: u32 = 1
export const MODE_ROWS: u32 = 2
export const MODE_CHECK: u32 = 3
export const MODE_TRANSPOSE: u32 = 4

const STEP_AUX: u32 = 0
const STEP_INPUT: u32 = 1
const STEP_ROWS: u32 = 2
const CLASS_BIT: u32 = 0
const CLASS_WIDE: u32 = 1

const DEFINES_NOTHING: u32 = 0xffff_ffff

let mode: u32 = 0
let stackEnd: usize = 0

// The instance that is being walked, for resolve().
let wires: usize = 0
let auxOrigin: u32 = 0
let inputOrigin: u32 = 0

/** Takes over a context; `bindScratch` must have been called. */
export function bindContext(address: usize): void {
  context = address
  image = load<u32>(address, 0)
  coefficientLimbs = load<u32>(address, 4)
  coefficientBytes = load<u32>(address, 8)
  poseidonTables = load<u32>(address, 12)
  inputs = load<u32>(address, 16)
  keys = load<u32>(address, 20)
  rowLimit = load<u32>(address, 24)
  fixedBase = load<u32>(address, 28)
  fixedKeys = load<u32>(address, 32)
  windowBase = load<u32>(address, 36)
  windowFirst = load<u32>(address, 40)
  windowKeys = load<u32>(address, 44)
  bits = load<u32>(address, 48)
  bitLimit = load<u32>(address, 52)
  wide = load<u32>(address, 56)
  wideLimit = load<u32>(address, 60)
  stackEnd = scratchEnd
}

/** Key of a local variable of the current instance. */
// @ts-ignore: decorator
@inline
export function resolve(variable: u32): u32 {
  const number = variable & 0x3fff_ffff
  const kind = variable >> 30
  if (kind == 1) return auxOrigin + number
  if (kind == 0) return load<u32>(wires + (<usize>number << 2))
  return kind == 2 ? inputOrigin + number : 0
}

/** Address of a key's value. Traps outside of both areas. */
// @ts-ignore: decorator
@inline
export function valueOf(key: u32): usize {
  if (key < fixedKeys) return fixedBase + (<usize>key << 5)
  const k = key - windowFirst
  if (k >= windowKeys) unreachable()
  return windowBase + (<usize>k << 5)
}

/** bytes(out) = the linear combination of `count` terms (pairs: local variable, coefficient number). */
export function evaluate(terms: usize, count: u32, out: usize): void {
  if (!count) return zeroBytes(out)
  if (count == 1 && !load<u32>(terms, 4)) return copyBytes(out, valueOf(resolve(load<u32>(terms))))
  clearColumns()
  let products = 0
  let any = false
  for (const end = terms + (<usize>count << 3); terms < end; terms += 8) {
    const coefficient = load<u32>(terms, 4)
    const value = valueOf(resolve(load<u32>(terms)))
    // Numbers 0 and 1 are the coefficients 1 and −1.
    if (coefficient == 0) addPlainBytes(value)
    else if (coefficient == 1) subtractPlainBytes(value)
    else {
      if (products == LAZY_PRODUCTS) {
        carryColumns()
        products = 0
      }
      products++
      any = true
      addProductBytes(coefficientLimbs + <usize>coefficient * LIMBS, value)
    }
  }
  if (any) reduceToBytes(out)
  else finishToBytes(out)
}

/** First address of the five buffers of 32 bytes that the rows of any mode may use. */
export let buffers: usize = 0

/**
 * Walks one piece.
 * @param piece 13 + wires u32: template, first step, end step, aux and input origin, next aux key, next input key, next
 * row, next
 *   bit, next wide scalar, 0, 0, count of wires, then their keys
 */
export function walkPiece(piece: usize, walkMode: u32): void {
  mode = walkMode
  buffers = scratchFree + POSEIDON_SCRATCH
  const count = load<u32>(piece, 48)
  const stack = buffers + 8 * 32
  if (count > maximumWires(stack)) unreachable()
  const top = stack + (<usize>count << 2)
  memory.copy(stack, piece + 52, <usize>count << 2)
  walk(
    image + load<u32>(piece),
    load<u32>(piece, 4),
    load<u32>(piece, 8),
    load<u32>(piece, 12),
    load<u32>(piece, 16),
    load<u32>(piece, 20),
    load<u32>(piece, 24),
    load<u32>(piece, 28),
    load<u32>(piece, 32),
    load<u32>(piece, 36),
    stack,
    top,
  )
}

/** How many wires fit on the stack from an address on. */
// @ts-ignore: decorator
@inline
function maximumWires(top: usize): u32 {
  return top < stackEnd ? <u32>(stackEnd - top) >> 2 : 0
}

function walk(
  template: usize,
  from: u32,
  to: u32,
  auxFirst: u32,
  inputFirst: u32,
  aux: u32,
  input: u32,
  row: u32,
  bit: u32,
  wideNext: u32,
  wiresAt: usize,
  top: usize,
): void {
  if (to > load<u32>(template, 32)) unreachable()
  const steps = image + load<u32>(template, 36)
  for (let s = from; s < to; s++) {
    const step = steps + (<usize>s << 4)
    const kind = load<u32>(step)
    if (kind == STEP_AUX) {
      const count = load<u32>(step, 8)
      if (aux > keys || count > keys - aux) unreachable()
      const auxClass = load<u32>(step, 4)
      if (auxClass == CLASS_BIT) {
        if (mode == MODE_EXPAND) fillBits(aux, bit, count)
        bit += count
      } else if (auxClass == CLASS_WIDE) {
        if (mode == MODE_EXPAND) fillWide(aux, wideNext, count)
        wideNext += count
      }
      aux += count
    } else if (kind == STEP_INPUT) {
      input += load<u32>(step, 4)
    } else if (kind == STEP_ROWS) {
      const first = load<u32>(step, 4)
      const count = load<u32>(step, 8)
      wires = wiresAt
      auxOrigin = auxFirst
      inputOrigin = inputFirst
      walkRows(template, first, count, row)
      row += count
    } else {
      const child = image + load<u32>(step, 4)
      const outer = image + load<u32>(step, 8)
      const count = load<u32>(child, 4)
      if (count > maximumWires(top)) unreachable()
      const childTop = top + (<usize>count << 2)
      wires = wiresAt
      auxOrigin = auxFirst
      inputOrigin = inputFirst
      for (let w: usize = 0; w < <usize>count; w++) {
        store<u32>(top + (w << 2), resolve(load<u32>(outer + (w << 2))))
      }
      const childSteps = load<u32>(child, 32)
      const table = load<u32>(child, 52)
      if (table && mode == MODE_EXPAND) expandPoseidon(child, load<u32>(poseidonTables + (<usize>(table - 1) << 2)), aux, top)
      else walk(child, 0, childSteps, aux, input, aux, input, row, bit, wideNext, top, childTop)
      row += load<u32>(child, 8)
      aux += load<u32>(child, 12)
      input += load<u32>(child, 16)
      bit += load<u32>(child, 20)
      wideNext += load<u32>(child, 24)
    }
  }
}

function walkRows(template: usize, first: u32, count: u32, row: u32): void {
  const own = load<u32>(template, 28)
  if (first > own || count > own - first || row > rowLimit || count > rowLimit - row) unreachable()
  const records = image + load<u32>(template, 40) + (<usize>first << 3)
  const starts = image + load<u32>(template, 44) + <usize>first * 12
  const terms = image + load<u32>(template, 48)
  if (mode == MODE_DIGEST) return digestRows(starts, terms, count)
  if (mode == MODE_CHECK) return checkRows(starts, terms, count, row)
  for (let r: u32 = 0; r < count; r++) {
    const record = records + (<usize>r << 3)
    const start = starts + <usize>r * 12
    if (mode == MODE_EXPAND) {
      const defines = load<u32>(record, 4)
      if (defines != DEFINES_NOTHING) {
        if (defines >= load<u32>(template, 12)) unreachable()
        defineRow(start, terms, auxOrigin + defines)
      }
    } else if (mode == MODE_ROWS) evaluateRow(load<u32>(record), start, terms, row + r)
    else transposeRow(start, terms, row + r)
  }
}

function fillBits(key: u32, first: u32, count: u32): void {
  if (!count) return
  if (first > bitLimit || count > bitLimit - first) unreachable()
  for (let i: u32 = 0; i < count; i++) {
    const index = first + i
    const at = valueOf(key + i)
    zeroBytes(at)
    store<u8>(at, (load<u8>(bits + (index >> 3)) >> <u8>(index & 7)) & 1)
  }
}

function fillWide(key: u32, first: u32, count: u32): void {
  if (!count) return
  if (first > wideLimit || count > wideLimit - first) unreachable()
  for (let i: u32 = 0; i < count; i++) copyBytes(valueOf(key + i), wide + (<usize>(first + i) << 5))
}

function expandPoseidon(template: usize, table: usize, aux: u32, wiresAt: usize): void {
  const arity = load<u32>(table)
  const count = load<u32>(template, 12)
  if (count != poseidonAuxCount(table) || load<u32>(template, 4) != arity) unreachable()
  const out = valueOf(aux)
  // All values must go to one area.
  if (count > keys || valueOf(aux + count - 1) != out + (<usize>(count - 1) << 5)) unreachable()
  for (let i: u32 = 0; i < arity; i++) poseidonInput(i, valueOf(load<u32>(wiresAt + (<usize>i << 2))))
  poseidonAux(table, out)
}
