/**
 * The bits that a witness sends of a compression, computed on words: the reference for faster ways.
 *
 * Operations come in the order of `compress`. Which bits of their results are variables depends on the form of state and block
 * alone, so that is worked out once, as a plan.
 */
import type { Bit } from '../bit.ts'
import { type ConstraintSystem, recordRoot } from '../constraint-system.ts'
import { allocateBits } from './boolean.ts'
import { MultiEq } from './multi-eq.ts'
import { circuitOperations, compress, SHA256_INITIAL_STATE, type WordOperations } from './sha256.ts'
import { constantWord, sumBits, type UInt32, WORD_BITS } from './uint32.ts'

/**
 * The variables of one operation (xor, choice, majority or sum), in rising order of bits. In masks, bit i is for bit i of the word.
 */
export interface OperationPlan {
  /** Of a sum: how many low bits of the exact integer sum are sent, 33 to 35; 0 if all is constant. Of others: 0. */
  readonly sumBits: number
  /** Of others: the bits of the result that are sent. */
  readonly mask: number
  /** Those of them that are sent negated. */
  readonly negated: number
  /** Of a majority of a, b, c: those of them that the bit of b ∧ c follows at once. */
  readonly pairs: number
}

/** The variables of one compression, in order of allocation. */
export interface CompressionPlan {
  readonly operations: readonly OperationPlan[]
  /** Variables altogether. */
  readonly bits: number
}

/** The form of a word: a bit of `variables` is set where the word has a variable; the others have the constants of `value`. */
export interface WordForm {
  readonly variables: number
  readonly value: number
}

/** Takes the low `count` bits of a number, the lowest first; at most 32. */
export type PutBits = (bits: number, count: number) => void

const ALL = 0xffff_ffff
/** A word without constants. */
export const VARIABLE_WORD: WordForm = { variables: ALL, value: 0 }
const STATE_WORDS = 8
const BLOCK_WORDS = 16

/** A word without variables. */
export const constantForm = (value: number): WordForm => ({ variables: 0, value })
/** So many words without constants. */
export const variableForms = (words: number): WordForm[] => new Array<WordForm>(words).fill(VARIABLE_WORD)

