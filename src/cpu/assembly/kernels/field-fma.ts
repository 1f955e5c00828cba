/**
 * Field arithmetic in doubles with fused multiply-add: value = Σ v_i · 2^(w i), two numbers at a time in the lanes of f64x2.
 * Fq has 8 digits of w = 48 bits, Fr 6 of 44. Digits are integers, balanced (|v_i| ≤ 2^(w−1)) when normalised, the top digit
 * takes the rest; values may be negative, so sums and differences are digit-wise.
 *
 * A product a·b goes into the column (h, l) of its position by four instructions:
 *     n = fma(a, b, h);  l += fma(a, b, h − n);  h = n.
 * h starts at C = 1.5 · 2^e and stays in [2^e, 2^(e+1)), where an ulp is 2^(e−52); so h − n is exact, and fma(a, b, h − n) is the
 * rounding error of the first FMA: an integer of at most 2^(e−53), exact as well. l is a sum of integers, exact below 2^53.
 * At the end of a column (h − C) · 2^−w goes to the next column's l, and so does the carry c of l, where c = (l + K) − K with
 * K = 1.5 · 2^(52+w) is l rounded to a multiple of 2^w. The generator computes the bounds of every column for the operands
 * at hand and takes an e that they allow; if there is none it throws.
 *
 * Reduction: the digits t_k of columns 0..n−2 are made by one parallel carry pass, and t_k · W_k is added at position n − 1, where
 * W_k = 2^(−w (n−1−k)) mod p, balanced. These products do not depend on each other, unlike those of a digit-by-digit reduction.
 * The last digit takes one true Montgomery step: q = −t · p^−1 mod 2^w (balanced), and q · p is added.
 * The result is in columns n..2n−1: a·b / 2^(w n), plus at most (n − 1) p/4 + p/2.
 */
import type { Bounds, FieldEmitter, ProductOptions, Value } from './field.ts'
import { balanced, inverseModulo } from './field.ts'
import type { Column, Digit } from './fma-columns.ts'
import { ColumnEmitter } from './fma-columns.ts'
import { digitPosition, packWords } from './packing.ts'
import type { FunctionBuilder, ModuleBuilder } from './wat.ts'
import { get, i32, i64 } from './wat.ts'

export interface FmaOptions {
  /**
   * Whether every finished column takes a detour through memory. V8 before 12 moves operations without side effects next to their use, and
   * loads of constants up to the last store, until registers run out; the stores keep it from mixing columns (1.5 times as fast there).
   */
  readonly fenced: boolean
}

const LIMIT = 2 ** 53
/** What |v| may exceed p/2 by after `tidy`: the quotient is rounded from the top 53 bits. */
const TIDY_BOUND = 0.51

/** Shuffles of two vectors: both lanes 0, both lanes 1. */
const LOW_HALVES = '0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23'
const HIGH_HALVES = '8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31'

export class FmaField implements FieldEmitter {
  readonly backend = 'fma'
  readonly lanes = 2
  readonly digitType = 'v128'
  readonly tidyBound: number = TIDY_BOUND
  readonly name: string
  readonly modulus: bigint
  readonly digits: number
  readonly digitBits: number
  readonly radix: bigint
  readonly blockBytes: number
  readonly elementBytes: number
  readonly bytes: number
  readonly #module: ModuleBuilder
  readonly #fenced: boolean
  readonly #p: readonly bigint[]

  constructor(
    module: ModuleBuilder,
    name: string,
    modulus: bigint,
    shape: { digits: number; digitBits: number },
    options: FmaOptions,
  ) {
    this.#module = module
    this.name = name
    this.modulus = modulus
    this.digits = shape.digits
    this.digitBits = shape.digitBits
    this.radix = 1n << BigInt(shape.digits * shape.digitBits)
    this.blockBytes = 16 * shape.digits
    this.elementBytes = 8 * shape.digits
    this.bytes = Math.ceil(modulus.toString(2).length / 64) * 8
    this.#fenced = options.fenced
    this.#p = this.#split(modulus)
  }

  constant(value: bigint): number {
    return this.#module.data(this.encode([value, value]))
  }

