/**
 * Which bits a witness sends of a compression. Operations come in the order of `compress`; which bits of their results are
 * variables depends on the form of state and block alone, so it is worked out once, as a plan.
 */
import type { Bit } from '../bit.ts'
import { type ConstraintSystem, recordRoot } from '../constraint-system.ts'
import { allocateBits } from './boolean.ts'
import { MultiEq } from './multi-eq.ts'
import { circuitOperations, compress, type WordOperations } from './sha256.ts'
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

/** A word without constants. */
export const VARIABLE_WORD: WordForm = { variables: 0xffff_ffff, value: 0 }

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

function countOnes(mask: number): number {
  let count = 0
  for (let rest = mask; rest !== 0; rest = (rest & (rest - 1)) >>> 0) count++
  return count
}
