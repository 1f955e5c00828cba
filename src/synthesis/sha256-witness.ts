/**
 * The bits that a witness sends of SHA-256, straight from 32-bit words: about 26,000 a compression, in the order of the
 * circuit's `gadgets/sha256.ts`. Which of them are variables is a {@link CompressionPlan} of the circuit's, flattened
 * here.
 */
import { ROUND_CONSTANTS, SHA256_INITIAL_STATE } from '../circuit/gadgets/sha256.ts'
import { planCompression, VARIABLE_WORD, type WordForm } from '../circuit/gadgets/sha256-bits.ts'
import type { BitWriter } from './bit-writer.ts'

/** A plan as four words an operation: bits of a sum, mask, negated bits, pairs. */
export type FlatPlan = Uint32Array

const PLAN_WORDS = 4
const ROUNDS = 64
const CONSTANTS = Uint32Array.from(ROUND_CONSTANTS)
const schedule = new Uint32Array(ROUNDS)

/** @param state 8 words; @param block 16 words */
export function flatPlan(state: readonly WordForm[], block: readonly WordForm[]): FlatPlan {
  const { operations } = planCompression(state, block)
  return Uint32Array.from(operations.flatMap(({ sumBits, mask, negated, pairs }) => [sumBits, mask, negated, pairs]))
}

export const constantForm = (value: number): WordForm => ({ variables: 0, value: value >>> 0 })
export const INITIAL_FORM: readonly WordForm[] = SHA256_INITIAL_STATE.map(constantForm)
export const VARIABLE_STATE_FORM: readonly WordForm[] = new Array<WordForm>(8).fill(VARIABLE_WORD)
/** The eight words of a field element: the highest bit of its last byte is constantly 0. */
export const ELEMENT_FORM: readonly WordForm[] = [
  ...new Array<WordForm>(7).fill(VARIABLE_WORD),
  { variables: 0xffff_ff7f, value: 0 },
]

/** Words of padding: a one, zeros, and the message's length in bits, which is below 2^32. */
export function paddingWords(words: number, messageBits: number): number[] {
  return Array.from({ length: words }, (_, i) => (i === 0 ? 0x8000_0000 : i === words - 1 ? messageBits : 0))
}

/** A new state, from which a message is hashed. */
export const initialState = (): Uint32Array => Uint32Array.from(SHA256_INITIAL_STATE)

/**
 * Compresses one block, and appends the bits that the plan says.
 * @param state 8 words, replaced by the new state
 * @param message 64 bytes from `at` on
 */
