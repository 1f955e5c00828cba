/**
 * The scalar field Fr of BLS12-381 on bigints: the reference for the kernels, and what recording a circuit computes
 * with. Elements are canonical integers 0 ≤ x < r unless a function says otherwise.
 */

/** r, the order of the groups G1 and G2: a prime of 255 bits. */
export const FR_MODULUS: bigint = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n

/** Bits of r. Every integer of 254 bits is a canonical element. */
export const FR_BITS = 255

/** Length of an element at rest. */
export const FR_BYTES = 32

/** Reduces any integer, also a negative one, to its canonical representative. */
export function frReduce(x: bigint): bigint {
  const remainder = x % FR_MODULUS
  return remainder < 0n ? remainder + FR_MODULUS : remainder
}

/** a + b. */
export function frAdd(a: bigint, b: bigint): bigint {
  const sum = a + b
  return sum >= FR_MODULUS ? sum - FR_MODULUS : sum
}

/** a − b. */
export function frSub(a: bigint, b: bigint): bigint {
  const difference = a - b
  return difference < 0n ? difference + FR_MODULUS : difference
}

/** −a. */
export function frNeg(a: bigint): bigint {
  return a === 0n ? 0n : FR_MODULUS - a
}

/** a · b. */
export function frMul(a: bigint, b: bigint): bigint {
  return (a * b) % FR_MODULUS
}

/** base^exponent for exponent ≥ 0, by squaring. */
export function frPow(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = frMul(result, square)
    square = frMul(square, square)
  }
  return result
}

/**
 * 1 / a by the extended Euclidean algorithm.
 * @throws {RangeError} a is 0
 */
export function frInv(a: bigint): bigint {
  if (a === 0n) throw new RangeError('0 has no inverse in Fr')
  // Invariant: r0 ≡ s0 · a and r1 ≡ s1 · a (mod r).
  let [r0, r1] = [FR_MODULUS, a]
  let [s0, s1] = [0n, 1n]
  while (r1 !== 0n) {
    const quotient = r0 / r1
    ;[r0, r1] = [r1, r0 - quotient * r1]
    ;[s0, s1] = [s1, s0 - quotient * s1]
  }
  return s0 < 0n ? s0 + FR_MODULUS : s0
}

/**
 * Inverts many elements with a single {@link frInv} (Montgomery's trick: prefix products, then backwards).
 * @throws {RangeError} one of them is 0
 */
export function frInvBatch(elements: readonly bigint[]): bigint[] {
  const prefixes: bigint[] = []
  let product = 1n
  for (const element of elements) {
    prefixes.push(product)
    product = frMul(product, element)
  }
  let inverse = frInv(product)
  const inverses = new Array<bigint>(elements.length)
  for (let i = elements.length - 1; i >= 0; i--) {
    inverses[i] = frMul(inverse, prefixes[i] as bigint)
    inverse = frMul(inverse, elements[i] as bigint)
  }
  return inverses
}

/**
 * Reads 32 little-endian bytes as an integer, which may be r or more: see {@link frFromBytes} for the checked form.
 * @param offset where the element begins
 */
export function integerFromBytes(bytes: Uint8Array, offset = 0): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, FR_BYTES)
  return (
    (view.getBigUint64(24, true) << 192n) |
    (view.getBigUint64(16, true) << 128n) |
    (view.getBigUint64(8, true) << 64n) |
    view.getBigUint64(0, true)
  )
}

/**
 * Reads a canonical element, 32 bytes little-endian.
 * @throws {RangeError} the integer is not below r
 */
export function frFromBytes(bytes: Uint8Array, offset = 0): bigint {
  const value = integerFromBytes(bytes, offset)
  if (value >= FR_MODULUS) throw new RangeError(`not a canonical element of Fr: 0x${value.toString(16)}`)
  return value
}

/** Writes an integer below 2^256 as 32 bytes, little-endian, into `out`. */
export function frWriteBytes(value: bigint, out: Uint8Array, offset = 0): void {
  const view = new DataView(out.buffer, out.byteOffset + offset, FR_BYTES)
  for (let word = 0; word < 4; word++) view.setBigUint64(8 * word, BigInt.asUintN(64, value >> BigInt(64 * word)), true)
}

/** 32 bytes, little-endian. */
export function frToBytes(value: bigint): Uint8Array {
  const bytes = new Uint8Array(FR_BYTES)
  frWriteBytes(value, bytes)
  return bytes
}
