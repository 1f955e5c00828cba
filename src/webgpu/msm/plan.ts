/**
 * How a sum is cut: bits of a window, windows that are summed together, pairs added at a time; and the device memory
 * that it takes. Pure arithmetic, so that a budget can count what a device will allocate.
 */
import { ROUNDED } from '../allocation.ts'
import { batchAffineBytes, type Group, POINT_BYTES, slicePairsIn } from '../curve/batch-affine.ts'
import { DEFAULT_TUNING } from '../tuning.ts'
import { reducedPoints } from './bucket-reduction.ts'
import { scanBytes } from './scan.ts'

/** Scalars are below r < 2^255 and their signs folded (below 2^254): signed windows of so many bits leave no carry. */
const SCALAR_BITS = 255

/** Rounds whose totals are counted at once: buckets of up to 2^26 entries. */
export const MAX_ROUNDS = 26
/** Words of a run's totals: the pairs of each round, then the entries. */
export const TOTALS_WORDS = 32

/** Longest sum in one go: in G1 its gathers stay within 1.5 GiB (past 3 GiB they are several times slower). */
const MOST_POINTS = 2 ** 24
const LEAST_WINDOW = 4
const MOST_WINDOW = 20
/** Past this, an addition no longer pays for the latency of its kernels. */
const MOST_SLICE: Readonly<Record<Group, number>> = { g1: 2 ** 24, g2: 2 ** 22 }
/** Of the memory, what slices get at least. */
const SLICE_SHARE = 0.1
/**
 * What a round costs however small it is, in additions: 0.2 ms on a large card, next to nothing on a slow one, which
 * gets no long sums.
 */
const MOST_ROUND_COST = 2 ** 18

/** What a plan follows from. */
export interface PlanInput {
  readonly group: Group
  /** Points, at most {@link mostPoints}. */
  readonly count: number
  /**
   * How many of them belong to each of several sums that are made together, one after the other. @default all to one
   */
  readonly parts?: readonly number[] | undefined
  /** Largest range of a buffer that a kernel may be given. */
  readonly bindingBytes: number
  /** Device memory for the work buffers. @default as much as is of use */
  readonly memoryBytes?: number | undefined
  /**
   * As an adapter was seen to have it. It decides the window only where that takes no more memory. @default that of
   * {@link DEFAULT_TUNING}
   */
  readonly bucketCost?: number | undefined
}

/** Overrides for tests and benches. */
export interface PlanOptions {
  /** Bits of a window. @default the cheapest */
  readonly window?: number | undefined
  /** Largest number of windows that are summed together. @default what fits */
  readonly windowsAtOnce?: number | undefined
  /** Largest number of pairs added in one slice. @default what fits */
  readonly slicePairs?: number | undefined
}

/** How a sum is cut. */
export interface MultiexpPlan {
  readonly group: Group
  readonly count: number
  /** Points of each sum: their buckets lie side by side, window by window. */
  readonly parts: readonly number[]
  /** Bits of a window. */
  readonly window: number
  readonly windows: number
  /** Windows that are summed together: from the first number up to the second. */
  readonly runs: readonly (readonly [from: number, to: number])[]
  /** Rounds after which what is left of all runs goes on together; absent with one run, or where memory is short. */
  readonly mergedAfter: number | undefined
  /** Largest number of pairs added in one slice. */
  readonly slicePairs: number
}

type Cut = Omit<MultiexpPlan, 'slicePairs'>

/** Buckets of a window of so many bits: one for each digit but 0, whose sign is the point's. */
export const bucketsOfWindow = (window: number): number => 2 ** (window - 1)
const windowsOf = (window: number): number => Math.ceil(SCALAR_BITS / window)

const partsOf = ({ count, parts = [count] }: PlanInput): readonly number[] => parts
const sumOf = (parts: readonly number[], of: (points: number) => number): number =>
  parts.reduce((sum, points) => sum + of(points), 0)

/** Buckets of one window of all sums. */
export const bucketsAtOnce = ({ parts, window }: Pick<MultiexpPlan, 'parts' | 'window'>): number =>
  parts.length * bucketsOfWindow(window)

