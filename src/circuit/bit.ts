/**
 * Booleans of a circuit as wrappers around variables: negation and constants cost nothing (`Boolean` in bellpepper).
 */
import type { LinearCombination } from './linear-combination.ts'
import { ONE, type Variable } from './shape.ts'

/** A variable known to be 0 or 1, its negation, or a constant. */
export type Bit =
  | { readonly kind: 'is' | 'not'; readonly variable: Variable }
  | { readonly kind: 'constant'; readonly value: boolean }

export const TRUE: Bit = { kind: 'constant', value: true }
export const FALSE: Bit = { kind: 'constant', value: false }

export function constantBit(value: boolean): Bit {
  return value ? TRUE : FALSE
}

export function is(variable: Variable): Bit {
  return { kind: 'is', variable }
}

export function not(bit: Bit): Bit {
  if (bit.kind === 'constant') return constantBit(!bit.value)
  return { kind: bit.kind === 'is' ? 'not' : 'is', variable: bit.variable }
}

/** Adds coefficient · bit: the negation of x is ONE − x. */
export function addBit(sum: LinearCombination, bit: Bit, coefficient: bigint = 1n): LinearCombination {
  switch (bit.kind) {
    case 'constant':
      return bit.value ? sum.add(ONE, coefficient) : sum
    case 'is':
      return sum.add(bit.variable, coefficient)
    case 'not':
      return sum.add(ONE, coefficient).subtract(bit.variable, coefficient)
  }
}
