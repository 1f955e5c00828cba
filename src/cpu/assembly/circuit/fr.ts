/**
 * Arithmetic modulo r, the order of BLS12-381's scalar field.
 *
 * At rest a scalar is 32 bytes little-endian, canonical ("bytes"). Inside, it is nine limbs of 29 bits ("limbs"), each in a
 * u32 of a 40-byte record; the tenth word of a coefficient's record is its class. R = 2^261 is the Montgomery radix: limbs in
 * Montgomery form times limbs in plain form give a plain product.
 *
 * Sums of products are collected unreduced in 18 columns of 64 bits, column k having weight 2^(29 k). Bounds: a product of two
 * limb records with limbs below 2^29 adds at most 9 · 2^58 to a column, a reduction another 9 · 2^58; six products and one
 * reduction are 63 · 2^58, and what single additions bring (below 2^32 each) fits in the last 2^58 up to 2^64.
 * R is 141 · r, so operands of up to 2^5 · r leave a reduction well below 2^29 in every limb but the last.
 */

/** Bytes of a limb record. */
export const LIMBS: usize = 40
/** Products that may be collected between two calls of {@link carryColumns}. */
export const LAZY_PRODUCTS: i32 = 6

const MASK: u64 = 0x1fff_ffff

// r in limbs; limb 0 is 1, hence −1/r mod 2^29 is −1 and a reduction's digit is the negated column.
const P1: u64 = 0x1fff_fff8
const P2: u64 = 0x1f96_ffbf
const P3: u64 = 0x1b48_05ff
const P4: u64 = 0x1d80_553b
const P5: u64 = 0x0c04_04d0
const P6: u64 = 0x1520_cce7
const P7: u64 = 0x0a65_33af
const P8: u64 = 0x0073_eda7

// r in four words.
const W0: u64 = 0xffff_ffff_0000_0001
const W1: u64 = 0x53bd_a402_fffe_5bfe
const W2: u64 = 0x3339_d808_09a1_d805
const W3: u64 = 0x73ed_a753_299d_7d48

/** floor(2^40 / (P8 + 1)): divides the top limb by r's, rounding down. */
const INVERSE_TOP: u64 = 144720

// This instance's scratch. Globals of WebAssembly belong to an instance, not to the shared memory.
/** 18 columns. */
export let columns: usize = 0
/** Eight limb records: 0 of products, 1 to 3 of vectors, 4 and 5 of S-boxes, 6 and 7 of inversions and permutations. */
export let temporary: usize = 0
/** R² mod r, as limbs: one product with it takes a plain value to Montgomery form. */
export let squareOfR: usize = 0
/** What is left of the scratch block for functions above this file. */
export let scratchFree: usize = 0
export let scratchEnd: usize = 0

