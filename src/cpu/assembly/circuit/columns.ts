/**
 * Sums of products modulo r, the order of BLS12-381's scalar field.
 *
 * At rest a scalar is 32 bytes little-endian, canonical ("bytes"). Inside, it is nine limbs of 29 bits ("limbs"), each
 * in a u32 of a 40-byte record. R = 2^261 is the Montgomery radix: limbs in Montgomery form times limbs in plain form
 * give a plain product.
 *
 * Sums of products are collected unreduced in 18 columns of 64 bits, column k having weight 2^(29 k). Bounds: a product
 * of two limb records with limbs below 2^29 adds at most 9 · 2^58 to a column, a reduction another 9 · 2^58; six
 * products and one reduction are 63 · 2^58, and what single additions bring (below 2^32 each, at most 2^13 of them)
 * fits in the rest up to 2^64. R is 70.6 · r: the product of two operands below R leaves a reduction below R + r, of
 * operands below r one below 1.02 · r.
 */
import { columns } from './scratch'

/** Products that may be collected between two calls of {@link carryColumns}. */
export const LAZY_PRODUCTS: i32 = 6

/** Limbs have 29 bits. */
export const MASK: u64 = 0x1fff_ffff

// @ts-ignore: decorator
@inline
export function clearColumns(): void {
  const c = columns
  const zero = i64x2.splat(0)
  v128.store(c, zero, 0)
  v128.store(c, zero, 16)
  v128.store(c, zero, 32)
  v128.store(c, zero, 48)
  v128.store(c, zero, 64)
  v128.store(c, zero, 80)
  v128.store(c, zero, 96)
  v128.store(c, zero, 112)
  v128.store(c, zero, 128)
}

// @ts-ignore: decorator
@inline
function addTo(column: usize, value: u64): void {
  store<u64>(column, load<u64>(column) + value)
}

/** columns += limbs(a) · limbs(b). */
export function addProduct(a: usize, b: usize): void {
  const c = columns
  const a0 = <u64>load<u32>(a, 0)
  const a1 = <u64>load<u32>(a, 4)
  const a2 = <u64>load<u32>(a, 8)
  const a3 = <u64>load<u32>(a, 12)
  const a4 = <u64>load<u32>(a, 16)
  const a5 = <u64>load<u32>(a, 20)
  const a6 = <u64>load<u32>(a, 24)
  const a7 = <u64>load<u32>(a, 28)
  const a8 = <u64>load<u32>(a, 32)
  const b0 = <u64>load<u32>(b, 0)
  const b1 = <u64>load<u32>(b, 4)
  const b2 = <u64>load<u32>(b, 8)
  const b3 = <u64>load<u32>(b, 12)
  const b4 = <u64>load<u32>(b, 16)
  const b5 = <u64>load<u32>(b, 20)
  const b6 = <u64>load<u32>(b, 24)
  const b7 = <u64>load<u32>(b, 28)
  const b8 = <u64>load<u32>(b, 32)
  store<u64>(c, load<u64>(c, 0) + a0 * b0, 0)
  store<u64>(c, load<u64>(c, 8) + a0 * b1 + a1 * b0, 8)
  store<u64>(c, load<u64>(c, 16) + a0 * b2 + a1 * b1 + a2 * b0, 16)
  store<u64>(c, load<u64>(c, 24) + a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0, 24)
  store<u64>(c, load<u64>(c, 32) + a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0, 32)
  store<u64>(c, load<u64>(c, 40) + a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0, 40)
  store<u64>(c, load<u64>(c, 48) + a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0, 48)
  store<u64>(c, load<u64>(c, 56) + a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0, 56)
  store<u64>(c, load<u64>(c, 64) + a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0, 64)
  store<u64>(c, load<u64>(c, 72) + a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1, 72)
  store<u64>(c, load<u64>(c, 80) + a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2, 80)
  store<u64>(c, load<u64>(c, 88) + a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3, 88)
  store<u64>(c, load<u64>(c, 96) + a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4, 96)
  store<u64>(c, load<u64>(c, 104) + a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5, 104)
  store<u64>(c, load<u64>(c, 112) + a6 * b8 + a7 * b7 + a8 * b6, 112)
  store<u64>(c, load<u64>(c, 120) + a7 * b8 + a8 * b7, 120)
  store<u64>(c, load<u64>(c, 128) + a8 * b8, 128)
}