  encode(values: readonly bigint[]): Uint8Array {
    const doubles = new Float64Array(2 * this.digits)
    for (let lane = 0; lane < 2; lane++) {
      const digits = this.#split(values[lane % values.length] as bigint)
      digits.forEach((digit, i) => {
        doubles[2 * i + lane] = Number(digit)
      })
    }
    return new Uint8Array(doubles.buffer)
  }

  decode(block: Uint8Array): bigint[] {
    const doubles = new Float64Array(block.slice(0, this.blockBytes).buffer)
    return [0, 1].map((lane) => {
      let value = 0n
      for (let i = this.digits - 1; i >= 0; i--)
        value = (value << BigInt(this.digitBits)) + BigInt(doubles[2 * i + lane] as number)
      return value
    })
  }

  load(f: FunctionBuilder, address: string, offset = 0, { limb = 1, bound = 2.75 }: Bounds = {}): Value {
    const digits = Array.from({ length: this.digits }, (_, i) =>
      f.local('v128', `(v128.load offset=${offset + 16 * i} ${address})`),
    )
    return { digits, limb, bound }
  }

  store(f: FunctionBuilder, address: string, value: Value, offset = 0): void {
    value.digits.forEach((digit, i) => {
      f.do(`(v128.store offset=${offset + 16 * i} ${address} ${get(digit)})`)
    })
  }

  gather(
    f: FunctionBuilder,
    addresses: readonly string[],
    offset = 0,
    { limb = 1, bound = TIDY_BOUND }: Bounds = {},
  ): Value {
    const digits: string[] = []
    for (let i = 0; i < this.digits; i += 2) {
      const [first, second] = addresses.map((address) =>
        f.local('v128', `(v128.load offset=${offset + 8 * i} ${address})`),
      ) as [string, string]
      digits.push(f.local('v128', `(i8x16.shuffle ${LOW_HALVES} ${get(first)} ${get(second)})`))
      digits.push(f.local('v128', `(i8x16.shuffle ${HIGH_HALVES} ${get(first)} ${get(second)})`))
    }
    return { digits, limb, bound }
  }

  scatter(f: FunctionBuilder, addresses: readonly string[], value: Value, offset = 0): void {
    for (let i = 0; i < this.digits; i += 2) {
      const pair = `${get(value.digits[i] as string)} ${get(value.digits[i + 1] as string)}`
      f.do(`(v128.store offset=${offset + 8 * i} ${addresses[0]} (i8x16.shuffle ${LOW_HALVES} ${pair}))`)
      f.do(`(v128.store offset=${offset + 8 * i} ${addresses[1]} (i8x16.shuffle ${HIGH_HALVES} ${pair}))`)
    }
  }

  negateIf(f: FunctionBuilder, conditions: readonly string[], a: Value): Value {
    const sign = (condition: string): string => `(i64.shl (i64.extend_i32_u ${condition}) (i64.const 63))`
    const [first, second] = conditions as [string, string]
    const signs = f.local('v128', `(i64x2.replace_lane 1 (i64x2.splat ${sign(first)}) ${sign(second)})`)
    const digits = a.digits.map((digit) => f.local('v128', `(v128.xor ${get(digit)} ${get(signs)})`))
    return { ...a, digits }
  }

  select(f: FunctionBuilder, bits: string, a: Value, b: Value): Value {
    const mask = (bit: number): string =>
      `(i64.sub (i64.const 0) (i64.extend_i32_u (i32.and (i32.shr_u ${get(bits)} (i32.const ${bit})) (i32.const 1))))`
    const lanes = f.local('v128', `(i64x2.replace_lane 1 (i64x2.splat ${mask(0)}) ${mask(1)})`)
    const digits = a.digits.map((digit, i) =>
      f.local('v128', `(v128.bitselect ${get(digit)} ${get(b.digits[i] as string)} ${get(lanes)})`),
    )
    return { digits, limb: Math.max(a.limb, b.limb), bound: Math.max(a.bound, b.bound) }
  }

