/**
 * Σ s_i · P_i by Pippenger's bucket method with signed digits: every scalar is split into windows of c bits; within a
 * window the points with equal digit are summed (a bucket), and the buckets are combined with their weights. Units of
 * work are ranges of buckets of a window.
 */
import type { Run } from '../../groth16/proving-device.ts'
import type { ThreadContext, ThreadPool, ThreadTask } from '../thread-context.ts'
import type { CombineArgs } from './combine.ts'
import { combineWindows } from './combine.ts'
import { DIGIT_BYTES, MAX_WINDOW_BITS, MIN_WINDOW_BITS, SCALAR_BYTES, signedDigits, windowCount } from './digits.ts'
import type { Group } from './group-kernels.ts'
import { ENCODED_BYTES } from './group-kernels.ts'
import type { WindowArgs } from './window.ts'
import { MAX_UNIT_BUCKETS, sumWindow } from './window.ts'

export interface DigitsArgs {
  /** Addresses: of the unit's first scalar, and of its digit in window 0. */
  readonly scalars: number
  readonly digits: number
  readonly count: number
  /** From a window's digit to the next one's, in digits. */
  readonly stride: number
  readonly windowBits: number
}

/** Scalars that a unit takes apart: about 5 ms. */
const DIGITS_UNIT = 2 ** 16

/** Additions of a unit: about 100 ms in G1 (0.4 µs each) and, at half as many, in G2. */
const UNIT_ADDITIONS: Readonly<Record<Group, number>> = { g1: 2 ** 18, g2: 2 ** 17 }

/**
 * With 16 units a thread the last ones to run cost at most a sixteenth; each unit reads a digit of every point, 2 ns
 * each.
 */
const UNITS_PER_THREAD = 16
const MIN_UNIT_ADDITIONS = 2 ** 14

function takeDigits(context: ThreadContext, { scalars, digits, count, stride, windowBits }: DigitsArgs): void {
  const { buffer } = context.memory
  const digitCount = (windowCount(windowBits) - 1) * stride + count
  signedDigits(
    new Uint32Array(buffer, scalars, (count * SCALAR_BYTES) / 4),
    new Int16Array(buffer, digits, digitCount),
    stride,
    windowBits,
  )
}

/** Tasks of this file, by the name under which the registry of the compute threads has them. */
export const MSM_TASKS: {
  readonly 'msm.digits': ThreadTask<DigitsArgs, void>
  readonly 'msm.window': ThreadTask<WindowArgs, Uint8Array>
  readonly 'msm.combine': ThreadTask<CombineArgs, Uint8Array>
} = { 'msm.digits': takeDigits, 'msm.window': sumWindow, 'msm.combine': combineWindows }

/**
 * The width c with the fewest additions: W windows, each with one addition a point and 2.4 a bucket (two in the running
 * sums of reduceBuckets, and what its short batches lose).
 */
export function windowBits(count: number): number {
  let best = MIN_WINDOW_BITS
  let least = Infinity
  for (let bits = MIN_WINDOW_BITS; bits <= MAX_WINDOW_BITS; bits++) {
    const additions = windowCount(bits) * (count + 2.4 * 2 ** (bits - 1))
    if (additions < least) [best, least] = [bits, additions]
  }
  return best
}

/** Working memory of a multiexp of `count` points: their digits. */
export function digitsBytes(count: number): number {
  return count * windowCount(windowBits(count)) * DIGIT_BYTES
}

/** Infinity, uncompressed. */
export function encodedInfinity(group: Group): Uint8Array {
  const encoded = new Uint8Array(ENCODED_BYTES[group])
  encoded[0] = 0x40
  return encoded
}

/** The units of each window: its buckets in equal ranges. */
function planWindows(
  args: Omit<WindowArgs, 'window' | 'low' | 'buckets'>,
  bits: number,
  threads: number,
): WindowArgs[][] {
  const windows = windowCount(bits)
  const allBuckets = 2 ** (bits - 1)
  const wanted = Math.max(
    Math.ceil(args.count / UNIT_ADDITIONS[args.group]),
    Math.ceil(allBuckets / MAX_UNIT_BUCKETS[args.group]),
    // Enough units that the threads end together, none so short that reading all scalars for it shows.
    Math.min(Math.ceil((UNITS_PER_THREAD * threads) / windows), Math.floor(args.count / MIN_UNIT_ADDITIONS)),
    1,
  )
  const buckets = Math.max(1, Math.ceil(allBuckets / wanted))
  return Array.from({ length: windows }, (_, window) => {
    const units: WindowArgs[] = []
    for (let low = 0; low < allBuckets; low += buckets) {
      units.push({ ...args, window, low, buckets: Math.min(buckets, allBuckets - low) })
    }
    return units
  })
}

/**
 * Sums `scalar[i] · point[i]` on all threads of a pool.
 *
 * @param points address of imported points (`POINT_BYTES` each, none of them infinity)
 * @param scalars address of canonical scalars, 32 bytes little-endian each, aligned to 4
 * @returns the sum, uncompressed big-endian (infinity has the flag 0x40)
 * @throws `run.signal.reason` once the signal aborts; RangeError if the pool's memory does not suffice
 */
export async function multiexp(
  pool: ThreadPool,
  group: Group,
  points: number,
  scalars: number,
  count: number,
  run: Run,
): Promise<Uint8Array> {
  run.signal.throwIfAborted()
  if (count === 0) return encodedInfinity(group)
  const bits = windowBits(count)
  const digits = pool.arena.allocate(digitsBytes(count))
  try {
    const quiet: Run = { ...run, unit: () => {} }
    const units: DigitsArgs[] = []
    for (let first = 0; first < count; first += DIGITS_UNIT) {
      units.push({
        scalars: scalars + first * SCALAR_BYTES,
        digits: digits + first * DIGIT_BYTES,
        count: Math.min(DIGITS_UNIT, count - first),
        stride: count,
        windowBits: bits,
      })
    }
    await pool.run<DigitsArgs, void>('msm.digits', units, quiet)
    const plan = planWindows({ group, points, digits, count }, bits, pool.threads)
    const sums = await pool.run<WindowArgs, Uint8Array>('msm.window', plan.flat(), run)
    let next = 0
    const windows = plan.map((ranges) => ranges.map(() => sums[next++] as Uint8Array))
    const [sum] = await pool.run<CombineArgs, Uint8Array>('msm.combine', [{ group, windowBits: bits, windows }], quiet)
    return sum as Uint8Array
  } finally {
    pool.arena.free(digits)
  }
}

/**
 * The same on the calling thread, for sums that are short (a verifier's): up to about 2^15 points.
 * @param digits address of `digitsBytes(count)` bytes of working memory
 */
export function multiexpSync(
  context: ThreadContext,
  group: Group,
  points: number,
  scalars: number,
  count: number,
  digits: number,
): Uint8Array {
  if (count === 0) return encodedInfinity(group)
  const bits = windowBits(count)
  takeDigits(context, { scalars, digits, count, stride: count, windowBits: bits })
  const plan = planWindows({ group, points, digits, count }, bits, 1)
  const windows = plan.map((units) => units.map((unit) => sumWindow(context, unit)))
  return combineWindows(context, { group, windowBits: bits, windows })
}
