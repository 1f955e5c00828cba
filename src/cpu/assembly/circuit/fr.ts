/** Multiplication and inversion modulo r, of scalars in bytes and in limb records (see `columns.ts`). */
import { isZeroBytes, W0, W1, W2, W3 } from './bytes'
import { addPlain, addProductBytes, clearColumns, MASK, setProduct, setSquare } from './columns'
import { reduceToBytes, reduceToLimbs } from './reduce'
import { columns, LIMBS, squareOfR, temporary } from './scratch'

/** limbs(out) = limbs(a) · limbs(b) / R. */
export function multiply(out: usize, a: usize, b: usize): void {
  setProduct(a, b)
  reduceToLimbs(out)
}

/** limbs(out) = limbs(a)² / R. */
export function square(out: usize, a: usize): void {
  setSquare(a)
  reduceToLimbs(out)
}

/** limbs(out) = limbs(a) · limbs(b) / R + limbs(c). */
export function multiplyAdd(out: usize, a: usize, b: usize, c: usize): void {
  setProduct(a, b)
  addPlain(c)
  reduceToLimbs(out)
}

/** bytes(out) = limbs(a) · bytes(b) / R: a plain product if a is in Montgomery form. */
export function multiplyBytes(out: usize, a: usize, b: usize): void {
  clearColumns()
  addProductBytes(a, b)
  reduceToBytes(out)
}

/** limbs(out) = bytes(a) · R. */
export function toMontgomery(out: usize, a: usize): void {
  clearColumns()
  addProductBytes(squareOfR, a)
  reduceToLimbs(out)
}

/** bytes(out) = limbs(a) / R, canonical. */
export function fromMontgomery(out: usize, a: usize): void {
  const c = columns
  store<u64>(c, load<u32>(a, 0), 0)
  store<u64>(c, load<u32>(a, 4), 8)
  store<u64>(c, load<u32>(a, 8), 16)
  store<u64>(c, load<u32>(a, 12), 24)
  store<u64>(c, load<u32>(a, 16), 32)
  store<u64>(c, load<u32>(a, 20), 40)
  store<u64>(c, load<u32>(a, 24), 48)
  store<u64>(c, load<u32>(a, 28), 56)
  store<u64>(c, load<u32>(a, 32), 64)
  const zero = i64x2.splat(0)
  v128.store(c, zero, 72)
  v128.store(c, zero, 88)
  v128.store(c, zero, 104)
  v128.store(c, zero, 120)
  store<u64>(c, 0, 136)
  reduceToBytes(out)
}

/** limbs(out) = limbs(a) + limbs(b), carried. */
export function addLimbs(out: usize, a: usize, b: usize): void {
  let t: u32 = 0
  for (let k: usize = 0; k < 32; k += 4) {
    t += load<u32>(a + k) + load<u32>(b + k)
    store<u32>(out + k, t & <u32>MASK)
    t >>= 29
  }
  store<u32>(out, t + load<u32>(a, 32) + load<u32>(b, 32), 32)
}

/** bytes(out) = bytes(a) · bytes(b) mod r. */
export function multiplyPlain(out: usize, a: usize, b: usize): void {
  toMontgomery(temporary, a)
  multiplyBytes(out, temporary, b)
}

/** limbs(out) = 1 / limbs(a), both in Montgomery form, by Fermat's little theorem (exponent r − 2, from the top). */
export function invert(out: usize, a: usize): void {
  const base = temporary + 6 * LIMBS
  const power = temporary + 7 * LIMBS
  memory.copy(base, a, LIMBS)
  memory.copy(power, a, LIMBS)
  // Bit 254 of r − 2 is its highest.
  for (let bit = 253; bit >= 0; bit--) {
    square(power, power)
    const word = bit < 64 ? W0 - 2 : bit < 128 ? W1 : bit < 192 ? W2 : W3
    if ((word >> (bit & 63)) & 1) multiply(power, power, base)
  }
  memory.copy(out, power, LIMBS)
}

/** Products of `count` pairs of scalars (32 bytes each, canonical). */
export function multiplyMany(out: usize, a: usize, b: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++, out += 32, a += 32, b += 32) multiplyPlain(out, a, b)
}

/**
 * Inverts `count` scalars in place (32 bytes each, canonical) with one inversion; a zero stays zero.
 * @param products `count` limb records
 */
export function invertMany(values: usize, count: u32, products: usize): void {
  const element = temporary + LIMBS
  const running = temporary + 2 * LIMBS
  const inverse = temporary + 3 * LIMBS
  // 1 in Montgomery form is R² / R.
  storeOneLimb(inverse)
  multiply(running, squareOfR, inverse)
  for (let i: u32 = 0; i < count; i++) {
    memory.copy(products + i * <u32>LIMBS, running, LIMBS)
    const at = values + (i << 5)
    if (isZeroBytes(at)) continue
    toMontgomery(element, at)
    multiply(running, running, element)
  }
  invert(inverse, running)
  for (let i = count; i-- > 0; ) {
    const at = values + (i << 5)
    if (isZeroBytes(at)) continue
    toMontgomery(element, at)
    multiply(running, inverse, products + i * <u32>LIMBS)
    multiply(inverse, inverse, element)
    fromMontgomery(at, running)
  }
}

/** limbs(out) = 1, plain. */
export function storeOneLimb(out: usize): void {
  memory.fill(out, 0, LIMBS)
  store<u32>(out, 1)
}
