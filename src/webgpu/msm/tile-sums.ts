/**
 * The bucket sums of one tile of points, or of those of several sums, all windows: its entries sorted, then rounds of
 * pairs, run after run of windows, the last rounds together.
 */
import type { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { BatchAffine } from '../curve/batch-affine.ts'
import type { Gpu } from '../gpu.ts'
import type { UnitStream } from '../unit-stream.ts'
import { BucketRanges } from './bucket-ranges.ts'
import { recordRounds, roundsWork } from './bucket-sums.ts'
import { bucketsAtOnce, MAX_ROUNDS, type MultiexpPlan, type WorkBuffer, workBuffers } from './plan.ts'
import {
  countEntries,
  countingWork,
  placingWork,
  recordEntryBuckets,
  recordPlacing,
  type Scalars,
} from './sort-entries.ts'

/** A range of a buffer. */
export type Range = Exclude<BufferRange, GPUBuffer>

const sortingWork = (plan: MultiexpPlan): number =>
  countingWork(plan) + plan.runs.reduce((sum, [, to]) => sum + placingWork(plan, to), 0)

/** Work of a tile at most, as {@link UnitStream} counts it: as if every digit were an addition. */
export const mostTileWork = (plan: MultiexpPlan, additionCost: number): number =>
  sortingWork(plan) + plan.windows * plan.count * additionCost

/** What is summed, and where to. */
export interface Tile {
  readonly points: BufferRange
  readonly scalars: Scalars
  /** Rounds, all but what is recorded while totals are read, wait for this: another sum that goes before. */
  readonly after?: Promise<unknown> | undefined
  /** Receives the sums of all buckets, window by window, in each of them sum by sum. */
  readonly sums: Range
}

/**
 * Records all of it; most of it is submitted then.
 * @param set owns the work buffers
 * @param laterWork what is recorded into the stream afterwards
 * @returns what is of use afterwards: an adder, and room for the plan's `pairSums`
 */
export async function recordTile(
  gpu: Gpu,
  set: BufferSet,
  stream: UnitStream,
  plan: MultiexpPlan,
  { points, scalars, sums, after }: Tile,
  laterWork: number,
): Promise<{ readonly adder: BatchAffine; readonly pairSums: GPUBuffer }> {
  const { group, windows, runs, mergedAfter, slicePairs } = plan
  const bytes = workBuffers(plan)
  const make = (name: WorkBuffer): Promise<GPUBuffer> => set.allocate(bytes[name], `${name} of a sum`)
  const counts = await make('counts')
  const ranks = await make('ranks')
  const ofWindow = bucketsAtOnce(plan)
  const readTotals = await countEntries(gpu, stream, plan, scalars, { counts, ranks, totals: await make('totals') })
  const ranges = await BucketRanges.create(gpu, set, counts, bytes)
  const lists = { entries: await make('entries'), entryBucket: await make('entryBucket') }
  // Zero words are infinity.
  stream.commands.clear(sums.buffer, sums.offset, bytes.sums)
  const place = async ([from, to]: readonly [number, number]): Promise<void> => {
    ranges.recordFirst(stream.commands, from * ofWindow, (to - from) * ofWindow)
    await recordPlacing(stream, plan, [from, to], scalars, { ranges: ranges.ranges, ranks, entries: lists.entries })
  }
  // What the first run adds is not known yet, where its entries lie is: the device does that while totals are read.
  await place(runs[0] as readonly [number, number])
  await stream.flush()
  const adder = set.own(await BatchAffine.create(gpu, group, slicePairs))
  const pairs = { pairs: await make('pairs'), pairBucket: await make('pairBucket') }
  const pairSums = await make('pairSums')
  const nextPairSums = await make('nextPairSums')
  const mergedSums = await make('mergedSums')
  const mergedBucket = await make('mergedBucket')
  const [totals] = await Promise.all([readTotals(), after])
  stream.expect(sortingWork(plan) + totals.reduce((sum, total) => sum + roundsWork(group, total), 0) + laterWork)
  const common = { group, adder, ranges, ...pairs, sums }
  let base = 0
  for (const [k, { entries, pairsOfRound }] of totals.entries()) {
    const [from, to] = runs[k] as readonly [number, number]
    if (k > 0) await place([from, to])
    const own = { first: from * ofWindow, buckets: (to - from) * ofWindow }
    recordEntryBuckets(stream.commands, ranges.ranges, lists.entryBucket, { ...own, entries })
    await recordRounds(stream, {
      ...common,
      ...own,
      points,
      names: lists.entries,
      bucketOf: lists.entryBucket,
      entries,
      pairsOfRound,
      pairSums: [pairSums, nextPairSums],
      until:
        mergedAfter === undefined
          ? undefined
          : { rounds: mergedAfter, points: mergedSums, bucketOf: mergedBucket, base },
    })
    if (mergedAfter !== undefined) base += pairsOfRound[mergedAfter - 1] ?? 0
  }
  if (mergedAfter !== undefined) {
    const rest = totals.map(({ pairsOfRound }) => pairsOfRound.slice(mergedAfter))
    await recordRounds(stream, {
      ...common,
      first: 0,
      buckets: windows * ofWindow,
      points: mergedSums,
      bucketOf: mergedBucket,
      entries: base,
      pairsOfRound: Array.from({ length: MAX_ROUNDS - mergedAfter }, (_, round) =>
        rest.reduce((sum, ofRun) => sum + (ofRun[round] ?? 0), 0),
      ),
      pairSums: [pairSums, mergedSums],
    })
  }
  return { adder, pairSums }
}
