/**
 * Products in doubles, reduced, and the carries that normalise what comes of them.
 *
 * A product a·b goes into the column (h, l) of its position by four instructions:
 *     n = fma(a, b, h);  l += fma(a, b, h − n);  h = n.
 * h starts at C = 1.5 · 2^e and stays in [2^e, 2^(e+1)), where an ulp is 2^(e−52); so h − n is exact, and fma(a, b, h −
 * n) is the rounding error of the first FMA: an integer of at most 2^(e−53), exact as well. l is a sum of integers,
 * exact below 2^53. At the end of a column (h − C) · 2^−w goes to the next column's l, and so does the carry c of l,
 * where c = (l + K) − K with K = 1.5 · 2^(52+w) is l rounded to a multiple of 2^w. The generator computes the bounds of
 * every column for the operands at hand and takes an e that they allow; if there is none it throws.
 *
 * Reduction: the digits t_k of columns 0..n−2 are made by one parallel carry pass, and t_k · W_k is added at position n
 * − 1, where W_k = 2^(−w (n−1−k)) mod p, balanced. These products do not depend on each other, unlike those of a
 * digit-by-digit reduction. The last digit takes one true Montgomery step: q = −t · p^−1 mod 2^w (balanced), and q · p
 * is added. The result is in columns n..2n−1: a·b / 2^(w n), plus at most (n − 1) p/4 + p/2.
 */
import type { FieldEmitter, ProductOptions, Value } from './field.ts'
import { balanced, inverseModulo } from './field.ts'
import type { Column, Digit } from './fma-columns.ts'
import { ColumnEmitter } from './fma-columns.ts'
import type { FunctionBuilder } from './wat.ts'
import { get } from './wat.ts'

/** What products need to know of their field. */
export type FmaShape = Pick<FieldEmitter, 'name' | 'modulus' | 'digits' | 'digitBits' | 'radix'>

/** Integers below it are doubles. */
const LIMIT = 2 ** 53

/** At most |v|/p after `tidy`: a half, and a little more since the quotient is rounded from the top 53 bits. */
export const TIDY_BOUND: number = 0.51

/** The quotient of two numbers of any size, as a double. */
export function ratio(a: bigint, b: bigint): number {
  return Number((a << 64n) / b) / 2 ** 64
}

/** The digits of a value: balanced, the top one with the rest. */
export function balancedDigits({ digits: count, digitBits }: FmaShape, value: bigint): bigint[] {
  const w = BigInt(digitBits)
  const digits: bigint[] = []
  let rest = value
  for (let i = 0; i < count - 1; i++) {
    const digit = balanced(rest, 1n << w)
    digits.push(digit)
    rest = (rest - digit) >> w
  }
  digits.push(rest)
  return digits
}

/** Emits products of one field. */
export class FmaProducts {
  readonly #field: FmaShape
  readonly #p: readonly bigint[]
  readonly #splat: (value: number) => string
  readonly #fenced: boolean

  /**
   * @param splat text that loads a constant into both lanes
   * @param fenced whether every finished column takes a detour through memory
   */
  constructor(field: FmaShape, splat: (value: number) => string, fenced: boolean) {
    this.#field = field
    this.#p = balancedDigits(field, field.modulus)
    this.#splat = splat
    this.#fenced = fenced
  }

