/**
 * The interface between field arithmetic and the kernels built on it (curves, transforms).
 *
 * A kernel is written once against {@link FieldEmitter}; a module is generated for each of its two implementations:
 * - `FmaField` (field-fma.ts): digits are doubles, `lanes` = 2 unrelated numbers in the two halves of a vector, values
 *   may be negative, digits of sums and differences are left unnormalised;
 * - `IntegerField` (field-integer.ts): digits are i64 locals, one number (`lanes` = 1), values are not negative, digits
 *   are always normalised, a difference has a multiple of the modulus added.
 *
 * In memory one *block* holds `lanes` field elements in `blockBytes` (FMA: digit i of lane j is the double at 16 i + 8
 * j; integers: digit i is the u32 at 4 i). `blockBytes / lanes` = `elementBytes` is 64 for Fq and 48 for Fr in both.
 * Elements are in Montgomery form (times {@link FieldEmitter.radix}) where products of two of them are taken; a product
 * of a Montgomery form and a plain value is plain.
 *
 * A {@link Value} in locals carries proven bounds of its digits and its size; `mul` refuses (while generating) operands
 * for which exactness is not proven. Rules that always pass:
 * - *normalised* = what `mul`, `sqr`, `sum` and `tidy` return, constants, and what was stored so;
 * - a sum or difference of two normalised values may be multiplied by another such, and by a normalised value;
 * - `tidy` (also as an option of products) brings a value to |v| ≤ 0.51 p (FMA) or v < 1.01 p (integers); without it a
 *   product is up to |a||b|/R + 2.25 p (FMA) or ab/R + p (integers).
 * Loads assume normalised and `bound` ≤ 2.75 unless told otherwise.
 *
 * Memory-level functions, exported as `<field>_<operation>` (addresses of blocks; `out` may equal an input):
 * `mul(out, a, b)`, `sqr(out, a)`, `add(out, a, b)`, `sub(out, a, b)`, `neg(out, a)`, all tidy in and out;
 * `tidy(out, a)`; `inv(out, a)` (0 for 0); `is_zero(a)` → bit j set if lane j is 0 modulo p; `to_mont(out, a)`,
 * `from_mont(out, a)`; `import(out, a0[, a1])` plain little-endian bytes (`bytes` each, one address a lane) → plain
 * digits; `export(a, out0[, out1])` any digits → canonical plain little-endian bytes.
 */
import type { FunctionBuilder, WasmType } from './wat.ts'

/** A field element (one a lane) in locals, digit 0 least significant. */
export interface Value {
  readonly digits: readonly string[]
  /** FMA: |digit| ≤ limb · 2^(digitBits − 1), but for the top digit, which `bound` bounds. Integers: 1. */
  readonly limb: number
  /** |v| (FMA) or v (integers) is at most bound · modulus. */
  readonly bound: number
}

export interface Bounds {
  readonly limb?: number
  readonly bound?: number
}

export interface ProductOptions {
  /** Added to the product, with the digits it has (no reduction of its own). */
  readonly addend?: Value | undefined
  readonly tidy?: boolean | undefined
}

/** Emits arithmetic on values in locals. Implementations add their constants to the module as they need them. */
export interface FieldEmitter {
  readonly name: string
  readonly modulus: bigint
  readonly backend: 'fma' | 'integer'
  readonly lanes: 1 | 2
  readonly digits: number
  readonly digitBits: number
  /** Montgomery factor R = 2^(digits · digitBits). */
  readonly radix: bigint
  readonly blockBytes: number
  readonly elementBytes: number
  /** Of the plain encoding: 48 or 32. */
  readonly bytes: number
  readonly digitType: WasmType
  /** Bound of a tidy value. */
  readonly tidyBound: number

  /**
   * Address of a block that holds `value` as it is (pass `value · radix mod p` for its Montgomery form) in every lane.
   */
  constant(value: bigint): number
  /** The bytes of one block with the given plain integers, for tests and tables. */
  encode(values: readonly bigint[]): Uint8Array
  /** Plain integers (any representative) of a block. */
  decode(block: Uint8Array): bigint[]

  load(f: FunctionBuilder, address: string, offset?: number, bounds?: Bounds): Value
  store(f: FunctionBuilder, address: string, value: Value, offset?: number): void

  /**
   * Loads one element a lane from elements that lie by themselves (digits adjacent, `elementBytes` each): points,
   * tables.
   */
  gather(f: FunctionBuilder, addresses: readonly string[], offset?: number, bounds?: Bounds): Value
  scatter(f: FunctionBuilder, addresses: readonly string[], value: Value, offset?: number): void
  /** −a in the lanes whose condition (i32, 0 or 1) is 1, a in the others. */
  negateIf(f: FunctionBuilder, conditions: readonly string[], a: Value): Value
  /** `a` in the lanes whose bit in `bits` (an i32 local) is set, `b` in the others. */
  select(f: FunctionBuilder, bits: string, a: Value, b: Value): Value

  add(f: FunctionBuilder, a: Value, b: Value): Value
  sub(f: FunctionBuilder, a: Value, b: Value): Value
  neg(f: FunctionBuilder, a: Value): Value
  /** The sum of one or two products, with one reduction, divided by R. */
  sum(f: FunctionBuilder, products: readonly (readonly [a: Value, b: Value])[], options?: ProductOptions): Value
  mul(f: FunctionBuilder, a: Value, b: Value, options?: ProductOptions): Value
  sqr(f: FunctionBuilder, a: Value, options?: ProductOptions): Value
  tidy(f: FunctionBuilder, a: Value): Value
  /** An i32 expression of a tidy value: bit j is set if lane j is 0. */
  isZero(f: FunctionBuilder, a: Value): string

  /** Plain little-endian integers (one address a lane), below 2^(8 · bytes), as digits. */
  importBytes(f: FunctionBuilder, addresses: readonly string[]): Value
  /** Writes the canonical plain integer of each lane of a tidy value. */
  exportBytes(f: FunctionBuilder, value: Value, addresses: readonly string[]): void
}

export const FQ_MODULUS: bigint =
  0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn
export const FR_MODULUS: bigint = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n

export function modulo(value: bigint, modulus: bigint): bigint {
  const remainder = value % modulus
  return remainder < 0n ? remainder + modulus : remainder
}

/** The representative of `value` in (−m/2, m/2]. */
export function balanced(value: bigint, modulus: bigint): bigint {
  const remainder = modulo(value, modulus)
  return remainder > modulus / 2n ? remainder - modulus : remainder
}

/** Inverse by the extended Euclidean algorithm; for constants. */
export function inverseModulo(value: bigint, modulus: bigint): bigint {
  let [r0, r1] = [modulus, modulo(value, modulus)]
  let [t0, t1] = [0n, 1n]
  while (r1 !== 0n) {
    const q = r0 / r1
    ;[r0, r1] = [r1, r0 - q * r1]
    ;[t0, t1] = [t1, t0 - q * t1]
  }
  if (r0 !== 1n) throw new Error('The value has no inverse')
  return modulo(t0, modulus)
}
