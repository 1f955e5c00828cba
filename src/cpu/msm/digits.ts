/**
 * Scalars as signed digits: s = Σ d_w · 2^(c w) with |d_w| ≤ 2^(c−1), for W = ceil(255 / c) windows.
 *
 * First |s| = min(s, r − s), so that no carry leaves the top window; the point is then negated. Then the offset
 * H = Σ_(w < W−1) 2^(c w + c − 1) is added: digit w of |s| + H, minus 2^(c−1), is d_w, so that every window can be read by itself, without the
 * carries of those below. The top window has no offset: |s| + H < 0.906 · 2^254 + 2^(c (W−1)), so its digit is at most 2^(c−1) for c ≥ 4.
 */
import type { ThreadContext } from '../thread-context.ts'
import type { Reference } from './pair-adder.ts'
import { reusableWords } from './reusable.ts'

export const SCALAR_BYTES = 32
const SCALAR_WORDS = 8
/** A prepared scalar: |s| + H, and a word that is 1 where the point is to be negated. */
export const PREPARED_WORDS = 9
export const PREPARED_BYTES: number = 4 * PREPARED_WORDS

/** Windows are at least this wide (see above), and at most what digit extraction from two words allows. */
export const MIN_WINDOW_BITS = 4
export const MAX_WINDOW_BITS = 16

const R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n
const R_WORDS: Uint32Array = words(R)
const HALF_R_WORDS: Uint32Array = words(R / 2n)

export function windowCount(bits: number): number {
  return Math.ceil(255 / bits)
}

/**
 * @param scalars canonical, 32 bytes little-endian each, as words
 * @param prepared {@link PREPARED_WORDS} a scalar; may not overlap `scalars`
 */
export function prepareScalars(scalars: Uint32Array, prepared: Uint32Array, bits: number): void {
  const offset = words(offsetOf(bits))
  const count = scalars.length / SCALAR_WORDS
  for (let i = 0; i < count; i++) {
    const from = i * SCALAR_WORDS
    const to = i * PREPARED_WORDS
    const negative = isAboveHalf(scalars, from)
    let carry = 0
    if (negative) {
      let borrow = 0
      for (let k = 0; k < SCALAR_WORDS; k++) {
        const difference = (R_WORDS[k] as number) - (scalars[from + k] as number) - borrow
        borrow = difference < 0 ? 1 : 0
        const sum = (difference >>> 0) + (offset[k] as number) + carry
        carry = sum > 0xffff_ffff ? 1 : 0
        prepared[to + k] = sum
      }
    } else {
      for (let k = 0; k < SCALAR_WORDS; k++) {
        const sum = (scalars[from + k] as number) + (offset[k] as number) + carry
        carry = sum > 0xffff_ffff ? 1 : 0
        prepared[to + k] = sum
      }
    }
    prepared[to + SCALAR_WORDS] = negative ? 1 : 0
  }
}

function isAboveHalf(scalars: Uint32Array, from: number): boolean {
  for (let k = SCALAR_WORDS - 1; k >= 0; k--) {
    const difference = (scalars[from + k] as number) - (HALF_R_WORDS[k] as number)
    if (difference !== 0) return difference > 0
  }
  return false
}

function offsetOf(bits: number): bigint {
  let offset = 0n
  for (let w = 0; w < windowCount(bits) - 1; w++) offset += 1n << BigInt(bits * w + bits - 1)
  return offset
}

/** The signed digit of scalar `i` in window `w`. */
export function signedDigit(prepared: Uint32Array, i: number, bits: number, w: number): number {
  const at = i * PREPARED_WORDS + ((bits * w) >> 5)
  const shift = (bits * w) & 31
  let value = (prepared[at] as number) >>> shift
  // Above word 7 lies the sign, which is not part of the value.
  if (shift + bits > 32 && ((bits * w) >> 5) + 1 < SCALAR_WORDS) value |= (prepared[at + 1] as number) << (32 - shift)
  return (value & (2 ** bits - 1)) - (w === windowCount(bits) - 1 ? 0 : 2 ** (bits - 1))
}

const OUT_OF_RANGE = 0xffff_ffff

/** The references of a window, sorted by bucket. */
export interface SortedWindow {
  /** Sorted by bucket; valid until the thread sorts again. */
  readonly references: Uint32Array
  /** Bucket k (0 is the lowest of the range) has the references from `starts[k]` up to `starts[k + 1]`. */
  readonly starts: Uint32Array
}

/**
 * Counting sort of the points whose digit in window `w` has a magnitude in (low, low + buckets].
 * @param reference gives the reference of point i for a positive digit
 */
export function sortWindow(
  context: ThreadContext,
  prepared: Uint32Array,
  bits: number,
  w: number,
  low: number,
  buckets: number,
  firstPoint: number,
  pointBytes: number,
): SortedWindow {
  const count = prepared.length / PREPARED_WORDS
  const word = (bits * w) >> 5
  const shift = (bits * w) & 31
  const mask = 2 ** bits - 1
  const offset = w === windowCount(bits) - 1 ? 0 : 2 ** (bits - 1)
  const spills = shift + bits > 32 && word + 1 < SCALAR_WORDS
  // Of each point with a digit in range: the bucket in the upper bits, the sign in bit 0; of the others all ones.
  const digits = reusableWords(context, 'digits', count)
  const starts = new Uint32Array(buckets + 1)
  for (let i = 0, at = word; i < count; i++, at += PREPARED_WORDS) {
    let value = (prepared[at] as number) >>> shift
    if (spills) value |= (prepared[at + 1] as number) << (32 - shift)
    const digit = (value & mask) - offset
    const bucket = (digit < 0 ? -digit : digit) - 1 - low
    if (bucket >= 0 && bucket < buckets) {
      digits[i] = 2 * bucket + (digit < 0 ? 1 : 0)
      starts[bucket + 1] = (starts[bucket + 1] as number) + 1
    } else digits[i] = OUT_OF_RANGE
  }
  for (let k = 0; k < buckets; k++) starts[k + 1] = (starts[k + 1] as number) + (starts[k] as number)
  const references = reusableWords(context, 'references', starts[buckets] as number)
  const next = starts.slice()
  for (let i = 0, at = SCALAR_WORDS; i < count; i++, at += PREPARED_WORDS) {
    const digit = digits[i] as number
    if (digit === OUT_OF_RANGE) continue
    const bucket = digit >>> 1
    const reference: Reference = firstPoint + i * pointBytes + ((digit ^ (prepared[at] as number)) & 1)
    references[next[bucket] as number] = reference
    next[bucket] = (next[bucket] as number) + 1
  }
  return { references, starts }
}

function words(value: bigint): Uint32Array {
  return Uint32Array.from({ length: SCALAR_WORDS }, (_, k) => Number((value >> BigInt(32 * k)) & 0xffff_ffffn))
}
