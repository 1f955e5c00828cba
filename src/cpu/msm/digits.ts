/**
 * Scalars as signed digits: s = ± Σ d_w · 2^(c w) with |d_w| ≤ 2^(c−1), for W = ceil(255 / c) windows: half as many
 * buckets as digits.
 *
 * First |s| = min(s, r − s) with the sign kept aside, so that no carry leaves the top window: |s| < 0.906 · 2^254, so
 * the top digit with its carry is at most 2^(c−1) for c ≥ 4. A digit above 2^(c−1) becomes itself minus 2^c and carries
 * one. The sign of s is then given to its digits.
 */
import type { ThreadContext } from '../thread-context.ts'
import type { Reference } from './pair-adder.ts'
import { reusableWords } from './reusable.ts'

export const SCALAR_BYTES = 32
const SCALAR_WORDS = 8
/** Digits are 16-bit integers. */
export const DIGIT_BYTES = 2

/** Windows are at least this wide (see above), and at most what keeps ± 2^(c−1) in 16 bits. */
export const MIN_WINDOW_BITS = 4
export const MAX_WINDOW_BITS = 15

const R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n
const R_WORDS: Uint32Array = words(R)
const HALF_R_WORDS: Uint32Array = words(R / 2n)

export function windowCount(bits: number): number {
  return Math.ceil(255 / bits)
}

/**
 * @param scalars canonical, 32 bytes little-endian each, as words
 * @param digits receives digit w of scalar i at `w · stride + i`
 */
export function signedDigits(scalars: Uint32Array, digits: Int16Array, stride: number, bits: number): void {
  const count = scalars.length / SCALAR_WORDS
  const windows = windowCount(bits)
  const mask = 2 ** bits - 1
  const half = 2 ** (bits - 1)
  // A word more, of zeros: the top window may reach past the last.
  const magnitude = new Uint32Array(SCALAR_WORDS + 1)
  for (let i = 0; i < count; i++) {
    const negative = takeMagnitude(scalars, i * SCALAR_WORDS, magnitude)
    let carry = 0
    for (let w = 0, bit = 0, at = i; w < windows; w++, bit += bits, at += stride) {
      const word = bit >>> 5
      const shift = bit & 31
      let digit = (magnitude[word] as number) >>> shift
      if (shift + bits > 32) digit |= (magnitude[word + 1] as number) << (32 - shift)
      digit = (digit & mask) + carry
      carry = digit > half ? 1 : 0
      digit -= carry << bits
      digits[at] = negative ? -digit : digit
    }
  }
}

/** Writes min(s, r − s). @returns whether it is r − s */
function takeMagnitude(scalars: Uint32Array, from: number, magnitude: Uint32Array): boolean {
  const negative = isAboveHalf(scalars, from)
  let borrow = 0
  for (let k = 0; k < SCALAR_WORDS; k++) {
    const word = scalars[from + k] as number
    if (negative) {
      const difference = (R_WORDS[k] as number) - word - borrow
      borrow = difference < 0 ? 1 : 0
      magnitude[k] = difference
    } else magnitude[k] = word
  }
  return negative
}

function isAboveHalf(scalars: Uint32Array, from: number): boolean {
  for (let k = SCALAR_WORDS - 1; k >= 0; k--) {
    const difference = (scalars[from + k] as number) - (HALF_R_WORDS[k] as number)
    if (difference !== 0) return difference > 0
  }
  return false
}

/** The references of a window, sorted by bucket. */
export interface SortedWindow {
  /** Sorted by bucket; valid until the thread sorts again. */
  readonly references: Uint32Array
  /** Bucket k (0 is the lowest of the range) has the references from `starts[k]` up to `starts[k + 1]`. */
  readonly starts: Uint32Array
}

/**
 * Counting sort of the points whose digit has a magnitude in (low, low + buckets].
 * @param digits of one window, one a point
 */
export function sortWindow(
  context: ThreadContext,
  digits: Int16Array,
  low: number,
  buckets: number,
  firstPoint: number,
  pointBytes: number,
): SortedWindow {
  const count = digits.length
  const starts = new Uint32Array(buckets + 1)
  for (let i = 0; i < count; i++) {
    const bucket = Math.abs(digits[i] as number) - 1 - low
    if (bucket >= 0 && bucket < buckets) starts[bucket + 1] = (starts[bucket + 1] as number) + 1
  }
  for (let k = 0; k < buckets; k++) starts[k + 1] = (starts[k + 1] as number) + (starts[k] as number)
  const references = reusableWords(context, 'references', starts[buckets] as number)
  const next = starts.slice()
  for (let i = 0, point = firstPoint; i < count; i++, point += pointBytes) {
    const digit = digits[i] as number
    const bucket = Math.abs(digit) - 1 - low
    if (bucket < 0 || bucket >= buckets) continue
    const reference: Reference = digit < 0 ? point + 1 : point
    references[next[bucket] as number] = reference
    next[bucket] = (next[bucket] as number) + 1
  }
  return { references, starts }
}

function words(value: bigint): Uint32Array {
  return Uint32Array.from({ length: SCALAR_WORDS }, (_, k) => Number((value >> BigInt(32 * k)) & 0xffff_ffffn))
}