/**
 * Pairs of a first round at most: half of the entries, and half a pair more for a bucket with an odd number of them.
 */
const mostPairs = (windows: number, window: number, parts: readonly number[]): number =>
  windows * sumOf(parts, (points) => Math.ceil((points + Math.min(points, bucketsOfWindow(window))) / 2))

/**
 * Additions of a sum with windows of so many bits: one an entry, those of each bucket's reduction, and what its rounds
 * cost. The topmost window may be left with a few bits only: then all points meet in few buckets, which take a round a
 * bit of their number.
 */
function cost(input: PlanInput, window: number): number {
  const { count, bucketCost = DEFAULT_TUNING.bucketCost } = input
  const parts = partsOf(input)
  const windows = windowsOf(window)
  const topBits = Math.max(0, SCALAR_BITS - 1 - (windows - 1) * window)
  const crowd = Math.max(1, Math.max(...parts) / 2 ** Math.min(topBits, window - 1))
  const ofRound = Math.min(MOST_ROUND_COST, count / 16)
  const buckets = parts.length * bucketsOfWindow(window)
  return windows * (count + bucketCost * buckets) + ofRound * (Math.ceil(Math.log2(crowd)) + window)
}

/** Whether a binding holds the sums of all buckets, and the ranks of all entries. */
function windowFits(input: PlanInput, window: number): boolean {
  const { group, count, bindingBytes } = input
  const buckets = partsOf(input).length * bucketsOfWindow(window)
  return ROUNDED * windowsOf(window) * Math.max(buckets * POINT_BYTES[group], 4 * count) <= bindingBytes
}

/**
 * Bits of a window: the cheapest that fits; undefined if none does. At least 4, so that the sums of a run of windows
 * start where a binding may (256 bytes).
 */
export function windowBits(input: PlanInput): number | undefined {
  let best: number | undefined
  for (let bits = LEAST_WINDOW; bits <= MOST_WINDOW; bits++) {
    if (!windowFits(input, bits)) continue
    if (best === undefined || cost(input, bits) < cost(input, best)) best = bits
  }
  return best
}

/**
 * Points that one sum takes at most; a power of two.
 * @throws {RangeError} bindings that have no room for the buckets of eight points
 */
export function mostPoints(group: Group, bindingBytes: number): number {
  const fit = 2 ** Math.floor(Math.log2(bindingBytes / POINT_BYTES[group]))
  for (let count = Math.min(MOST_POINTS, fit); count >= 8; count /= 2) {
    if (windowBits({ group, count, bindingBytes }) !== undefined) return count
  }
  throw new RangeError(`Bindings of ${bindingBytes} bytes are too small for sums.`)
}

/** Points that are left of all windows after some rounds at most. */
const mostLeft = ({ parts, window, windows }: Cut, rounds: number): number =>
  windows * sumOf(parts, (points) => Math.min(points, Math.ceil(points / 2 ** rounds) + bucketsOfWindow(window)))

/**
 * The earliest round from which on all runs can go on together: what is left of them takes no more memory than the
 * first round's sums of one. Small rounds are ruled by latency, so that the fewer there are the better.
 */
function mergeRound(cut: Cut): number | undefined {
  if (cut.runs.length === 1) return undefined
  const most = Math.max(...cut.runs.map(([from, to]) => to - from))
  const pairs = mostPairs(most, cut.window, cut.parts)
  for (let rounds = 1; rounds < MAX_ROUNDS; rounds++) if (mostLeft(cut, rounds) <= pairs) return rounds
  return undefined
}

/** Work buffers of a sum, beside those of slices and scans. */
export type WorkBuffer =
  | 'counts'
  | 'totals'
  | 'ranks'
  | 'ranges'
  | 'partialSums'
  | 'entries'
  | 'entryBucket'
  | 'pairs'
  | 'pairBucket'
  | 'pairSums'
  | 'nextPairSums'
  | 'mergedSums'
  | 'mergedBucket'
  | 'sums'
  | 'encoded'