export function writeCompression(
  plan: FlatPlan,
  state: Uint32Array,
  message: Uint8Array,
  at: number,
  bits: BitWriter,
): void {
  const w = schedule
  for (let i = 0; i < 16; i++) {
    const from = at + 4 * i
    w[i] =
      ((message[from] as number) << 24) |
      ((message[from + 1] as number) << 16) |
      ((message[from + 2] as number) << 8) |
      (message[from + 3] as number)
  }
  let op = 0
  for (let i = 16; i < ROUNDS; i++, op += 5 * PLAN_WORDS) {
    const [x, y] = [w[i - 15] as number, w[i - 2] as number]
    const s = rotateRight(x, 7) ^ rotateRight(x, 18)
    const s0 = s ^ (x >>> 3)
    const t = rotateRight(y, 17) ^ rotateRight(y, 19)
    const s1 = t ^ (y >>> 10)
    putWord(bits, plan, op, s)
    putWord(bits, plan, op + PLAN_WORDS, s0)
    putWord(bits, plan, op + 2 * PLAN_WORDS, t)
    putWord(bits, plan, op + 3 * PLAN_WORDS, s1)
    // Sums of a few words are exact as doubles.
    const sum = (w[i - 16] as number) + (s0 >>> 0) + (w[i - 7] as number) + (s1 >>> 0)
    w[i] = putSum(bits, plan, op + 4 * PLAN_WORDS, sum)
  }

  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  // The exact sums of the next a and e: added up, and their bits sent, a round later.
  let sumA = 0
  let sumE = 0
  for (let round = 0; round < ROUNDS; round++) {
    if (round > 0) {
      e = putSum(bits, plan, op, sumE)
      op += PLAN_WORDS
    }
    const r1 = rotateRight(e, 6) ^ rotateRight(e, 11)
    const s1 = r1 ^ rotateRight(e, 25)
    const choice = (e & f) ^ (~e & g)
    putWord(bits, plan, op, r1)
    putWord(bits, plan, op + PLAN_WORDS, s1)
    putWord(bits, plan, op + 2 * PLAN_WORDS, choice)
    op += 3 * PLAN_WORDS
    const common = h + (s1 >>> 0) + (choice >>> 0) + (CONSTANTS[round] as number) + (w[round] as number)
    if (round > 0) {
      a = putSum(bits, plan, op, sumA)
      op += PLAN_WORDS
    }
    const r0 = rotateRight(a, 2) ^ rotateRight(a, 13)
    const s0 = r0 ^ rotateRight(a, 22)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    putWord(bits, plan, op, r0)
    putWord(bits, plan, op + PLAN_WORDS, s0)
    putMajority(bits, plan, op + 2 * PLAN_WORDS, majority, b & c)
    op += 3 * PLAN_WORDS
    sumE = common + d
    sumA = common + (s0 >>> 0) + (majority >>> 0)
    h = g
    g = f
    f = e
    d = c
    c = b
    b = a
  }
  const sums = [sumA, b, c, d, sumE, f, g, h]
  for (let i = 0; i < 8; i++, op += PLAN_WORDS) {
    state[i] = putSum(bits, plan, op, (sums[i] as number) + (state[i] as number))
  }
}

function rotateRight(x: number, count: number): number {
  return (x >>> count) | (x << (32 - count))
}

function putWord(bits: BitWriter, plan: FlatPlan, op: number, result: number): void {
  const mask = plan[op + 1] as number
  const value = (result ^ (plan[op + 2] as number)) >>> 0
  if (mask === 0xffff_ffff) bits.put(value, 32)
  else if (mask !== 0) bits.putMasked(value, mask)
}

/** @returns the sum modulo 2^32 */
function putSum(bits: BitWriter, plan: FlatPlan, op: number, sum: number): number {
  const low = sum >>> 0
  const count = plan[op] as number
  if (count > 0) {
    bits.put(low, 32)
    bits.put((sum - low) / 2 ** 32, count - 32)
  }
  return low
}

/** The bits of a majority, each followed by that of b ∧ c where all three are variables. */
function putMajority(bits: BitWriter, plan: FlatPlan, op: number, result: number, both: number): void {
  const mask = plan[op + 1] as number
  const pairs = plan[op + 3] as number
  const value = (result ^ (plan[op + 2] as number)) >>> 0
  if (mask === 0xffff_ffff && pairs === 0xffff_ffff) {
    bits.put((spread(value & 0xffff) | (spread(both & 0xffff) << 1)) >>> 0, 32)
    bits.put((spread(value >>> 16) | (spread(both >>> 16) << 1)) >>> 0, 32)
    return
  }
  for (let i = 0; i < 32; i++) {
    if ((mask >>> i) & 1) bits.put((value >>> i) & 1, 1)
    if ((pairs >>> i) & 1) bits.put((both >>> i) & 1, 1)
  }
}

/** Bit i of 16 becomes bit 2i. */
function spread(x: number): number {
  let y = (x | (x << 8)) & 0x00ff_00ff
  y = (y | (y << 4)) & 0x0f0f_0f0f
  y = (y | (y << 2)) & 0x3333_3333
  return (y | (y << 1)) & 0x5555_5555
}

/** Bits that a compression sends. */
export function bitsOfPlan(plan: FlatPlan): number {
  let bits = 0
  for (let op = 0; op < plan.length; op += PLAN_WORDS) {
    bits += (plan[op] as number) + onesIn(plan[op + 1] as number) + onesIn(plan[op + 3] as number)
  }
  return bits
}

function onesIn(mask: number): number {
  let count = 0
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++
  return count
}
