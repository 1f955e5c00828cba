/**
 * Which bits a witness sends of a compression. Operations come in the order of `compress`; which bits of their results
 * are variables depends on the form of state and block alone, so it is worked out once, as a plan.
 */
import { compress, type WordOperations } from './sha256.ts'
import { sumBits, WORD_BITS } from './uint32.ts'

/**
 * The variables of one operation (xor, choice, majority or sum), in rising order of bits. In masks, bit i is for bit i
 * of the word.
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

/**
 * The form of a word: a bit of `variables` is set where the word has a variable; the others have the constants of
 * `value`.
 */
export interface WordForm {
  readonly variables: number
  readonly value: number
}

/** A word without constants. */
export const VARIABLE_WORD: WordForm = { variables: 0xffff_ffff, value: 0 }

/** What a gadget of `boolean.ts` makes of bits, without values: constants, variables, and their negations. */
const [FALSE, TRUE, IS] = [0, 1, 2] as const
/** A variable that the operation allocates. Negation flips the lowest bit of all of these. */
const NEW = 6

/** 32 of the bits above, least significant first. */
type FormalWord = readonly number[]

/**
 * Works out which variables a compression allocates: some milliseconds, where recording its rows takes fifty.
 * @param state 8 words
 * @param block 16 words
 */
export function planCompression(state: readonly WordForm[], block: readonly WordForm[]): CompressionPlan {
  const operations: OperationPlan[] = []
  compress(formalOperations(operations), state.map(formalWord), block.map(formalWord))
  const bits = operations.reduce((n, op) => n + op.sumBits + countOnes(op.mask) + countOnes(op.pairs), 0)
  return { operations, bits }
}

/** Operations on forms that note down what they allocate. */
function formalOperations(plan: OperationPlan[]): WordOperations<FormalWord> {
  const note = (result: FormalWord, pairs = 0): FormalWord => {
    const mask = maskOf(result, (bit) => bit >= NEW)
    plan.push({ sumBits: 0, mask, negated: maskOf(result, (bit) => bit > NEW), pairs })
    return result.map((bit) => (bit >= NEW ? bit - NEW + IS : bit))
  }
  return {
    constant: (value) => formalWord({ variables: 0, value }),
    rotateRight: (word, count) => [...word.slice(count), ...word.slice(0, count)],
    shiftRight: (word, count) => [...word.slice(count), ...new Array<number>(count).fill(FALSE)],
    xor: (a, b) => note(a.map((bit, i) => xor(bit, b[i] as number))),
    choice: (a, b, c) => note(a.map((bit, i) => choice(bit, b[i] as number, c[i] as number))),
    majority: (a, b, c) => {
      const result = a.map((bit, i) => majority(bit, b[i] as number, c[i] as number))
      const variable = [a, b, c].map((word) => maskOf(word, isVariable)) as [number, number, number]
      return note(result, (variable[0] & variable[1] & variable[2]) >>> 0)
    },
    sum: (words) => {
      const constant = !words.flat().some(isVariable)
      plan.push({ sumBits: constant ? 0 : sumBits(words.length), mask: 0, negated: 0, pairs: 0 })
      if (!constant) return new Array<number>(WORD_BITS).fill(IS)
      return formalWord({ variables: 0, value: words.reduce((sum, word) => (sum + maskOf(word, Boolean)) >>> 0, 0) })
    },
  }
}

// The rules of `boolean.ts`.

function xor(a: number, b: number): number {
  if (!isVariable(a)) return b ^ a
  if (!isVariable(b)) return a ^ b
  return NEW | ((a ^ b) & 1)
}

function and(a: number, b: number): number {
  if (!isVariable(a)) return a === TRUE ? b : a
  if (!isVariable(b)) return b === TRUE ? a : b
  return NEW
}

function choice(a: number, b: number, c: number): number {
  if (!isVariable(a) && !isVariable(b) && !isVariable(c)) return a === TRUE ? b : c
  if (a === FALSE) return c
  if (b === FALSE) return and(a ^ 1, c)
  if (c === FALSE) return and(a, b)
  if (c === TRUE) return and(a, b ^ 1) ^ 1
  if (b === TRUE) return and(a ^ 1, c ^ 1) ^ 1
  return NEW
}

function majority(a: number, b: number, c: number): number {
  if (a === FALSE) return and(b, c)
  if (b === FALSE) return and(a, c)
  if (c === FALSE) return and(a, b)
  if (c === TRUE) return and(a ^ 1, b ^ 1) ^ 1
  if (b === TRUE) return and(a ^ 1, c ^ 1) ^ 1
  if (a === TRUE) return and(b ^ 1, c ^ 1) ^ 1
  return NEW
}

function isVariable(bit: number): boolean {
  return bit >= IS
}

function formalWord({ variables, value }: WordForm): FormalWord {
  return Array.from({ length: WORD_BITS }, (_, i) => ((variables >>> i) & 1 ? IS : (value >>> i) & 1))
}

function maskOf(word: FormalWord, test: (bit: number) => boolean): number {
  return word.reduce((mask, bit, i) => (test(bit) ? (mask | (1 << i)) >>> 0 : mask), 0)
}

function countOnes(mask: number): number {
  let count = 0
  for (let rest = mask; rest !== 0; rest = (rest & (rest - 1)) >>> 0) count++
  return count
}