/** Bytes of the work buffers that a plan needs. */
export function workBuffers(cut: Cut): Readonly<Record<WorkBuffer, number>> {
  const { group, count, parts, window, windows, runs, mergedAfter } = cut
  const point = POINT_BYTES[group]
  const most = Math.max(...runs.map(([from, to]) => to - from))
  const buckets = windows * bucketsAtOnce(cut)
  const runBuckets = most * bucketsAtOnce(cut)
  const pairs = Math.max(1, mostPairs(most, window, parts))
  const merged = mergedAfter === undefined ? 0 : mostLeft(cut, mergedAfter)
  const lists = Math.max(pairs, merged)
  return {
    counts: 4 * buckets,
    totals: 4 * TOTALS_WORDS * runs.length,
    ranks: 4 * windows * count,
    ranges: 16 * buckets,
    partialSums: 4 * buckets,
    entries: 4 * most * count,
    entryBucket: 4 * most * count,
    pairs: 8 * lists,
    pairBucket: 4 * lists,
    // The reduction takes turns between the sums and this; its first round leaves three quarters of the buckets.
    pairSums: point * Math.max(pairs, Math.ceil((3 * buckets) / 4)),
    nextPairSums: point * Math.ceil((pairs + runBuckets) / 2),
    mergedSums: point * merged,
    mergedBucket: 4 * merged,
    sums: point * buckets,
    encoded: point * windows * parts.length * reducedPoints(window - 1),
  }
}

const total = (plan: Cut): number =>
  Object.values(workBuffers(plan)).reduce((sum, bytes) => sum + bytes, 0) +
  scanBytes(plan.windows * bucketsAtOnce(plan))

/** Device memory that the work buffers of a sum take at most, rounding of allocations included. */
export const multiexpBytes = (plan: MultiexpPlan): number =>
  Math.ceil(ROUNDED * (total(plan) + batchAffineBytes(plan.group, plan.slicePairs)))

/**
 * The plan with the fewest runs and largest slices that fit; if nothing does, the one that needs least.
 * @throws {RangeError} more points than {@link mostPoints}
 */
export function planMultiexp(input: PlanInput, options: PlanOptions = {}): MultiexpPlan {
  const { group, count, bindingBytes, memoryBytes = Number.POSITIVE_INFINITY } = input
  const window = options.window ?? windowBits({ ...input, bucketCost: DEFAULT_TUNING.bucketCost })
  if (window === undefined || count > mostPoints(group, bindingBytes))
    throw new RangeError(`${count} points are too many for one sum with bindings of ${bindingBytes} bytes.`)
  const plan = planWindow(input, options, window)
  const tuned = options.window ?? windowBits(input)
  if (tuned === undefined || tuned === window) return plan
  // Budgets count what the window that needs no measuring takes.
  const limit = memoryBytes < Number.POSITIVE_INFINITY ? memoryBytes : multiexpBytes(plan)
  const other = planWindow(input, options, tuned)
  return multiexpBytes(other) <= limit ? other : plan
}

function planWindow(input: PlanInput, options: PlanOptions, window: number): MultiexpPlan {
  const { group, count, bindingBytes, memoryBytes = Number.POSITIVE_INFINITY } = input
  const parts = partsOf(input)
  const windows = windowsOf(window)
  const memory = memoryBytes / ROUNDED
  for (let number = Math.ceil(windows / (options.windowsAtOnce ?? windows)); ; number++) {
    const runs = Array.from({ length: number }, (_, k): [number, number] => [
      Math.floor((windows * k) / number),
      Math.floor((windows * (k + 1)) / number),
    ])
    const cut: Cut = { group, count, parts, window, windows, runs, mergedAfter: undefined }
    const merged = { ...cut, mergedAfter: mergeRound(cut) }
    const plan = total(merged) <= (1 - SLICE_SHARE) * memory ? merged : cut
    const pairs = mostPairs(Math.ceil(windows / number), window, parts)
    const bytes = total(plan)
    const fits = ROUNDED * POINT_BYTES[group] * pairs <= bindingBytes && bytes <= (1 - SLICE_SHARE) * memory
    if (!fits && number < windows) continue
    const room = Math.max(memory - bytes, SLICE_SHARE * memory)
    const slicePairs = options.slicePairs ?? Math.max(64, slicePairsIn(group, Math.min(pairs, MOST_SLICE[group]), room))
    return { ...plan, slicePairs }
  }
}
