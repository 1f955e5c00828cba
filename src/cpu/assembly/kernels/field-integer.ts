/**
 * Field arithmetic in 64-bit integers, for engines without fused multiply-add: value = Σ v_i · 2^(w i) with 0 ≤ v_i <
 * 2^w. Fq has 13 digits of w = 30 bits, Fr 9 of 29. Values are not negative and stay below a small multiple of p; p
 * leaves room for that above it (Fq 2^9.3, Fr 2^6.1), so nothing is compared or conditionally subtracted between
 * products.
 *
 * Products are taken row by row (Montgomery's interleaved form): t += a_i · b, q = t_0 · (−p^−1) mod 2^w, t = (t + q ·
 * p) / 2^w. A row adds less than 2^(2w) to each column for each product and for q · p; the columns are swept (carried)
 * whenever 2^64 would be in reach.
 */
import type { Bounds, FieldEmitter, ProductOptions, Value } from './field.ts'
import { inverseModulo } from './field.ts'
import { digitPosition, packWords } from './packing.ts'
import type { FunctionBuilder, ModuleBuilder } from './wat.ts'
import { get, i64 } from './wat.ts'

/** `tidy` subtracts floor(v / p) at a precision that leaves at most this (times p). */
const TIDY_BOUND = 1.01

export class IntegerField implements FieldEmitter {
  readonly backend = 'integer'
  readonly lanes = 1
  readonly digitType = 'i64'
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
  readonly #mask: bigint

  constructor(
    module: ModuleBuilder,
    name: string,
    modulus: bigint,
    shape: { digits: number; digitBits: number; blockBytes: number },
  ) {
    this.#module = module
    this.name = name
    this.modulus = modulus
    this.digits = shape.digits
    this.digitBits = shape.digitBits
    this.radix = 1n << BigInt(shape.digits * shape.digitBits)
    this.blockBytes = shape.blockBytes
    this.elementBytes = shape.blockBytes
    this.bytes = Math.ceil(modulus.toString(2).length / 64) * 8
    this.#mask = (1n << BigInt(shape.digitBits)) - 1n
  }

  constant(value: bigint): number {
    return this.#module.data(this.encode([value]))
  }

