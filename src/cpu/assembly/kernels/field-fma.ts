/**
 * Field arithmetic in doubles with fused multiply-add: value = Σ v_i · 2^(w i), two numbers at a time in the lanes of
 * f64x2. Fq has 8 digits of w = 48 bits, Fr 6 of 44. Digits are integers, balanced (|v_i| ≤ 2^(w−1)) when normalised,
 * the top digit takes the rest; values may be negative, so sums and differences are digit-wise.
 *
 * Products and what normalises them are in fma-product.ts; here is all that goes digit by digit, and the way in and
 * out.
 */
import type { Bounds, FieldEmitter, ProductOptions, Value } from './field.ts'
import { balancedDigits, FmaProducts, ratio, TIDY_BOUND } from './fma-product.ts'
import { digitPosition, packWords } from './packing.ts'
import type { FunctionBuilder, ModuleBuilder } from './wat.ts'
import { get, i32, i64 } from './wat.ts'

export interface FmaOptions {
  /**
   * Whether every finished column takes a detour through memory. V8 before 12 moves operations without side effects
   * next to their use, and loads of constants up to the last store, until registers run out; the stores keep it from
   * mixing columns (1.5 times as fast there).
   */
  readonly fenced: boolean
}

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
  readonly #p: readonly bigint[]
  readonly #products: FmaProducts

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
    this.#p = balancedDigits(this, modulus)
    const splat = (value: number): string => `(v128.load ${i32(module.data(bothLanes(value)))})`
    this.#products = new FmaProducts(this, splat, options.fenced)
  }

  constant(value: bigint): number {
    return this.#module.data(this.encode([value, value]))
  }

  encode(values: readonly bigint[]): Uint8Array {
    const doubles = new Float64Array(2 * this.digits)
    for (let lane = 0; lane < 2; lane++) {
      const digits = balancedDigits(this, values[lane % values.length] as bigint)
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

  sum(f: FunctionBuilder, products: readonly (readonly [a: Value, b: Value])[], options?: ProductOptions): Value {
    return this.#products.sum(f, products, options)
  }

  tidy(f: FunctionBuilder, a: Value): Value {
    return this.#products.tidy(f, a)
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
}

const bothLanes = (value: number): Uint8Array => new Uint8Array(new Float64Array([value, value]).buffer)