/** Gives this instance a block that no other thread uses, aligned to 16. To be called before anything else. */
export function bindScratch(scratch: usize, bytes: u32): void {
  if (bytes < 4096) unreachable()
  columns = scratch
  temporary = scratch + 160
  const square = scratch + 160 + 8 * LIMBS
  store<u32>(square, 0x0a71_b3c0, 0)
  store<u32>(square, 0x1d32_207e, 4)
  store<u32>(square, 0x1663_d999, 8)
  store<u32>(square, 0x1c5a_bc93, 12)
  store<u32>(square, 0x03b5_8c44, 16)
  store<u32>(square, 0x0be3_7438, 20)
  store<u32>(square, 0x0829_f771, 24)
  store<u32>(square, 0x1660_139e, 28)
  store<u32>(square, 0x0027_fd91, 32)
  store<u32>(square, 0, 36)
  squareOfR = square
  scratchFree = (square + LIMBS + 15) & ~15
  scratchEnd = scratch + bytes
}

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
function setProduct(a: usize, b: usize): void {
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
function setSquare(a: usize): void {
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

/**
 * Montgomery reduction: makes columns 0 to 8 vanish by multiples of r. Digit k is the negated column, since −1/r mod 2^29 is −1 and
 * r's limb 0 is 1; columns 9 to 17 are the result, not yet carried.
 */
function reduceColumns(): void {
  const c = columns
  let c0 = load<u64>(c, 0)
  let c1 = load<u64>(c, 8)
  let c2 = load<u64>(c, 16)
  let c3 = load<u64>(c, 24)
  let c4 = load<u64>(c, 32)
  let c5 = load<u64>(c, 40)
  let c6 = load<u64>(c, 48)
  let c7 = load<u64>(c, 56)
  let c8 = load<u64>(c, 64)
  let c9 = load<u64>(c, 72)
  let c10 = load<u64>(c, 80)
  let c11 = load<u64>(c, 88)
  let c12 = load<u64>(c, 96)
  let c13 = load<u64>(c, 104)
  let c14 = load<u64>(c, 112)
  let c15 = load<u64>(c, 120)
  let c16 = load<u64>(c, 128)
  let c17 = load<u64>(c, 136)
  let q = (0 - c0) & MASK
  c1 += ((c0 + q) >> 29) + q * P1
  c2 += q * P2
  c3 += q * P3
  c4 += q * P4
  c5 += q * P5
  c6 += q * P6
  c7 += q * P7
  c8 += q * P8
  q = (0 - c1) & MASK
  c2 += ((c1 + q) >> 29) + q * P1
  c3 += q * P2
  c4 += q * P3
  c5 += q * P4
  c6 += q * P5
  c7 += q * P6
  c8 += q * P7
  c9 += q * P8
  q = (0 - c2) & MASK
  c3 += ((c2 + q) >> 29) + q * P1
  c4 += q * P2
  c5 += q * P3
  c6 += q * P4
  c7 += q * P5
  c8 += q * P6
  c9 += q * P7
  c10 += q * P8
  q = (0 - c3) & MASK
  c4 += ((c3 + q) >> 29) + q * P1
  c5 += q * P2
  c6 += q * P3
  c7 += q * P4
  c8 += q * P5
  c9 += q * P6
  c10 += q * P7
  c11 += q * P8
  q = (0 - c4) & MASK
  c5 += ((c4 + q) >> 29) + q * P1
  c6 += q * P2
  c7 += q * P3
  c8 += q * P4
  c9 += q * P5
  c10 += q * P6
  c11 += q * P7
  c12 += q * P8
  q = (0 - c5) & MASK
  c6 += ((c5 + q) >> 29) + q * P1
  c7 += q * P2
  c8 += q * P3
  c9 += q * P4
  c10 += q * P5
  c11 += q * P6
  c12 += q * P7
  c13 += q * P8
  q = (0 - c6) & MASK
  c7 += ((c6 + q) >> 29) + q * P1
  c8 += q * P2
  c9 += q * P3
  c10 += q * P4
  c11 += q * P5
  c12 += q * P6
  c13 += q * P7
  c14 += q * P8
  q = (0 - c7) & MASK
  c8 += ((c7 + q) >> 29) + q * P1
  c9 += q * P2
  c10 += q * P3
  c11 += q * P4
  c12 += q * P5
  c13 += q * P6
  c14 += q * P7
  c15 += q * P8
  q = (0 - c8) & MASK
  c9 += ((c8 + q) >> 29) + q * P1
  c10 += q * P2
  c11 += q * P3
  c12 += q * P4
  c13 += q * P5
  c14 += q * P6
  c15 += q * P7
  c16 += q * P8
  store<u64>(c, c9, 72)
  store<u64>(c, c10, 80)
  store<u64>(c, c11, 88)
  store<u64>(c, c12, 96)
  store<u64>(c, c13, 104)
  store<u64>(c, c14, 112)
  store<u64>(c, c15, 120)
  store<u64>(c, c16, 128)
  store<u64>(c, c17, 136)
}

/** limbs(out) = columns / R mod r: limbs below 2^29 (the value may exceed r, by the sum's size over R). */
export function reduceToLimbs(out: usize): void {
  reduceColumns()
  const c = columns
  let t = load<u64>(c, 72)
  store<u32>(out, <u32>(t & MASK), 0)
  t = load<u64>(c, 80) + (t >> 29)
  store<u32>(out, <u32>(t & MASK), 4)
  t = load<u64>(c, 88) + (t >> 29)
  store<u32>(out, <u32>(t & MASK), 8)
  t = load<u64>(c, 96) + (t >> 29)
  store<u32>(out, <u32>(t & MASK), 12)
  t = load<u64>(c, 104) + (t >> 29)
  store<u32>(out, <u32>(t & MASK), 16)
  t = load<u64>(c, 112) + (t >> 29)
  store<u32>(out, <u32>(t & MASK), 20)
  t = load<u64>(c, 120) + (t >> 29)
  store<u32>(out, <u32>(t & MASK), 24)
  t = load<u64>(c, 128) + (t >> 29)
  store<u32>(out, <u32>(t & MASK), 28)
  t = load<u64>(c, 136) + (t >> 29)
  store<u32>(out, <u32>t, 32)
}

/** bytes(out) = columns / R mod r, canonical. */
export function reduceToBytes(out: usize): void {
  reduceColumns()
  finishToBytes(out)
}

/** bytes(out) = columns 9 to 17 alone, mod r: for sums in which no product occurred. */
export function finishToBytes(out: usize): void {
  const c = columns
  let t = load<u64>(c, 72)
  let l0 = t & MASK
  t = load<u64>(c, 80) + (t >> 29)
  let l1 = t & MASK
  t = load<u64>(c, 88) + (t >> 29)
  let l2 = t & MASK
  t = load<u64>(c, 96) + (t >> 29)
  let l3 = t & MASK
  t = load<u64>(c, 104) + (t >> 29)
  let l4 = t & MASK
  t = load<u64>(c, 112) + (t >> 29)
  let l5 = t & MASK
  t = load<u64>(c, 120) + (t >> 29)
  let l6 = t & MASK
  t = load<u64>(c, 128) + (t >> 29)
  let l7 = t & MASK
  let l8 = load<u64>(c, 136) + (t >> 29)
  // Values up to 2^22 · r: the estimate is at most one too small, since the relative error of P8 + 1 is below 2^-22.
  const q = (l8 * INVERSE_TOP) >> 40
  if (q) {
    let s: i64 = <i64>(l0 - q)
    l0 = <u64>s & MASK
    s = (s >> 29) + <i64>(l1 - q * P1)
    l1 = <u64>s & MASK
    s = (s >> 29) + <i64>(l2 - q * P2)
    l2 = <u64>s & MASK
    s = (s >> 29) + <i64>(l3 - q * P3)
    l3 = <u64>s & MASK
    s = (s >> 29) + <i64>(l4 - q * P4)
    l4 = <u64>s & MASK
    s = (s >> 29) + <i64>(l5 - q * P5)
    l5 = <u64>s & MASK
    s = (s >> 29) + <i64>(l6 - q * P6)
    l6 = <u64>s & MASK
    s = (s >> 29) + <i64>(l7 - q * P7)
    l7 = <u64>s & MASK
    l8 = <u64>((s >> 29) + <i64>(l8 - q * P8))
  }
  store<u64>(out, l0 | (l1 << 29) | (l2 << 58), 0)
  store<u64>(out, (l2 >> 6) | (l3 << 23) | (l4 << 52), 8)
  store<u64>(out, (l4 >> 12) | (l5 << 17) | (l6 << 46), 16)
  store<u64>(out, (l6 >> 18) | (l7 << 11) | (l8 << 40), 24)
  while (!isCanonical(out)) subtractModulus(out)
}

/** Whether bytes(a) is below r. */
export function isCanonical(a: usize): bool {
  const w3 = load<u64>(a, 24)
  if (w3 != W3) return w3 < W3
  const w2 = load<u64>(a, 16)
  if (w2 != W2) return w2 < W2
  const w1 = load<u64>(a, 8)
  if (w1 != W1) return w1 < W1
  return load<u64>(a) < W0
}

function subtractModulus(a: usize): void {
  const w0 = load<u64>(a, 0)
  const w1 = load<u64>(a, 8)
  const w2 = load<u64>(a, 16)
  const w3 = load<u64>(a, 24)
  let borrow: u64 = w0 < W0 ? 1 : 0
  store<u64>(a, w0 - W0, 0)
  const d1 = w1 - W1 - borrow
  borrow = w1 < W1 || (w1 == W1 && borrow) ? 1 : 0
  store<u64>(a, d1, 8)
  const d2 = w2 - W2 - borrow
  borrow = w2 < W2 || (w2 == W2 && borrow) ? 1 : 0
  store<u64>(a, d2, 16)
  store<u64>(a, w3 - W3 - borrow, 24)
}

/** bytes(out) = bytes(a) + bytes(b) mod r. */
export function addBytes(out: usize, a: usize, b: usize): void {
  const a0 = load<u64>(a, 0)
  const s0 = a0 + load<u64>(b, 0)
  let carry: u64 = s0 < a0 ? 1 : 0
  const a1 = load<u64>(a, 8)
  const t1 = a1 + load<u64>(b, 8)
  const s1 = t1 + carry
  carry = t1 < a1 || s1 < t1 ? 1 : 0
  const a2 = load<u64>(a, 16)
  const t2 = a2 + load<u64>(b, 16)
  const s2 = t2 + carry
  carry = t2 < a2 || s2 < t2 ? 1 : 0
  // Both are below 2^255: the top word does not overflow.
  const s3 = load<u64>(a, 24) + load<u64>(b, 24) + carry
  store<u64>(out, s0, 0)
  store<u64>(out, s1, 8)
  store<u64>(out, s2, 16)
  store<u64>(out, s3, 24)
  if (!isCanonical(out)) subtractModulus(out)
}

/** bytes(out) = −bytes(a) mod r. */
export function negateBytes(out: usize, a: usize): void {
  const w0 = load<u64>(a, 0)
  const w1 = load<u64>(a, 8)
  const w2 = load<u64>(a, 16)
  const w3 = load<u64>(a, 24)
  if (!(w0 | w1 | w2 | w3)) {
    copyBytes(out, a)
    return
  }
  store<u64>(out, W0 - w0, 0)
  let borrow: u64 = W0 < w0 ? 1 : 0
  store<u64>(out, W1 - w1 - borrow, 8)
  borrow = W1 < w1 || (W1 == w1 && borrow) ? 1 : 0
  store<u64>(out, W2 - w2 - borrow, 16)
  borrow = W2 < w2 || (W2 == w2 && borrow) ? 1 : 0
  store<u64>(out, W3 - w3 - borrow, 24)
}

// @ts-ignore: decorator
@inline
export function copyBytes(out: usize, a: usize): void {
  const low = v128.load(a)
  const high = v128.load(a, 16)
  v128.store(out, low)
  v128.store(out, high, 16)
}

// @ts-ignore: decorator
@inline
export function zeroBytes(out: usize): void {
  v128.store(out, i64x2.splat(0))
  v128.store(out, i64x2.splat(0), 16)
}

// @ts-ignore: decorator
@inline
export function smallBytes(out: usize, value: u64): void {
  store<u64>(out, value, 0)
  store<u64>(out, 0, 8)
  store<u64>(out, 0, 16)
  store<u64>(out, 0, 24)
}

// @ts-ignore: decorator
@inline
export function isZeroBytes(a: usize): bool {
  return !v128.any_true(v128.or(v128.load(a), v128.load(a, 16)))
}

// @ts-ignore: decorator
@inline
export function isOneBytes(a: usize): bool {
  return load<u64>(a) == 1 && !(load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24))
}

export function equalBytes(a: usize, b: usize): bool {
  const d = v128.or(
    v128.xor(v128.load(a), v128.load(b)),
    v128.xor(v128.load(a, 16), v128.load(b, 16)),
  )
  return !v128.any_true(d)
}

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