/** columns += limbs(a) · bytes(b). */
export function addProductBytes(a: usize, b: usize): void {
  const c = columns
  const a0 = <u64>load<u32>(a, 0)
  const a1 = <u64>load<u32>(a, 4)
  const a2 = <u64>load<u32>(a, 8)
  const a3 = <u64>load<u32>(a, 12)
  const a4 = <u64>load<u32>(a, 16)
  const a5 = <u64>load<u32>(a, 20)
  const a6 = <u64>load<u32>(a, 24)
  const a7 = <u64>load<u32>(a, 28)
  const a8 = <u64>load<u32>(a, 32)
  const w0 = load<u64>(b, 0)
  const w1 = load<u64>(b, 8)
  const w2 = load<u64>(b, 16)
  const w3 = load<u64>(b, 24)
  const b0 = w0 & MASK
  const b1 = (w0 >> 29) & MASK
  const b2 = ((w0 >> 58) | (w1 << 6)) & MASK
  const b3 = (w1 >> 23) & MASK
  const b4 = ((w1 >> 52) | (w2 << 12)) & MASK
  const b5 = (w2 >> 17) & MASK
  const b6 = ((w2 >> 46) | (w3 << 18)) & MASK
  const b7 = (w3 >> 11) & MASK
  const b8 = w3 >> 40
  store<u64>(c, load<u64>(c, 0) + a0 * b0, 0)
  store<u64>(c, load<u64>(c, 8) + a0 * b1 + a1 * b0, 8)
  store<u64>(c, load<u64>(c, 16) + a0 * b2 + a1 * b1 + a2 * b0, 16)
  store<u64>(c, load<u64>(c, 24) + a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0, 24)
  store<u64>(c, load<u64>(c, 32) + a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0, 32)
  store<u64>(c, load<u64>(c, 40) + a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0, 40)
  store<u64>(c, load<u64>(c, 48) + a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0, 48)
  store<u64>(c, load<u64>(c, 56) + a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0, 56)
  store<u64>(c, load<u64>(c, 64) + a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0, 64)
  store<u64>(c, load<u64>(c, 72) + a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1, 72)
  store<u64>(c, load<u64>(c, 80) + a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2, 80)
  store<u64>(c, load<u64>(c, 88) + a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3, 88)
  store<u64>(c, load<u64>(c, 96) + a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4, 96)
  store<u64>(c, load<u64>(c, 104) + a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5, 104)
  store<u64>(c, load<u64>(c, 112) + a6 * b8 + a7 * b7 + a8 * b6, 112)
  store<u64>(c, load<u64>(c, 120) + a7 * b8 + a8 * b7, 120)
  store<u64>(c, load<u64>(c, 128) + a8 * b8, 128)
}

/** columns = limbs(a) · limbs(b). */
export function setProduct(a: usize, b: usize): void {
  const c = columns
  const a0 = <u64>load<u32>(a, 0)
  const a1 = <u64>load<u32>(a, 4)
  const a2 = <u64>load<u32>(a, 8)
  const a3 = <u64>load<u32>(a, 12)
  const a4 = <u64>load<u32>(a, 16)
  const a5 = <u64>load<u32>(a, 20)
  const a6 = <u64>load<u32>(a, 24)
  const a7 = <u64>load<u32>(a, 28)
  const a8 = <u64>load<u32>(a, 32)
  const b0 = <u64>load<u32>(b, 0)
  const b1 = <u64>load<u32>(b, 4)
  const b2 = <u64>load<u32>(b, 8)
  const b3 = <u64>load<u32>(b, 12)
  const b4 = <u64>load<u32>(b, 16)
  const b5 = <u64>load<u32>(b, 20)
  const b6 = <u64>load<u32>(b, 24)
  const b7 = <u64>load<u32>(b, 28)
  const b8 = <u64>load<u32>(b, 32)
  store<u64>(c, a0 * b0, 0)
  store<u64>(c, a0 * b1 + a1 * b0, 8)
  store<u64>(c, a0 * b2 + a1 * b1 + a2 * b0, 16)
  store<u64>(c, a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0, 24)
  store<u64>(c, a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0, 32)
  store<u64>(c, a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0, 40)
  store<u64>(c, a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0, 48)
  store<u64>(c, a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0, 56)
  store<u64>(c, a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0, 64)
  store<u64>(c, a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1, 72)
  store<u64>(c, a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2, 80)
  store<u64>(c, a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3, 88)
  store<u64>(c, a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4, 96)
  store<u64>(c, a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5, 104)
  store<u64>(c, a6 * b8 + a7 * b7 + a8 * b6, 112)
  store<u64>(c, a7 * b8 + a8 * b7, 120)
  store<u64>(c, a8 * b8, 128)
  store<u64>(c, 0, 136)
}

