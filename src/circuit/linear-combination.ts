import { ONE, type Variable } from './shape.ts'

/**
 * A sum of variables times coefficients under construction. Terms of the same variable merge. Coefficients are exact
 * integers, reduced only when a row is recorded; terms that are 0 by then vanish.
 */
export class LinearCombination {
  readonly #terms = new Map<Variable, bigint>()

  /** coefficient · variable, as a new linear combination. */
  static of(variable: Variable, coefficient: bigint = 1n): LinearCombination {
    return new LinearCombination().add(variable, coefficient)
  }

  /** A constant: a multiple of ONE. */
  static constant(value: bigint): LinearCombination {
    return LinearCombination.of(ONE, value)
  }

  add(variable: Variable, coefficient: bigint = 1n): this {
    const old = this.#terms.get(variable)
    this.#terms.set(variable, old === undefined ? coefficient : old + coefficient)
    return this
  }

  subtract(variable: Variable, coefficient: bigint = 1n): this {
    return this.add(variable, -coefficient)
  }

  addAll(other: LinearCombination, factor: bigint = 1n): this {
    for (const [variable, coefficient] of other.#terms)
      this.add(variable, factor === 1n ? coefficient : coefficient * factor)
    return this
  }

  subtractAll(other: LinearCombination, factor: bigint = 1n): this {
    return this.addAll(other, -factor)
  }

  /** Different variables, those included whose coefficients vanish. */
  get size(): number {
    return this.#terms.size
  }

  /** Terms in no particular order; coefficients may be any integers, also multiples of r. */
  entries(): Iterable<readonly [Variable, bigint]> {
    return this.#terms
  }
}

/** Σ variables with coefficient 1. */
export function sumOf(...variables: Variable[]): LinearCombination {
  const sum = new LinearCombination()
  for (const variable of variables) sum.add(variable)
  return sum
}

/** a − b. */
export function differenceOf(a: Variable, b: Variable): LinearCombination {
  return LinearCombination.of(a).subtract(b)
}