  /**
   * The sum of products, in one reduction.
   * @throws {Error} the bounds of the operands do not prove it exact
   */
  sum(f: FunctionBuilder, products: readonly (readonly [a: Value, b: Value])[], options: ProductOptions = {}): Value {
    // A larger e gives h more room and costs l precision; the usual one first.
    for (const e of [this.#field.digitBits + 53, this.#field.digitBits + 52]) {
      if (this.#product(undefined, e, products, options) !== undefined) {
        return this.#product(f, e, products, options) as Value
      }
    }
    const factors = products.map((pair) => pair.map(({ limb, bound }) => `limb ${limb} bound ${bound}`).join(' × '))
    throw new Error(`${this.#field.name}: a product is not proven to be exact: ${factors.join(' + ')}`)
  }

  /** The same value modulo p, normalised, at most {@link TIDY_BOUND} · p from 0. */
  tidy(f: FunctionBuilder, a: Value): Value {
    const columns = a.digits.map((digit, i) => ({ h: undefined, l: digit, hBound: 0, lBound: this.#digitBound(a, i) }))
    // The columns are changed in place: work on copies, the operand stays as it is.
    const copies = columns.map((column) => ({ ...column, l: f.local('v128', get(column.l)) }))
    this.#subtractMultiple(f, copies)
    return this.#carry(f, copies, TIDY_BOUND)
  }

  #digitBound(value: Value, i: number): number {
    const half = 2 ** (this.#field.digitBits - 1)
    if (i < this.#field.digits - 1) return value.limb * half
    return (
      value.bound * ratio(this.#field.modulus, 1n << BigInt(this.#field.digitBits * (this.#field.digits - 1))) +
      value.limb
    )
  }

  #constantDigits(value: bigint): Digit[] {
    return balancedDigits(this.#field, value).map((digit) => ({
      text: this.#splat(Number(digit)),
      bound: Number(digit < 0n ? -digit : digit),
    }))
  }

  /**
   * Emits the product, or, without a function, only checks its bounds (the same code path, so that the two can't part).
   * @returns undefined if a bound is passed
   */
  #product(
    f: FunctionBuilder | undefined,
    e: number,
    products: readonly (readonly [a: Value, b: Value])[],
    { addend, tidy = false }: ProductOptions,
  ): Value | undefined {
    const n = this.#field.digits
    const w = this.#field.digitBits
    const emit = new ColumnEmitter(f, e, w, (value) => this.#splat(value), this.#fenced)
    const columns: Column[] = Array.from({ length: 2 * n }, () => ({
      h: undefined,
      l: undefined,
      hBound: 0,
      lBound: 0,
    }))
    const terms: (readonly [Digit, Digit])[][] = columns.map(() => [])
    for (const [a, b] of products) {
      const digit = (value: Value, i: number): Digit => ({
        text: get(value.digits[i] as string),
        bound: this.#digitBound(value, i),
      })
      for (let i = 0; i < n; i++) {
        if (a === b) {
          const twice: Digit =
            f === undefined || i === n - 1
              ? { text: '', bound: 2 * digit(a, i).bound }
              : {
                  text: get(f.local('v128', `(f64x2.add ${digit(a, i).text} ${digit(a, i).text})`)),
                  bound: 2 * digit(a, i).bound,
                }
          terms[2 * i]?.push([digit(a, i), digit(a, i)])
          for (let j = i + 1; j < n; j++) terms[i + j]?.push([digit(a, j), twice])
        } else {
          for (let j = 0; j < n; j++) terms[i + j]?.push([digit(a, i), digit(b, j)])
        }
      }
    }
    const modulus = this.#constantDigits(this.#field.modulus)
    const pInverse = balanced(inverseModulo(this.#field.modulus, 1n << BigInt(w)), 1n << BigInt(w))
    const half = 2 ** (w - 1)

    // Columns 0..n-2, two at a time, then all their digits at once.
    for (let k = 0; k < n - 1; k += 2) emit.accumulate(columns, terms, k, Math.min(k + 1, n - 2))
    const carries: (string | undefined)[] = []
    for (let k = 0; k < n - 1; k++) carries.push(emit.carryOf(columns[k] as Column))
    for (let k = 0; k < n - 1; k++) {
      const t = emit.digitOf(columns[k] as Column, carries[k], k > 0 ? carries[k - 1] : undefined)
      const factor = this.#constantDigits(
        balanced(inverseModulo(1n << BigInt(w * (n - 1 - k)), this.#field.modulus), this.#field.modulus),
      )
      for (let j = 0; j < n; j++) terms[n - 1 + j]?.push([{ text: t, bound: half + 2 ** 6 }, factor[j] as Digit])
    }
    emit.addCarry(columns[n - 1] as Column, carries[n - 2])

    emit.accumulate(columns, terms, n - 1, n - 1)
    const last = columns[n - 1] as Column
    const carry = emit.carryOf(last)
    const t = emit.digitOf(last, carry, undefined)
    emit.addCarry(columns[n] as Column, carry)
    const q = emit.quotient(t, Number(pInverse))
    emit.addExact(columns[n] as Column, q, modulus[0] as Digit, t)
    for (let j = 1; j < n; j++) terms[n - 1 + j]?.push([{ text: q, bound: half }, modulus[j] as Digit])
    for (let k = n; k < 2 * n; k += 2) emit.accumulate(columns, terms, k, k + 1)

    const result = columns.slice(n)
    if (addend !== undefined) {
      result.forEach((column, i) => {
        emit.add(column, get(addend.digits[i] as string), this.#digitBound(addend, i))
      })
    }
    let bound = 0.5 + (n - 1) / 4 + (addend?.bound ?? 0) + 0.001
    for (const [a, b] of products) bound += a.bound * b.bound * ratio(this.#field.modulus, this.#field.radix)
    if (tidy) {
      for (const column of result) column.lBound += (bound + 1) * half
      bound = TIDY_BOUND
    }
    // The top column and its neighbours take a carry each in the chain to come.
    const hLimit = 2 ** (e - 1)
    if (columns.some(({ hBound, lBound }) => hBound >= hLimit || lBound + 64 >= LIMIT)) return undefined
    if (f === undefined) return { digits: [], limb: 1, bound }
    if (tidy) this.#subtractMultiple(f, result)
    return this.#carry(f, result, bound)
  }

  /** Subtracts the multiple of p nearest to the value of the columns, judged by the top two. */
  #subtractMultiple(f: FunctionBuilder, columns: readonly Column[]): void {
    const n = this.#field.digits
    const top = 2 ** (this.#field.digitBits * (n - 1))
    const inverse = top / Number(this.#field.modulus)
    const [high, low] = [columns[n - 1]?.l as string, columns[n - 2]?.l as string]
    const sum = `(f64x2.relaxed_madd ${get(low)} ${this.#splat(2 ** -this.#field.digitBits)} ${get(high)})`
    const m = f.local('v128', `(f64x2.nearest (f64x2.mul ${sum} ${this.#splat(inverse)}))`)
    columns.forEach((column, i) => {
      const l = column.l as string
      f.set(l, `(f64x2.relaxed_nmadd ${get(m)} ${this.#splat(Number(this.#p[i]))} ${get(l)})`)
    })
  }

  /** The serial carry chain that normalises; returns new locals. */
  #carry(f: FunctionBuilder, columns: readonly Column[], bound: number): Value {
    const k = this.#splat(1.5 * 2 ** (52 + this.#field.digitBits))
    const down = this.#splat(2 ** -this.#field.digitBits)
    const digits: string[] = []
    let current = columns[0]?.l as string
    for (let i = 0; i < columns.length - 1; i++) {
      const carry = f.local('v128', `(f64x2.sub (f64x2.add ${get(current)} ${k}) ${k})`)
      digits.push(f.local('v128', `(f64x2.sub ${get(current)} ${get(carry)})`))
      current = f.local('v128', `(f64x2.relaxed_madd ${get(carry)} ${down} ${get(columns[i + 1]?.l as string)})`)
    }
    digits.push(current)
    return { digits, limb: 1, bound }
  }
}
