/** Scalars as 32 bytes little-endian, canonical: what needs no multiplication. */

// r in four words.
export const W0: u64 = 0xffff_ffff_0000_0001
export const W1: u64 = 0x53bd_a402_fffe_5bfe
export const W2: u64 = 0x3339_d808_09a1_d805
export const W3: u64 = 0x73ed_a753_299d_7d48

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

/** bytes(a) −= r. */
export function subtractModulus(a: usize): void {
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
