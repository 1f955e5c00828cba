/**
 * Entries of an MSM sorted by bucket. An entry is a point whose digit in a window is not 0; it belongs to the bucket of
 * that window and of the digit's magnitude. One pass over the scalars counts each bucket's entries and keeps their
 * ranks, prefix sums of the counts say where each bucket starts, a second pass puts the entries there.
 */
import type { Commands } from '../commands.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import type { UnitStream } from '../unit-stream.ts'
import { bucketsAtOnce, MAX_ROUNDS, type MultiexpPlan, TOTALS_WORDS } from './plan.ts'

const digitParts = ['invocation.wgsl', 'msm/scalar-digits.wgsl', 'msm/digit-walk.wgsl']
const countKernel: Kernel = {
  name: 'count entries',
  fields: [],
  parts: [...digitParts, 'msm/count-entries.wgsl'],
  entry: 'count_entries',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}
const placeKernel: Kernel = {
  name: 'place entries',
  fields: [],
  parts: [...digitParts, 'msm/place-entries.wgsl'],
  entry: 'place_entries',
  bindings: ['read', 'read', 'read', 'read_write', 'uniform'],
}
const bucketsKernel: Kernel = {
  name: 'entry buckets',
  fields: [],
  parts: ['invocation.wgsl', 'msm/entry-buckets.wgsl'],
  entry: 'entry_buckets',
  bindings: ['read', 'read_write', 'uniform'],
}
const totalsKernel: Kernel = {
  name: 'round totals',
  fields: [],
  parts: ['invocation.wgsl', 'msm/after-round.wgsl', 'msm/round-totals.wgsl'],
  entry: 'round_totals',
  bindings: ['read', 'read_write', 'uniform'],
}

/** What sorting dispatches. */
export const SORT_KERNELS: readonly Kernel[] = [countKernel, placeKernel, bucketsKernel, totalsKernel]

/** Buckets of a workgroup of the totals. */
const TOTALS_BUCKETS = 4096
/** Entries of a workgroup that looks for their buckets. */
const BUCKETS_ENTRIES = 2048
/** Digits of which counting, or placing, costs as much as an addition of two points. */
const DIGITS_PER_ADDITION = 16

/** Scalars of a sum: those from number `first` on belong to its points. */
export interface Scalars {
  readonly buffer: GPUBuffer
  readonly first: number
}

/** What a run of windows has to add. */
export interface RunTotals {
  readonly entries: number
  readonly pairsOfRound: readonly number[]
}

/** Work of counting, in additions of points in G1. */
export const countingWork = ({ windows, count }: MultiexpPlan): number => (windows * count) / DIGITS_PER_ADDITION
/** Every run walks over the digits below its own, too. */
export const placingWork = ({ count }: MultiexpPlan, to: number): number => (to * count) / DIGITS_PER_ADDITION

/** Dispatches a kernel over the points of all sums, as many at a time as fit the unit, for windows up to `end`. */
async function walk(
  stream: UnitStream,
  kernel: Kernel,
  { count, parts, window }: MultiexpPlan,
  [from, end]: readonly [number, number],
  scalars: Scalars,
  buffers: readonly GPUBuffer[],
): Promise<void> {
  const work = end / DIGITS_PER_ADDITION
  let begin = 0
  for (const [sum, points] of parts.entries()) {
    const last = begin + points
    while (begin < last) {
      const next = Math.min(last, begin + Math.max(64, Math.ceil(stream.room / work)))
      stream.commands.dispatch(kernel, {
        buffers: [scalars.buffer, ...buffers],
        params: [count, window, from, end, scalars.first, begin, next, parts.length, sum],
        workgroups: Math.ceil((next - begin) / 64),
      })
      await stream.recorded((next - begin) * work)
      begin = next
    }
  }
}

/**
 * Records the counting of the entries of all buckets of all windows, and of what each run of windows has to add, and
 * submits it.
 * @returns a function that reads what the runs have to add
 */
export async function countEntries(
  gpu: Gpu,
  stream: UnitStream,
  plan: MultiexpPlan,
  scalars: Scalars,
  { counts, ranks, totals }: { readonly counts: GPUBuffer; readonly ranks: GPUBuffer; readonly totals: GPUBuffer },
): Promise<() => Promise<RunTotals[]>> {
  const { windows, runs } = plan
  const ofWindow = bucketsAtOnce(plan)
  const bytes = 4 * TOTALS_WORDS * runs.length
  stream.commands.clear(counts, 0, 4 * windows * ofWindow).clear(totals, 0, bytes)
  await walk(stream, countKernel, plan, [0, windows], scalars, [counts, ranks])
  for (const [k, [from, to]] of runs.entries()) {
    const buckets = (to - from) * ofWindow
    stream.commands.dispatch(totalsKernel, {
      buffers: [counts, totals],
      params: [from * ofWindow, buckets, MAX_ROUNDS, TOTALS_WORDS * k],
      workgroups: Math.ceil(buckets / TOTALS_BUCKETS),
    })
  }
  const submitted = stream.flush()
  const reading = gpu.download(totals, 0, bytes)
  // Whoever calls the function hears of it; until then it is not unhandled.
  reading.catch(() => {})
  await submitted
  return async () => {
    const { buffer, byteOffset } = await reading
    const words = new Uint32Array(buffer, byteOffset, bytes / 4)
    return runs.map((_, k) => {
      const own = words.subarray(TOTALS_WORDS * k, TOTALS_WORDS * (k + 1))
      return { entries: own[MAX_ROUNDS] as number, pairsOfRound: [...own.subarray(0, MAX_ROUNDS)] }
    })
  }
}

/** Records the placing of a run's entries; the ranges hold where each bucket's begin. */
export async function recordPlacing(
  stream: UnitStream,
  plan: MultiexpPlan,
  windows: readonly [from: number, to: number],
  scalars: Scalars,
  buffers: {
    readonly ranges: GPUBuffer
    readonly ranks: GPUBuffer
    readonly entries: GPUBuffer
  },
): Promise<void> {
  const { ranges, ranks, entries } = buffers
  await walk(stream, placeKernel, plan, windows, scalars, [ranges, ranks, entries])
}

/** Records the buckets of a run's placed entries. */
export function recordEntryBuckets(
  commands: Commands,
  ranges: GPUBuffer,
  entryBucket: GPUBuffer,
  { first, buckets, entries }: { readonly first: number; readonly buckets: number; readonly entries: number },
): void {
  commands.dispatch(bucketsKernel, {
    buffers: [ranges, entryBucket],
    params: [first, buckets, entries],
    workgroups: Math.ceil(entries / BUCKETS_ENTRIES),
  })
}