  encode(values: readonly bigint[]): Uint8Array {
    const words = new Uint32Array(this.blockBytes / 4)
    words.set(this.#split(values[0] as bigint).map(Number))
    return new Uint8Array(words.buffer)
  }

  decode(block: Uint8Array): bigint[] {
    const words = new Uint32Array(block.slice(0, this.blockBytes).buffer)
    let value = 0n
    for (let i = this.digits - 1; i >= 0; i--) value = (value << BigInt(this.digitBits)) + BigInt(words[i] as number)
    return [value]
  }

  load(f: FunctionBuilder, address: string, offset = 0, { bound = 2.75 }: Bounds = {}): Value {
    const digits = Array.from({ length: this.digits }, (_, i) =>
      f.local('i64', `(i64.load32_u offset=${offset + 4 * i} ${address})`),
    )
    return { digits, limb: 1, bound }
  }

  store(f: FunctionBuilder, address: string, value: Value, offset = 0): void {
    value.digits.forEach((digit, i) => {
      f.do(`(i64.store32 offset=${offset + 4 * i} ${address} ${get(digit)})`)
    })
  }

  gather(f: FunctionBuilder, addresses: readonly string[], offset = 0, { bound = TIDY_BOUND }: Bounds = {}): Value {
    return this.load(f, addresses[0] as string, offset, { bound })
  }

  scatter(f: FunctionBuilder, addresses: readonly string[], value: Value, offset = 0): void {
    this.store(f, addresses[0] as string, value, offset)
  }

  negateIf(f: FunctionBuilder, conditions: readonly string[], a: Value): Value {
    const bits = f.local('i32', conditions[0] as string)
    return this.select(f, bits, this.neg(f, a), a)
  }

  select(f: FunctionBuilder, bits: string, a: Value, b: Value): Value {
    const digits = a.digits.map((digit, i) =>
      f.local('i64', `(select ${get(digit)} ${get(b.digits[i] as string)} (i32.and ${get(bits)} (i32.const 1)))`),
    )
    return { digits, limb: 1, bound: Math.max(a.bound, b.bound) }
  }

  add(f: FunctionBuilder, a: Value, b: Value): Value {
    const sums = a.digits.map((digit, i) => `(i64.add ${get(digit)} ${get(b.digits[i] as string)})`)
    return this.#sweep(f, sums, a.bound + b.bound)
  }

  sub(f: FunctionBuilder, a: Value, b: Value): Value {
    const multiple = this.#split(BigInt(Math.ceil(b.bound)) * this.modulus)
    const sums = a.digits.map(
      (digit, i) => `(i64.sub (i64.add ${get(digit)} ${i64(multiple[i] as bigint)}) ${get(b.digits[i] as string)})`,
    )
    return this.#sweep(f, sums, a.bound + Math.ceil(b.bound))
  }

  neg(f: FunctionBuilder, a: Value): Value {
    const multiple = this.#split(BigInt(Math.ceil(a.bound)) * this.modulus)
    const sums = a.digits.map((digit, i) => `(i64.sub ${i64(multiple[i] as bigint)} ${get(digit)})`)
    return this.#sweep(f, sums, Math.ceil(a.bound))
  }

  mul(f: FunctionBuilder, a: Value, b: Value, options?: ProductOptions): Value {
    return this.sum(f, [[a, b]], options)
  }

  sqr(f: FunctionBuilder, a: Value, options?: ProductOptions): Value {
    return this.sum(f, [[a, a]], options)
  }

  sum(
    f: FunctionBuilder,
    products: readonly (readonly [a: Value, b: Value])[],
    { addend, tidy = false }: ProductOptions = {},
  ): Value {
    const { digits: n, digitBits: w } = this
    const p = this.#split(this.modulus)
    const negativeInverse = (1n << BigInt(w)) - inverseModulo(this.modulus, 1n << BigInt(w))
    let bound = 1 + (addend?.bound ?? 0)
    for (const [a, b] of products) bound += (a.bound * b.bound * Number(this.modulus)) / Number(this.radix)
    if (bound * Number(this.modulus) >= Number(this.radix) / 2) {
      throw new Error(`${this.name}: a product of ${bound} times the modulus does not fit`)
    }
    // One row adds `products` + 1 times less than 2^(2w); after a sweep less than 2^w remains, but for the top column.
    const rowsBetweenSweeps = Math.floor((2 ** (64 - 2 * w) - 1) / (products.length + 1))
    const t = Array.from({ length: n }, () => f.local('i64'))
    let rows = 0
    for (let i = 0; i < n; i++) {
      if (rows === rowsBetweenSweeps) {
        for (let j = 0; j + 1 < n; j++) this.#carry(f, t[j] as string, t[j + 1] as string, 'u')
        rows = 0
      }
      rows++
      const term = (j: number): string[] =>
        products.map(([a, b]) => `(i64.mul ${get(a.digits[i] as string)} ${get(b.digits[j] as string)})`)
      const first = [...(i > 0 ? [get(t[0] as string)] : []), ...term(0)]
      const t0 = f.local('i64', total(first))
      const q = f.local('i64', `(i64.and (i64.mul ${get(t0)} ${i64(negativeInverse)}) ${i64(this.#mask)})`)
      const carry = `(i64.shr_u (i64.add ${get(t0)} (i64.mul ${get(q)} ${i64(p[0] as bigint)})) ${i64(w)})`
      for (let j = 1; j < n; j++) {
        const parts = [
          ...(i > 0 ? [get(t[j] as string)] : []),
          ...term(j),
          `(i64.mul ${get(q)} ${i64(p[j] as bigint)})`,
        ]
        if (j === 1) parts.push(carry)
        f.set(t[j - 1] as string, total(parts))
      }
      f.set(t[n - 1] as string, i64(0))
    }
    const sums = t.map((digit, i) =>
      addend === undefined ? get(digit) : `(i64.add ${get(digit)} ${get(addend.digits[i] as string)})`,
    )
    const value = this.#sweep(f, sums, bound, 'u')
    return tidy ? this.tidy(f, value) : value
  }

  tidy(f: FunctionBuilder, a: Value): Value {
    const n = this.digits
    const p = this.#split(this.modulus)
    // m = floor(v_top / (p_top + 1)) by a reciprocal: never above v / p, and less than 1.01 below it.
    const pTop = p[n - 1] as bigint
    const reciprocal = (1n << 32n) / (pTop + 1n)
    const m = f.local(
      'i64',
      `(i64.shr_u (i64.mul ${get(a.digits[n - 1] as string)} ${i64(reciprocal)}) (i64.const 32))`,
    )
    const sums = a.digits.map((digit, i) => `(i64.sub ${get(digit)} (i64.mul ${get(m)} ${i64(p[i] as bigint)}))`)
    return this.#sweep(f, sums, TIDY_BOUND)
  }

  isZero(f: FunctionBuilder, a: Value): string {
    // Below 1.01 p the multiples of p are 0 and p.
    const p = this.#split(this.modulus)
    const zero = f.local(
      'i64',
      a.digits.map(get).reduce((x, y) => `(i64.or ${x} ${y})`),
    )
    const differences = a.digits.map((digit, i) => `(i64.xor ${get(digit)} ${i64(p[i] as bigint)})`)
    const same = f.local(
      'i64',
      differences.reduce((x, y) => `(i64.or ${x} ${y})`),
    )
    return `(i32.or (i64.eqz ${get(zero)}) (i64.eqz ${get(same)}))`
  }

  importBytes(f: FunctionBuilder, addresses: readonly string[]): Value {
    const digits = Array.from({ length: this.digits }, (_, i) => {
      const [byte, shift] = digitPosition(i, this.digitBits, this.bytes)
      if (shift >= 64) return f.local('i64', i64(0))
      const word = `(i64.load offset=${byte} align=1 ${addresses[0] as string})`
      return f.local('i64', `(i64.and (i64.shr_u ${word} ${i64(shift)}) ${i64(this.#mask)})`)
    })
    return { digits, limb: 1, bound: Number(1n << BigInt(8 * this.bytes)) / Number(this.modulus) }
  }

  exportBytes(f: FunctionBuilder, value: Value, addresses: readonly string[]): void {
    const p = this.#split(this.modulus)
    const sums = value.digits.map((digit, i) => `(i64.sub ${get(digit)} ${i64(p[i] as bigint)})`)
    const reduced = this.#sweep(f, sums, 1)
    const negative = f.local('i32', `(i64.lt_s ${get(reduced.digits.at(-1) as string)} (i64.const 0))`)
    const digits = value.digits.map((digit, i) =>
      f.local('i64', `(select ${get(digit)} ${get(reduced.digits[i] as string)} ${get(negative)})`),
    )
    packWords(f, digits, this.digitBits, this.bytes, addresses[0] as string)
  }

  #split(value: bigint): bigint[] {
    return Array.from({ length: this.digits }, (_, i) => (value >> BigInt(i * this.digitBits)) & this.#mask)
  }

  #carry(f: FunctionBuilder, digit: string, next: string, sign: 's' | 'u'): void {
    f.set(next, `(i64.add ${get(next)} (i64.shr_${sign} ${get(digit)} ${i64(this.digitBits)}))`)
    f.set(digit, `(i64.and ${get(digit)} ${i64(this.#mask)})`)
  }

  /** Normalises: every digit but the top one to [0, 2^w). */
  #sweep(f: FunctionBuilder, sums: readonly string[], bound: number, sign: 's' | 'u' = 's'): Value {
    const digits: string[] = []
    let carry = ''
    sums.forEach((sum, i) => {
      const whole = f.local('i64', carry === '' ? sum : `(i64.add ${sum} ${carry})`)
      if (i === sums.length - 1) digits.push(whole)
      else {
        digits.push(f.local('i64', `(i64.and ${get(whole)} ${i64(this.#mask)})`))
        carry = `(i64.shr_${sign} ${get(whole)} ${i64(this.digitBits)})`
      }
    })
    return { digits, limb: 1, bound }
  }
}

function total(parts: readonly string[]): string {
  return parts.reduce((a, b) => `(i64.add ${a} ${b})`)
}
