/**
 * BLAKE2s-256, unkeyed (RFC 7693). A state is 128 bytes: h at 0 (8 × u32), bytes compressed at 32 (u64), bytes buffered at 40
 * (u32), the buffer at 64 (64 bytes).
 *
 * The working vector is four rows of four words; a round mixes the columns, rotates rows 1 to 3 so that diagonals become
 * columns, mixes again, and rotates back. Message words are gathered lane by lane, which is off the critical path.
 */

const IV_LOW: v128 = i32x4(0x6a09e667, <i32>0xbb67ae85, 0x3c6ef372, <i32>0xa54ff53a)
const IV_HIGH: v128 = i32x4(0x510e527f, <i32>0x9b05688c, 0x1f83d9ab, 0x5be0cd19)

// @ts-ignore: decorator
@inline
function rotate16(x: v128): v128 {
  return i8x16.shuffle(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
}
// @ts-ignore: decorator
@inline
function rotate8(x: v128): v128 {
  return i8x16.shuffle(x, x, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12)
}
// @ts-ignore: decorator
@inline
function rotate12(x: v128): v128 {
  return v128.or(i32x4.shr_u(x, 12), i32x4.shl(x, 20))
}
// @ts-ignore: decorator
@inline
function rotate7(x: v128): v128 {
  return v128.or(i32x4.shr_u(x, 7), i32x4.shl(x, 25))
}
// @ts-ignore: decorator
@inline
function words(m: usize, i: usize, j: usize, k: usize, l: usize): v128 {
  return v128.load_lane<u32>(
    m + 4 * l,
    v128.load_lane<u32>(m + 4 * k, v128.load_lane<u32>(m + 4 * j, v128.load_zero<u32>(m + 4 * i), 1), 2),
    3,
  )
}

/**
 * Compresses whole blocks.
 * @param counter bytes of the message before these blocks
 * @param last all ones if the block is the message's last, which then has `tail` bytes
 */
function compress(state: usize, data: usize, blocks: u32, counter: u64, tail: u32, last: u32): void {
  let low = v128.load(state)
  let high = v128.load(state, 16)
  for (let block: u32 = 0; block < blocks; block++, data += 64) {
    counter += tail
    let a = low
    let b = high
    let c = IV_LOW
    let d = v128.xor(IV_HIGH, i32x4.replace_lane(i64x2.replace_lane(i64x2.splat(0), 0, counter), 2, last))
    // Round 0
    a = i32x4.add(i32x4.add(a, words(data, 0, 2, 4, 6)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 1, 3, 5, 7)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 8, 10, 12, 14)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 9, 11, 13, 15)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 1
    a = i32x4.add(i32x4.add(a, words(data, 14, 4, 9, 13)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 10, 8, 15, 6)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 1, 0, 11, 5)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 12, 2, 7, 3)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 2
    a = i32x4.add(i32x4.add(a, words(data, 11, 12, 5, 15)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 8, 0, 2, 13)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 10, 3, 7, 9)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 14, 6, 1, 4)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 3
    a = i32x4.add(i32x4.add(a, words(data, 7, 3, 13, 11)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 9, 1, 12, 14)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 2, 5, 4, 15)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 6, 10, 0, 8)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 4
    a = i32x4.add(i32x4.add(a, words(data, 9, 5, 2, 10)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 0, 7, 4, 15)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 14, 11, 6, 3)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 1, 12, 8, 13)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 5
    a = i32x4.add(i32x4.add(a, words(data, 2, 6, 0, 8)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 12, 10, 11, 3)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 4, 7, 15, 1)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 13, 5, 14, 9)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 6
    a = i32x4.add(i32x4.add(a, words(data, 12, 1, 14, 4)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 5, 15, 13, 10)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 0, 6, 9, 8)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 7, 3, 2, 11)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 7
    a = i32x4.add(i32x4.add(a, words(data, 13, 7, 12, 3)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 11, 14, 1, 9)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 5, 15, 8, 2)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 0, 4, 6, 10)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 8
    a = i32x4.add(i32x4.add(a, words(data, 6, 14, 11, 0)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 15, 9, 3, 8)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 12, 13, 1, 10)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 2, 7, 4, 5)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    // Round 9
    a = i32x4.add(i32x4.add(a, words(data, 10, 8, 7, 1)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 2, 4, 6, 5)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    a = i32x4.add(i32x4.add(a, words(data, 15, 9, 3, 13)), b)
    d = rotate16(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate12(v128.xor(b, c))
    a = i32x4.add(i32x4.add(a, words(data, 11, 14, 12, 0)), b)
    d = rotate8(v128.xor(d, a))
    c = i32x4.add(c, d)
    b = rotate7(v128.xor(b, c))
    b = i8x16.shuffle(b, b, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    c = i8x16.shuffle(c, c, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    d = i8x16.shuffle(d, d, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3)
    low = v128.xor(low, v128.xor(a, c))
    high = v128.xor(high, v128.xor(b, d))
  }
  v128.store(state, low)
  v128.store(state, high, 16)
}

export function blake2sInit(state: usize): void {
  v128.store(state, IV_LOW)
  v128.store(state, IV_HIGH, 16)
  // Parameter block: digest length 32, no key, fanout 1, depth 1.
  store<u32>(state, load<u32>(state) ^ 0x0101_0020)
  store<u64>(state, 0, 32)
  store<u32>(state, 0, 40)
}

/** Absorbs bytes. A full buffer waits, because the last block of a message is compressed differently. */
export function blake2sUpdate(state: usize, data: usize, bytes: u32): void {
  if (!bytes) return
  const buffered = load<u32>(state, 40)
  let counter = load<u64>(state, 32)
  if (buffered) {
    const free: u32 = 64 - buffered
    if (bytes <= free) {
      memory.copy(state + 64 + buffered, data, bytes)
      store<u32>(state, buffered + bytes, 40)
      return
    }
    memory.copy(state + 64 + buffered, data, free)
    compress(state, state + 64, 1, counter, 64, 0)
    counter += 64
    data += free
    bytes -= free
  }
  const blocks = (bytes - 1) >> 6
  compress(state, data, blocks, counter, 64, 0)
  const rest = bytes - (blocks << 6)
  memory.copy(state + 64, data + (blocks << 6), rest)
  store<u64>(state, counter + ((<u64>blocks) << 6), 32)
  store<u32>(state, rest, 40)
}

/** Writes the digest (32 bytes) of what was absorbed so far; the state stays usable. `copy` is another state that is overwritten. */
export function blake2sDigest(state: usize, copy: usize, out: usize): void {
  memory.copy(copy, state, 128)
  const buffered = load<u32>(copy, 40)
  memory.fill(copy + 64 + buffered, 0, 64 - buffered)
  compress(copy, copy + 64, 1, load<u64>(copy, 32), buffered, 0xffff_ffff)
  memory.copy(out, copy, 32)
}