  add(f: FunctionBuilder, a: Value, b: Value): Value {
    const digits = a.digits.map((digit, i) =>
      f.local('v128', `(f64x2.add ${get(digit)} ${get(b.digits[i] as string)})`),
    )
    return { digits, limb: a.limb + b.limb, bound: a.bound + b.bound }
  }

  sub(f: FunctionBuilder, a: Value, b: Value): Value {
    const digits = a.digits.map((digit, i) =>
      f.local('v128', `(f64x2.sub ${get(digit)} ${get(b.digits[i] as string)})`),
    )
    return { digits, limb: a.limb + b.limb, bound: a.bound + b.bound }
  }

  neg(f: FunctionBuilder, a: Value): Value {
    const digits = a.digits.map((digit) => f.local('v128', `(f64x2.neg ${get(digit)})`))
    return { digits, limb: a.limb, bound: a.bound }
  }

  mul(f: FunctionBuilder, a: Value, b: Value, options?: ProductOptions): Value {
    return this.sum(f, [[a, b]], options)
  }

  sqr(f: FunctionBuilder, a: Value, options?: ProductOptions): Value {
    return this.sum(f, [[a, a]], options)
  }

  sum(f: FunctionBuilder, products: readonly (readonly [a: Value, b: Value])[], options: ProductOptions = {}): Value {
    // A larger e gives h more room and costs l precision; the usual one first.
    for (const e of [this.digitBits + 53, this.digitBits + 52]) {
      if (this.#product(undefined, e, products, options) !== undefined) {
        return this.#product(f, e, products, options) as Value
      }
    }
    const factors = products.map((pair) => pair.map(({ limb, bound }) => `limb ${limb} bound ${bound}`).join(' × '))
    throw new Error(`${this.name}: a product is not proven to be exact: ${factors.join(' + ')}`)
  }

  tidy(f: FunctionBuilder, a: Value): Value {
    const columns = a.digits.map((digit, i) => ({ h: undefined, l: digit, hBound: 0, lBound: this.#digitBound(a, i) }))
    // The columns are changed in place: work on copies, the operand stays as it is.
    const copies = columns.map((column) => ({ ...column, l: f.local('v128', get(column.l)) }))
    this.#subtractMultiple(f, copies)
    return this.#carry(f, copies, TIDY_BOUND)
  }

  isZero(f: FunctionBuilder, a: Value): string {
    // Balanced digits of 0 are all zero, and ±0 differ in the sign bit alone, which the comparison ignores.
    const any = f.local('v128', get(a.digits[0] as string))
    for (const digit of a.digits.slice(1)) {
      f.set(any, `(v128.or ${get(any)} ${get(digit)})`)
    }
    // The or of finite doubles could be anything but ±0 only if one of them has a bit besides the sign.
    return `(i64x2.bitmask (i64x2.eq (i64x2.shl ${get(any)} (i32.const 1)) (v128.const i64x2 0 0)))`
  }

  importBytes(f: FunctionBuilder, addresses: readonly string[]): Value {
    const w = this.digitBits
    const digits = Array.from({ length: this.digits }, (_, i) => {
      const [byte, shift] = digitPosition(i, w, this.bytes)
      const mask = (1n << BigInt(w)) - 1n
      const lane = (address: string): string =>
        `(f64.convert_i64_s (i64.and (i64.shr_u (i64.load offset=${byte} align=1 ${address}) ${i64(shift)}) ${i64(mask)}))`
      return f.local(
        'v128',
        `(f64x2.replace_lane 1 (f64x2.splat ${lane(addresses[0] as string)}) ${lane(addresses[1] as string)})`,
      )
    })
    const value = 1n << BigInt(8 * this.bytes)
    return { digits, limb: 2, bound: ratio(value, this.modulus) }
  }

  exportBytes(f: FunctionBuilder, value: Value, addresses: readonly string[]): void {
    addresses.forEach((address, lane) => {
      const w = BigInt(this.digitBits)
      // Sign of the value: the sign of its highest digit that is not 0; found by carrying in integers.
      const digits = value.digits.map((digit) =>
        f.local('i64', `(i64.trunc_sat_f64_s (f64x2.extract_lane ${lane} ${get(digit)}))`),
      )
      this.#carryIntegers(f, digits, w)
      f.if(`(i64.lt_s ${get(digits.at(-1) as string)} (i64.const 0))`, () => {
        digits.forEach((digit, i) => {
          f.set(digit, `(i64.add ${get(digit)} ${i64(this.#p[i] as bigint)})`)
        })
        this.#carryIntegers(f, digits, w)
      })
      packWords(f, digits, this.digitBits, this.bytes, address)
    })
  }

  /** In integers: brings all digits but the top one to [0, 2^w). */
  #carryIntegers(f: FunctionBuilder, digits: readonly string[], w: bigint): void {
    const mask = (1n << w) - 1n
    for (let i = 0; i + 1 < digits.length; i++) {
      const [digit, next] = [digits[i] as string, digits[i + 1] as string]
      f.set(next, `(i64.add ${get(next)} (i64.shr_s ${get(digit)} ${i64(w)}))`)
      f.set(digit, `(i64.and ${get(digit)} ${i64(mask)})`)
    }
  }

  /** Balanced digits, the top one with the rest. */
  #split(value: bigint): bigint[] {
    const w = BigInt(this.digitBits)
    const digits: bigint[] = []
    let rest = value
    for (let i = 0; i < this.digits - 1; i++) {
      const digit = balanced(rest, 1n << w)
      digits.push(digit)
      rest = (rest - digit) >> w
    }
    digits.push(rest)
    return digits
  }

  #splat(value: number): string {
    return `(v128.load ${i32(this.#module.data(new Uint8Array(new Float64Array([value, value]).buffer)))})`
  }