/** A field element in a message: the highest bit of its last byte, bit 255 of the number, is constantly 0. */
export const ELEMENT_FORMS: readonly WordForm[] = [...variableForms(7), { variables: ALL - 0x80, value: 0 }]

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
export function fillSha256(plans: readonly CompressionPlan[], message: readonly number[], put: PutBits): number[] {
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
 * Works out which variables a compression allocates.
 * @param state 8 words
 * @param block 16 words
 */
export function planCompression(state: readonly WordForm[], block: readonly WordForm[]): CompressionPlan {
  const operations: OperationPlan[] = []
  recordRoot('plan', (cs) => {
    const equations = new MultiEq(cs)
    const toWord = (form: WordForm): UInt32 => allocateForm(cs, form)
    compress(planning(circuitOperations(cs, equations), operations), state.map(toWord), block.map(toWord))
  })
  const bits = operations.reduce((n, op) => n + op.sumBits + countOnes(op.mask) + countOnes(op.pairs), 0)
  return { operations, bits }
}

/** Wraps operations so that they are noted down. */
function planning(circuit: WordOperations<UInt32>, plan: OperationPlan[]): WordOperations<UInt32> {
  const note = (operands: readonly UInt32[], result: UInt32, pairs = 0): UInt32 => {
    // An operation with a constant may return an operand's bit: that is no new variable.
    const old = new Set(operands.flat().map((bit) => (bit.kind === 'constant' ? undefined : bit.variable)))
    const isNew = (bit: Bit): boolean => bit.kind !== 'constant' && !old.has(bit.variable)
    const mask = maskOf(result, isNew)
    plan.push({ sumBits: 0, mask, negated: maskOf(result, (bit) => isNew(bit) && bit.kind === 'not'), pairs })
    return result
  }
  return {
    ...circuit,
    xor: (a, b) => note([a, b], circuit.xor(a, b)),
    choice: (a, b, c) => note([a, b, c], circuit.choice(a, b, c)),
    majority: (a, b, c) => {
      const [va, vb, vc] = [a, b, c].map((word) => maskOf(word, isVariable)) as [number, number, number]
      return note([a, b, c], circuit.majority(a, b, c), (va & vb & vc) >>> 0)
    },
    sum: (words) => {
      const constant = !words.flat().some(isVariable)
      plan.push({ sumBits: constant ? 0 : sumBits(words.length), mask: 0, negated: 0, pairs: 0 })
      return circuit.sum(words)
    },
  }
}

const isVariable = (bit: Bit): boolean => bit.kind !== 'constant'

function maskOf(word: UInt32, test: (bit: Bit) => boolean): number {
  return word.reduce((mask, bit, i) => (test(bit) ? (mask | (1 << i)) >>> 0 : mask), 0)
}

function allocateForm(cs: ConstraintSystem, { variables, value }: WordForm): UInt32 {
  const bits = allocateBits(cs, WORD_BITS)
  return constantWord(value).map((constant, i) => ((variables >>> i) & 1 ? (bits[i] as Bit) : constant))
}

/**
 * Compresses words, and hands on the bits that the plan says.
 * @returns the new state
 */
export function fillCompression(
  plan: CompressionPlan,
  state: readonly number[],
  block: readonly number[],
  put: PutBits,
): number[] {
  let next = 0
  const word = (result: number): number => {
    const { mask, negated } = plan.operations[next++] as OperationPlan
    putMasked(put, result ^ negated, mask)
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
        putPairs(put, result ^ negated, mask, b & c, pairs)
        return result
      },
      sum: (words) => {
        // Exact: at most 8 words of 32 bits.
        const sum = words.reduce((a, b) => a + b, 0)
        const { sumBits } = plan.operations[next++] as OperationPlan
        if (sumBits > 0) {
          put(sum >>> 0, WORD_BITS)
          put(Math.floor(sum / 2 ** WORD_BITS), sumBits - WORD_BITS)
        }
        return sum >>> 0
      },
    },
    state,
    block,
  )
}

function putMasked(put: PutBits, value: number, mask: number): void {
  // Rows of ones from bit 0, as shifts leave them, go in one piece.
  if (mask === ALL) put(value >>> 0, WORD_BITS)
  else if ((mask & (mask + 1)) === 0) put((value & mask) >>> 0, countOnes(mask))
  else for (let i = 0; i < WORD_BITS; i++) if ((mask >>> i) & 1) put((value >>> i) & 1, 1)
}

/** Bits of two words in turns. */
function putPairs(put: PutBits, value: number, mask: number, second: number, pairs: number): void {
  if (mask === ALL && pairs === ALL) {
    put((spread(value & 0xffff) | (spread(second & 0xffff) << 1)) >>> 0, WORD_BITS)
    put((spread(value >>> 16) | (spread(second >>> 16) << 1)) >>> 0, WORD_BITS)
    return
  }
  for (let i = 0; i < WORD_BITS; i++) {
    if ((mask >>> i) & 1) put((value >>> i) & 1, 1)
    if ((pairs >>> i) & 1) put((second >>> i) & 1, 1)
  }
}

/** Moves bit i of 16 to bit 2i. */
function spread(bits: number): number {
  let x = (bits | (bits << 8)) & 0x00ff_00ff
  x = (x | (x << 4)) & 0x0f0f_0f0f
  x = (x | (x << 2)) & 0x3333_3333
  return (x | (x << 1)) & 0x5555_5555
}

function countOnes(mask: number): number {
  let count = 0
  for (let rest = mask; rest !== 0; rest = (rest & (rest - 1)) >>> 0) count++
  return count
}