/** columns = limbs(a)², each mixed product once and doubled. */
export function setSquare(a: usize): void {
  const c = columns
  const a0 = <u64>load<u32>(a, 0)
  const a1 = <u64>load<u32>(a, 4)
  const a2 = <u64>load<u32>(a, 8)
  const a3 = <u64>load<u32>(a, 12)
  const a4 = <u64>load<u32>(a, 16)
  const a5 = <u64>load<u32>(a, 20)
  const a6 = <u64>load<u32>(a, 24)
  const a7 = <u64>load<u32>(a, 28)
  const a8 = <u64>load<u32>(a, 32)
  const d0 = a0 << 1
  const d1 = a1 << 1
  const d2 = a2 << 1
  const d3 = a3 << 1
  const d4 = a4 << 1
  const d5 = a5 << 1
  const d6 = a6 << 1
  const d7 = a7 << 1
  store<u64>(c, a0 * a0, 0)
  store<u64>(c, d0 * a1, 8)
  store<u64>(c, d0 * a2 + a1 * a1, 16)
  store<u64>(c, d0 * a3 + d1 * a2, 24)
  store<u64>(c, d0 * a4 + d1 * a3 + a2 * a2, 32)
  store<u64>(c, d0 * a5 + d1 * a4 + d2 * a3, 40)
  store<u64>(c, d0 * a6 + d1 * a5 + d2 * a4 + a3 * a3, 48)
  store<u64>(c, d0 * a7 + d1 * a6 + d2 * a5 + d3 * a4, 56)
  store<u64>(c, d0 * a8 + d1 * a7 + d2 * a6 + d3 * a5 + a4 * a4, 64)
  store<u64>(c, d1 * a8 + d2 * a7 + d3 * a6 + d4 * a5, 72)
  store<u64>(c, d2 * a8 + d3 * a7 + d4 * a6 + a5 * a5, 80)
  store<u64>(c, d3 * a8 + d4 * a7 + d5 * a6, 88)
  store<u64>(c, d4 * a8 + d5 * a7 + a6 * a6, 96)
  store<u64>(c, d5 * a8 + d6 * a7, 104)
  store<u64>(c, d6 * a8 + a7 * a7, 112)
  store<u64>(c, d7 * a8, 120)
  store<u64>(c, a8 * a8, 128)
  store<u64>(c, 0, 136)
}

/** columns += bytes(b) · R: what a reduction then returns as bytes(b) itself. */
export function addPlainBytes(b: usize): void {
  const c = columns
  const w0 = load<u64>(b, 0)
  const w1 = load<u64>(b, 8)
  const w2 = load<u64>(b, 16)
  const w3 = load<u64>(b, 24)
  addTo(c + 72, w0 & MASK)
  addTo(c + 80, (w0 >> 29) & MASK)
  addTo(c + 88, ((w0 >> 58) | (w1 << 6)) & MASK)
  addTo(c + 96, (w1 >> 23) & MASK)
  addTo(c + 104, ((w1 >> 52) | (w2 << 12)) & MASK)
  addTo(c + 112, (w2 >> 17) & MASK)
  addTo(c + 120, ((w2 >> 46) | (w3 << 18)) & MASK)
  addTo(c + 128, (w3 >> 11) & MASK)
  addTo(c + 136, w3 >> 40)
}

/** columns += (2r − bytes(b)) · R; 2r is written with limbs so large that no difference of limbs is negative. */
export function subtractPlainBytes(b: usize): void {
  const c = columns
  const w0 = load<u64>(b, 0)
  const w1 = load<u64>(b, 8)
  const w2 = load<u64>(b, 16)
  const w3 = load<u64>(b, 24)
  addTo(c + 72, 0x2000_0002 - (w0 & MASK))
  addTo(c + 80, 0x3fff_ffef - ((w0 >> 29) & MASK))
  addTo(c + 88, 0x3f2d_ff7e - (((w0 >> 58) | (w1 << 6)) & MASK))
  addTo(c + 96, 0x3690_0bfe - ((w1 >> 23) & MASK))
  addTo(c + 104, 0x3b00_aa76 - (((w1 >> 52) | (w2 << 12)) & MASK))
  addTo(c + 112, 0x3808_09a0 - ((w2 >> 17) & MASK))
  addTo(c + 120, 0x2a41_99cd - (((w2 >> 46) | (w3 << 18)) & MASK))
  addTo(c + 128, 0x34ca_675e - ((w3 >> 11) & MASK))
  addTo(c + 136, 0x00e7_db4d - (w3 >> 40))
}

/** columns += limbs(a) · R. */
export function addPlain(a: usize): void {
  const c = columns
  addTo(c + 72, load<u32>(a, 0))
  addTo(c + 80, load<u32>(a, 4))
  addTo(c + 88, load<u32>(a, 8))
  addTo(c + 96, load<u32>(a, 12))
  addTo(c + 104, load<u32>(a, 16))
  addTo(c + 112, load<u32>(a, 20))
  addTo(c + 120, load<u32>(a, 24))
  addTo(c + 128, load<u32>(a, 28))
  addTo(c + 136, load<u32>(a, 32))
}

/** Brings all columns but the last below 2^29, so that {@link LAZY_PRODUCTS} more products can be added. */
export function carryColumns(): void {
  const c = columns
  let carry: u64 = 0
  for (let k: usize = 0; k < 136; k += 8) {
    const t = load<u64>(c + k) + carry
    store<u64>(c + k, t & MASK)
    carry = t >> 29
  }
  addTo(c + 136, carry)
}