  #digitBound(value: Value, i: number): number {
    const half = 2 ** (this.digitBits - 1)
    if (i < this.digits - 1) return value.limb * half
    return value.bound * ratio(this.modulus, 1n << BigInt(this.digitBits * (this.digits - 1))) + value.limb
  }

  #constantDigits(value: bigint): Digit[] {
    return this.#split(value).map((digit) => ({
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
    const n = this.digits
    const w = this.digitBits
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
    const modulus = this.#constantDigits(this.modulus)
    const pInverse = balanced(inverseModulo(this.modulus, 1n << BigInt(w)), 1n << BigInt(w))
    const half = 2 ** (w - 1)

    // Columns 0..n-2, two at a time, then all their digits at once.
    for (let k = 0; k < n - 1; k += 2) emit.accumulate(columns, terms, k, Math.min(k + 1, n - 2))
    const carries: (string | undefined)[] = []
    for (let k = 0; k < n - 1; k++) carries.push(emit.carryOf(columns[k] as Column))
    for (let k = 0; k < n - 1; k++) {
      const t = emit.digitOf(columns[k] as Column, carries[k], k > 0 ? carries[k - 1] : undefined)
      const factor = this.#constantDigits(
        balanced(inverseModulo(1n << BigInt(w * (n - 1 - k)), this.modulus), this.modulus),
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
    for (const [a, b] of products) bound += a.bound * b.bound * ratio(this.modulus, this.radix)
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
    const n = this.digits
    const top = 2 ** (this.digitBits * (n - 1))
    const inverse = top / Number(this.modulus)
    const [high, low] = [columns[n - 1]?.l as string, columns[n - 2]?.l as string]
    const sum = `(f64x2.relaxed_madd ${get(low)} ${this.#splat(2 ** -this.digitBits)} ${get(high)})`
    const m = f.local('v128', `(f64x2.nearest (f64x2.mul ${sum} ${this.#splat(inverse)}))`)
    columns.forEach((column, i) => {
      const l = column.l as string
      f.set(l, `(f64x2.relaxed_nmadd ${get(m)} ${this.#splat(Number(this.#p[i]))} ${get(l)})`)
    })
  }

  /** The serial carry chain that normalises; returns new locals. */
  #carry(f: FunctionBuilder, columns: readonly Column[], bound: number): Value {
    const k = this.#splat(1.5 * 2 ** (52 + this.digitBits))
    const down = this.#splat(2 ** -this.digitBits)
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

function ratio(a: bigint, b: bigint): number {
  return Number((a << 64n) / b) / 2 ** 64
}
