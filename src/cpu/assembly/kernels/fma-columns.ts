/**
 * The columns of a product in doubles: see fma-product.ts for what h, l, C, K and e are, and why every step is exact.
 */
import type { FunctionBuilder } from './wat.ts'
import { get } from './wat.ts'

/** An accumulator of one position, with the bounds of its two parts. */
export interface Column {
  h: string | undefined
  l: string | undefined
  hBound: number
  lBound: number
}

/** A factor of the products: a digit in a local, or in memory (constants are loaded at each use). */
export interface Digit {
  readonly text: string
  readonly bound: number
}

/** In scratch: a vector for each of at most 16 columns. */
const FENCE_SCRATCH = 0xc00

/** Emits on columns and keeps their bounds; without a function it keeps the bounds only. */
export class ColumnEmitter {
  readonly #f: FunctionBuilder | undefined
  readonly #e: number
  readonly #w: number
  readonly #splat: (value: number) => string
  readonly #fenced: boolean

  constructor(f: FunctionBuilder | undefined, e: number, w: number, splat: (value: number) => string, fenced: boolean) {
    this.#fenced = fenced
    this.#f = f
    this.#e = e
    this.#w = w
    this.#splat = splat
  }

  /** Adds all terms of columns `from`..`to` (one or two), alternating, then hands h over to the next column's l. */
  accumulate(
    columns: readonly Column[],
    terms: readonly (readonly (readonly [Digit, Digit])[])[],
    from: number,
    to: number,
  ): void {
    const longest = Math.max(...range(from, to).map((k) => terms[k]?.length ?? 0))
    for (let i = 0; i < longest; i++) {
      for (const k of range(from, to)) {
        const term = terms[k]?.[i]
        if (term !== undefined) this.#multiply(columns[k] as Column, term[0], term[1])
      }
    }
    for (const k of range(from, to)) {
      const next = columns[k + 1]
      if (next !== undefined) this.#handOver(columns[k] as Column, next)
    }
    if (this.#fenced) for (const k of range(from, to)) this.#fence(columns[k] as Column, k)
  }

  #fence(column: Column, k: number): void {
    const f = this.#f
    if (f === undefined || column.l === undefined) return
    const place = `offset=${FENCE_SCRATCH + 16 * k} (global.get $scratch)`
    f.do(`(v128.store ${place} ${get(column.l)})`)
    column.l = f.local('v128', `(v128.load ${place})`)
  }

  #multiply(column: Column, a: Digit, b: Digit): void {
    // Half an ulp of h is what the FMA may round by, and what then goes to l.
    column.hBound += a.bound * b.bound + 2 ** (this.#e - 53)
    column.lBound += 2 ** (this.#e - 53)
    const f = this.#f
    if (f === undefined) return
    const start = this.#splat(1.5 * 2 ** this.#e)
    const h = column.h === undefined ? start : get(column.h)
    const n = f.local('v128', `(f64x2.relaxed_madd ${a.text} ${b.text} ${h})`)
    const low = `(f64x2.relaxed_madd ${a.text} ${b.text} (f64x2.sub ${h} ${get(n)}))`
    column.l = f.local('v128', column.l === undefined ? low : `(f64x2.add ${get(column.l)} ${low})`)
    column.h = n
  }

  #handOver(column: Column, next: Column): void {
    if (column.hBound === 0) return
    next.lBound += (column.hBound + 2 ** (this.#e - 52)) * 2 ** -this.#w
    const f = this.#f
    if (f === undefined || column.h === undefined) return
    const part = `(f64x2.relaxed_madd ${get(column.h)} ${this.#splat(2 ** -this.#w)} ${this.#splat(-1.5 * 2 ** (this.#e - this.#w))})`
    next.l = f.local('v128', next.l === undefined ? part : `(f64x2.add ${get(next.l)} ${part})`)
  }

  carryOf(column: Column): string | undefined {
    if (this.#f === undefined) return undefined
    const k = this.#splat(1.5 * 2 ** (52 + this.#w))
    return this.#f.local('v128', `(f64x2.sub (f64x2.add ${get(column.l as string)} ${k}) ${k})`)
  }

  /** l − carry, plus the scaled carry of the column below. */
  digitOf(column: Column, carry: string | undefined, below: string | undefined): string {
    if (this.#f === undefined) return ''
    const digit = `(f64x2.sub ${get(column.l as string)} ${get(carry as string)})`
    const down = this.#splat(2 ** -this.#w)
    return get(
      this.#f.local('v128', below === undefined ? digit : `(f64x2.relaxed_madd ${get(below)} ${down} ${digit})`),
    )
  }

  addCarry(column: Column, carry: string | undefined): void {
    // |l| < 2^53, so a carry is below 2^(53 − w).
    column.lBound += 2 ** (54 - this.#w)
    if (this.#f === undefined) return
    const part = `${get(carry as string)} ${this.#splat(2 ** -this.#w)}`
    column.l = this.#f.local(
      'v128',
      column.l === undefined ? `(f64x2.mul ${part})` : `(f64x2.relaxed_madd ${part} ${get(column.l)})`,
    )
  }

  add(column: Column, text: string, bound: number): void {
    column.lBound += bound
    if (this.#f === undefined) return
    column.l = this.#f.local('v128', column.l === undefined ? text : `(f64x2.add ${get(column.l)} ${text})`)
  }

  /**
   * q = −t · p^−1 mod 2^w: K as addend rounds the product to a multiple of 2^w, which is then taken from it exactly.
   */
  quotient(t: string, pInverse: number): string {
    if (this.#f === undefined) return ''
    const k = this.#splat(1.5 * 2 ** (52 + this.#w))
    const inverse = this.#splat(pInverse)
    const z = this.#f.local('v128', `(f64x2.sub (f64x2.relaxed_madd ${t} ${inverse} ${k}) ${k})`)
    return get(this.#f.local('v128', `(f64x2.relaxed_nmadd ${t} ${inverse} ${get(z)})`))
  }

  /** Adds (q · p_0 + t) / 2^w, an exact division. */
  addExact(column: Column, q: string, p0: Digit, t: string): void {
    column.lBound += p0.bound / 2 + 1
    if (this.#f === undefined) return
    const whole = `(f64x2.relaxed_madd ${q} ${p0.text} ${t})`
    column.l = this.#f.local(
      'v128',
      `(f64x2.relaxed_madd ${whole} ${this.#splat(2 ** -this.#w)} ${get(column.l as string)})`,
    )
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}
