/** The bits that a witness sends of SHA-256, computed on words: the plain reference for faster ways. */
import { compress, SHA256_INITIAL_STATE } from '../../src/circuit/gadgets/sha256.ts'
import {
  type CompressionPlan,
  type OperationPlan,
  planCompression,
  VARIABLE_WORD,
  type WordForm,
} from '../../src/circuit/gadgets/sha256-bits.ts'

const WORD_BITS = 32
const STATE_WORDS = 8
const BLOCK_WORDS = 16

/** Takes one bit of a witness. */
export type PutBit = (bit: number) => void

/** A word without variables. */
export const constantForm = (value: number): WordForm => ({ variables: 0, value })
/** So many words without constants. */
export const variableForms = (words: number): WordForm[] => new Array<WordForm>(words).fill(VARIABLE_WORD)

/** A field element in a message: the highest bit of its last byte, bit 255 of the number, is constantly 0. */
export const ELEMENT_FORMS: readonly WordForm[] = [...variableForms(7), { variables: 0xffff_ff7f, value: 0 }]

/** The compressions of a message of whole words. Equal ones are the same object. */
export function planSha256(message: readonly WordForm[]): CompressionPlan[] {
  const plans = new Map<string, CompressionPlan>()
  const blocks = splitBlocks([...message, ...paddingWords(message.length).map(constantForm)])
  return blocks.map((block, i) => {
    const state = i === 0 ? SHA256_INITIAL_STATE.map(constantForm) : variableForms(STATE_WORDS)
    const key = JSON.stringify([state, block])
    const plan = plans.get(key) ?? planCompression(state, block)
    plans.set(key, plan)
    return plan
  })
}

/**
 * Hashes a message of whole words, and hands on the bits of all its compressions.
 * @returns the digest
 */
export function fillSha256(plans: readonly CompressionPlan[], message: readonly number[], put: PutBit): number[] {
  const blocks = splitBlocks([...message, ...paddingWords(message.length)])
  return blocks.reduce<number[]>(
    (state, block, i) => fillCompression(plans[i] as CompressionPlan, state, block, put),
    [...SHA256_INITIAL_STATE],
  )
}

/** A one, zeros, and the length in bits: up to whole blocks. */
function paddingWords(words: number): number[] {
  const zeros = (2 * BLOCK_WORDS - 3 - (words % BLOCK_WORDS)) % BLOCK_WORDS
  const bits = WORD_BITS * words
  return [0x8000_0000, ...new Array<number>(zeros).fill(0), Math.floor(bits / 2 ** WORD_BITS), bits >>> 0]
}

function splitBlocks<T>(words: readonly T[]): T[][] {
  const blocks = words.length / BLOCK_WORDS
  return Array.from({ length: blocks }, (_, i) => words.slice(BLOCK_WORDS * i, BLOCK_WORDS * (i + 1)))
}

/**
 * Compresses words, and hands on the bits that the plan says.
 * @returns the new state
 */
export function fillCompression(
  plan: CompressionPlan,
  state: readonly number[],
  block: readonly number[],
  put: PutBit,
): number[] {
  let next = 0
  const word = (result: number): number => {
    const { mask, negated } = plan.operations[next++] as OperationPlan
    putWord(put, result ^ negated, mask)
    return result
  }
  return compress<number>(
    {
      constant: (value) => value,
      rotateRight: (x, count) => ((x >>> count) | (x << (WORD_BITS - count))) >>> 0,
      shiftRight: (x, count) => x >>> count,
      xor: (a, b) => word((a ^ b) >>> 0),
      choice: (a, b, c) => word(((a & b) ^ (~a & c)) >>> 0),
      majority: (a, b, c) => {
        const result = ((a & b) ^ (a & c) ^ (b & c)) >>> 0
        const { mask, negated, pairs } = plan.operations[next++] as OperationPlan
        for (let i = 0; i < WORD_BITS; i++) {
          if ((mask >>> i) & 1) put(((result ^ negated) >>> i) & 1)
          if ((pairs >>> i) & 1) put(((b & c) >>> i) & 1)
        }
        return result
      },
      sum: (words) => {
        // Exact: at most 8 words of 32 bits.
        const sum = words.reduce((a, b) => a + b, 0)
        const { sumBits } = plan.operations[next++] as OperationPlan
        for (let i = 0; i < sumBits; i++) put(Math.floor(sum / 2 ** i) % 2)
        return sum >>> 0
      },
    },
    state,
    block,
  )
}

function putWord(put: PutBit, value: number, mask: number): void {
  for (let i = 0; i < WORD_BITS; i++) if ((mask >>> i) & 1) put((value >>> i) & 1)
}
