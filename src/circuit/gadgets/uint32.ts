/**
 * 32-bit words of bits (`uint32.rs` in bellperson). Rotations and shifts only rename bits; constant bits cost nothing
 * anywhere.
 */
import { addBit, type Bit, constantBit, FALSE } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import type { LinearCombination } from '../linear-combination.ts'
import { allocateBits, choice, majority, xor } from './boolean.ts'
import type { MultiEq } from './multi-eq.ts'

/** 32 bits, least significant first. */
export type UInt32 = readonly Bit[]

/** Bits of a word. */
export const WORD_BITS = 32

/** The 32 bits of an integer below 2^32. */
export function constantWord(value: number): UInt32 {
  return Array.from({ length: WORD_BITS }, (_, i) => constantBit(((value >>> i) & 1) === 1))
}

/** Words from bits, the most significant of each first. */
export function wordsFromBits(bits: readonly Bit[]): UInt32[] {
  return Array.from({ length: bits.length / WORD_BITS }, (_, i) =>
    bits.slice(WORD_BITS * i, WORD_BITS * (i + 1)).reverse(),
  )
}

/** The bits of words, the most significant of each first. */
export function bitsFromWords(words: readonly UInt32[]): Bit[] {
  return words.flatMap((word) => word.toReversed())
}

/** Bit i of the result is bit i + count, modulo 32. */
export function rotateRight(word: UInt32, count: number): UInt32 {
  return [...word.slice(count), ...word.slice(0, count)]
}

/** Bit i of the result is bit i + count, or 0 past the end. */
export function shiftRight(word: UInt32, count: number): UInt32 {
  return [...word.slice(count), ...new Array<Bit>(count).fill(FALSE)]
}

/** Bit by bit, from the least significant on, as all operations here. */
export function xorWords(cs: ConstraintSystem, a: UInt32, b: UInt32): UInt32 {
  return a.map((bit, i) => xor(cs, bit, b[i] as Bit))
}

/** Bits of b where a has a one, else of c. */
export function choiceOfWords(cs: ConstraintSystem, a: UInt32, b: UInt32, c: UInt32): UInt32 {
  return a.map((bit, i) => choice(cs, bit, b[i] as Bit, c[i] as Bit))
}

/** The bits that two of three have or more. */
export function majorityOfWords(cs: ConstraintSystem, a: UInt32, b: UInt32, c: UInt32): UInt32 {
  return a.map((bit, i) => majority(cs, bit, b[i] as Bit, c[i] as Bit))
}

/**
 * The sum of words modulo 2^32. All bits of the exact sum are new variables, carries included: bit length of n · (2^32
 * − 1) of them for n words, so 33 for two, 34 up to four, 35 up to eight. The equation between the two goes through a
 * {@link MultiEq}.
 */
export function addMany(cs: ConstraintSystem, equations: MultiEq, words: readonly UInt32[]): UInt32 {
  if (words.every((word) => word.every(({ kind }) => kind === 'constant'))) {
    return constantWord(words.reduce((sum, word) => (sum + constantValue(word)) >>> 0, 0))
  }
  const sum = allocateBits(cs, sumBits(words.length))
  equations.enforceEqual(sum.length, (left, right, offset) => {
    for (const word of words) addWord(left, word, offset)
    addWord(right, sum, offset)
  })
  return sum.slice(0, WORD_BITS)
}

/** Bits of the largest sum of so many words. */
export function sumBits(words: number): number {
  return WORD_BITS + Math.ceil(Math.log2(words))
}

const POWERS: readonly bigint[] = Array.from({ length: 256 }, (_, i) => 1n << BigInt(i))

/** Adds 2^offset · Σ 2^i·bit_i. */
function addWord(sum: LinearCombination, word: readonly Bit[], offset: number): void {
  for (const [i, bit] of word.entries()) addBit(sum, bit, POWERS[offset + i])
}

function constantValue(word: UInt32): number {
  return word.reduce((value, bit, i) => (bit.kind === 'constant' && bit.value ? (value | (1 << i)) >>> 0 : value), 0)
}
