/**
 * A prime field as shaders hold it: n balanced digits of 14 bits, value = Σ d_i · 2^(14 i), d_i in [−8192, 8191] or a
 * little past it, the top digit takes the rest; values may be negative. Montgomery factor R = 2^(14 n).
 *
 * WGSL has neither a carry flag, nor 64-bit integers, nor the high half of a product. With signed 14-bit digits up to
 * 31 products of two digits (each at most 2^26) fit an i32 column, so a whole product is summed by columns without one
 * carry, and a subtraction is limb-wise, without a multiple of p.
 *
 * Packed, an element takes `words` u32: digits biased by 8192 side by side, 14 bits each, and the top digit biased by
 * `topBias` in the bits that remain. Unsigned integers ("plain" below) are little-endian words.
 */
export interface DigitField {
  /** Prefix of WGSL names: `fq`, `fr`. */
  readonly name: string
  readonly modulus: bigint
  readonly digits: number
  readonly words: number
}

/** Bits of a digit: two of them make products of which 31 fit 32 bits. */
export const DIGIT_BITS = 14
const HALF = 8192

/** The field of coordinates, modulo p. */
export const FQ: DigitField = {
  name: 'fq',
  modulus: 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn,
  digits: 28,
  words: 12,
}

/** The field of scalars, modulo r. */
export const FR: DigitField = {
  name: 'fr',
  modulus: 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n,
  digits: 19,
  words: 8,
}

/** Bits of the packed form that the top digit takes: 6 for Fq, 4 for Fr. */
export const topBits = (field: DigitField): number => 32 * field.words - DIGIT_BITS * (field.digits - 1)

/** What is added to the top digit when it is packed. */
export const topBias = (field: DigitField): number => 2 ** (topBits(field) - 1)

/** R = 2^(14 n). */
export const montgomeryFactor = (field: DigitField): bigint => 1n << BigInt(DIGIT_BITS * field.digits)

/** The residue in [0, modulus). */
export const mod = (value: bigint, modulus: bigint): bigint => ((value % modulus) + modulus) % modulus

/** The representative of a residue in [−p/2, p/2). */
export function balanced(value: bigint, modulus: bigint): bigint {
  const residue = mod(value, modulus)
  return 2n * residue >= modulus ? residue - modulus : residue
}

/** Balanced digits of any value that the digits can hold. */
export function toDigits(value: bigint, count: number): number[] {
  const digits: number[] = []
  let rest = value
  for (let i = 0; i < count - 1; i++) {
    const digit = Number(BigInt.asIntN(DIGIT_BITS, rest))
    digits.push(digit)
    rest = (rest - BigInt(digit)) >> BigInt(DIGIT_BITS)
  }
  digits.push(Number(rest))
  return digits
}

/** The packed form of a value as it stands (not multiplied by R). */
export function packDigits(value: bigint, field: DigitField): Uint32Array {
  const digits = toDigits(value, field.digits)
  let bits = 0n
  for (let i = field.digits - 1; i >= 0; i--) {
    const bias = i === field.digits - 1 ? topBias(field) : HALF
    bits = (bits << BigInt(DIGIT_BITS)) | BigInt((digits[i] as number) + bias)
  }
  const words = new Uint32Array(field.words)
  for (let i = 0; i < field.words; i++) words[i] = Number((bits >> BigInt(32 * i)) & 0xffff_ffffn)
  return words
}

/** The inverse of {@link packDigits}. */
export function unpackDigits(words: Uint32Array, field: DigitField): bigint {
  let bits = 0n
  for (let i = field.words - 1; i >= 0; i--) bits = (bits << 32n) | BigInt(words[i] as number)
  let bias = BigInt(topBias(field))
  for (let i = field.digits - 2; i >= 0; i--) bias = (bias << BigInt(DIGIT_BITS)) + BigInt(HALF)
  return bits - bias
}

/** Packed Montgomery form of a residue. */
export const packMontgomery = (value: bigint, field: DigitField): Uint32Array =>
  packDigits(balanced(value * montgomeryFactor(field), field.modulus), field)

/** Packed Montgomery forms of residues, one behind the other. */
export function packMontgomeryAll(values: readonly bigint[], field: DigitField): Uint32Array {
  const words = new Uint32Array(values.length * field.words)
  for (const [i, value] of values.entries()) words.set(packMontgomery(value, field), i * field.words)
  return words
}

/** Inverse of a modulo m, for a prime m. */
export function invert(a: bigint, modulus: bigint): bigint {
  let [r0, r1] = [modulus, mod(a, modulus)]
  let [t0, t1] = [0n, 1n]
  while (r1 !== 0n) {
    const quotient = r0 / r1
    ;[r0, r1] = [r1, r0 - quotient * r1]
    ;[t0, t1] = [t1, t0 - quotient * t1]
  }
  return mod(t0, modulus)
}

/** The residue that packed Montgomery words stand for, in [0, p). */
export const unpackMontgomery = (words: Uint32Array, field: DigitField): bigint =>
  mod(unpackDigits(words, field) * invert(montgomeryFactor(field), field.modulus), field.modulus)
