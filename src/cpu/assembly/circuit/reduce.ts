/** From columns back to a scalar. */
import { isCanonical, subtractModulus } from './bytes'
import { MASK } from './columns'
import { columns } from './scratch'

// r in limbs; limb 0 is 1, hence −1/r mod 2^29 is −1 and a reduction's digit is the negated column.
const P1: u64 = 0x1fff_fff8
const P2: u64 = 0x1f96_ffbf
const P3: u64 = 0x1b48_05ff
const P4: u64 = 0x1d80_553b
const P5: u64 = 0x0c04_04d0
const P6: u64 = 0x1520_cce7
const P7: u64 = 0x0a65_33af
const P8: u64 = 0x0073_eda7

/** floor(2^40 / (P8 + 1)): divides the top limb by r's, rounding down. */
const INVERSE_TOP: u64 = 144720

/**
 * Montgomery reduction: makes columns 0 to 8 vanish by multiples of r. Digit k is the negated column, since −1/r mod
 * 2^29 is −1 and r's limb 0 is 1; columns 9 to 17 are the result, not yet carried.
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
