/**
 * SHA-256 (`sha256.rs` in bellperson). The same words may come as variables or constants; constants shorten what they
 * take part in, so the compression is a template for each form of its state and block: from the initial state, of a
 * padding block, and so on.
 *
 * All variables are of class `bit`. In order of allocation, for each operation on words (see {@link compress} for their
 * order) and each bit position from the least significant, skipping positions where constants make the result no new
 * variable:
 * - xor: the result;
 * - choice: the result;
 * - majority: the result, then b ∧ c; where an operand is constant, the conjunction that is left;
 * - sum: all bits of the exact integer sum, carries included.
 */
import { type Bit, FALSE, TRUE } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { MultiEq } from './multi-eq.ts'
import {
  addMany,
  bitsFromWords,
  choiceOfWords,
  constantWord,
  majorityOfWords,
  rotateRight,
  shiftRight,
  type UInt32,
  wordsFromBits,
  xorWords,
} from './uint32.ts'

const BLOCK_BITS = 512
const BLOCK_WORDS = 16
const LENGTH_BITS = 64
const ROUNDS = 64

/** First 32 bits of the fractional parts of the square roots of the first 8 primes. */
// biome-ignore format: a table
export const SHA256_INITIAL_STATE: readonly number[] = [
  0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
]
/** The same of the cube roots of the first 64 primes. */
// biome-ignore format: a table
export const ROUND_CONSTANTS: readonly number[] = [
  0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
  0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
  0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
  0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
  0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
  0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
  0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
  0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
]

/**
 * Digest of bits.
 * @param message any number of bits, the most significant of each byte first
 * @returns 256 bits in the same order
 */
export function sha256(cs: ConstraintSystem, message: readonly Bit[]): Bit[] {
  const padded = padMessage(message)
  let state = SHA256_INITIAL_STATE.map(constantWord)
  for (let from = 0; from < padded.length; from += BLOCK_BITS) {
    state = compression(cs, state, wordsFromBits(padded.slice(from, from + BLOCK_BITS)))
  }
  return bitsFromWords(state)
}

/** A one, zeros, and the length: up to a multiple of 512 bits. */
function padMessage(message: readonly Bit[]): Bit[] {
  const padded = [...message, TRUE]
  while ((padded.length + LENGTH_BITS) % BLOCK_BITS !== 0) padded.push(FALSE)
  for (let i = LENGTH_BITS - 1; i >= 0; i--) padded.push(Math.floor(message.length / 2 ** i) % 2 === 1 ? TRUE : FALSE)
  return padded
}

/** The compression as a template. */
function compression(cs: ConstraintSystem, state: readonly UInt32[], block: readonly UInt32[]): UInt32[] {
  // Blocks come before states, and are older: so wires are nearly in the order of variables.
  const { bits } = cs.template('sha256-compression', { bits: [...block, ...state].flat() }, (body, { bits }) => {
    const words = splitWords(bits)
    return { bits: compressInCircuit(body, words.slice(BLOCK_WORDS), words.slice(0, BLOCK_WORDS)).flat() }
  })
  return splitWords(bits)
}

function splitWords(bits: readonly Bit[]): UInt32[] {
  return Array.from({ length: bits.length / 32 }, (_, i) => bits.slice(32 * i, 32 * (i + 1)))
}

/** One block into a state of 8 words, as rows. */
export function compressInCircuit(cs: ConstraintSystem, state: readonly UInt32[], block: readonly UInt32[]): UInt32[] {
  const equations = new MultiEq(cs)
  const result = compress(circuitOperations(cs, equations), state, block)
  equations.close()
  return result
}

/** Operations that allocate and enforce. The equations have to be closed behind a compression. */
function circuitOperations(cs: ConstraintSystem, equations: MultiEq): WordOperations<UInt32> {
  return {
    constant: constantWord,
    rotateRight,
    shiftRight,
    xor: (a, b) => xorWords(cs, a, b),
    choice: (a, b, c) => choiceOfWords(cs, a, b, c),
    majority: (a, b, c) => majorityOfWords(cs, a, b, c),
    sum: (words) => addMany(cs, equations, words),
  }
}

/** What a compression does with words, be they numbers or bits of a circuit. */
export interface WordOperations<Word> {
  constant(value: number): Word
  rotateRight(word: Word, count: number): Word
  shiftRight(word: Word, count: number): Word
  xor(a: Word, b: Word): Word
  /** (a ∧ b) ⊕ (¬a ∧ c). */
  choice(a: Word, b: Word, c: Word): Word
  /** (a ∧ b) ⊕ (a ∧ c) ⊕ (b ∧ c). */
  majority(a: Word, b: Word, c: Word): Word
  /** Modulo 2^32, of two words or more. */
  sum(words: readonly Word[]): Word
}

/**
 * One block of 16 words into a state of 8, by the operations that the circuit makes, in its order.
 *
 * The sums that make a new a and a new e in one round are added up only when the next round needs them, and so that e
 * comes first: `a` and `e` are lists of words to be summed.
 */
export function compress<Word>(
  operations: WordOperations<Word>,
  state: readonly Word[],
  block: readonly Word[],
): Word[] {
  const { rotateRight, shiftRight, xor } = operations
  const xor3 = (x: Word, y: Word, z: Word): Word => xor(xor(x, y), z)
  const sum = (words: readonly Word[]): Word => (words.length === 1 ? (words[0] as Word) : operations.sum(words))

  const schedule = [...block]
  const w = (i: number): Word => schedule[i] as Word
  for (let i = BLOCK_WORDS; i < ROUNDS; i++) {
    const [x, y] = [w(i - 15), w(i - 2)]
    const s0 = xor3(rotateRight(x, 7), rotateRight(x, 18), shiftRight(x, 3))
    const s1 = xor3(rotateRight(y, 17), rotateRight(y, 19), shiftRight(y, 10))
    schedule.push(sum([w(i - 16), s0, w(i - 7), s1]))
  }

  let [a0, b, c, d, e0, f, g, h] = state as Eight<Word>
  let a: readonly Word[] = [a0]
  let e: readonly Word[] = [e0]
  for (let round = 0; round < ROUNDS; round++) {
    e0 = sum(e)
    const s1 = xor3(rotateRight(e0, 6), rotateRight(e0, 11), rotateRight(e0, 25))
    const ch = operations.choice(e0, f, g)
    const common = [h, s1, ch, operations.constant(ROUND_CONSTANTS[round] as number), w(round)]
    a0 = sum(a)
    const s0 = xor3(rotateRight(a0, 2), rotateRight(a0, 13), rotateRight(a0, 22))
    const maj = operations.majority(a0, b, c)
    e = [...common, d]
    a = [...common, s0, maj]
    ;[h, g, f, d, c, b] = [g, f, e0, c, b, a0]
  }

  const [h0, h1, h2, h3, h4, h5, h6, h7] = state as Eight<Word>
  return [
    [...a, h0],
    [h1, b],
    [h2, c],
    [h3, d],
    [...e, h4],
    [h5, f],
    [h6, g],
    [h7, h],
  ].map(sum)
}

type Eight<Word> = [Word, Word, Word, Word, Word, Word, Word, Word]
