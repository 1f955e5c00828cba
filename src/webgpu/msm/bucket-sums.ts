/**
 * Sums of the entries of every bucket: rounds that add pairs of neighbours, all buckets of a run's windows together.
 */
import type { BufferRange } from '../commands.ts'
import { ADDITION_COST, type BatchAffine, type Group } from '../curve/batch-affine.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import type { UnitStream } from '../unit-stream.ts'
import { BUCKET_RANGES_KERNELS, type BucketRanges } from './bucket-ranges.ts'
import type { RunTotals } from './sort-entries.ts'

const pairsKernel = (group: Group): Kernel => ({
  name: `round pairs ${group}`,
  fields: [{ field: FQ, multiplication: false }],
  parts: ['invocation.wgsl', `curve/coordinate-${group}.wgsl`, 'msm/round-pairs.wgsl'],
  entry: 'round_pairs',
  bindings: ['read', 'read', 'read', 'read', 'read_write', 'read_write', 'read_write', 'uniform'],
})
const PAIRS_KERNEL: Readonly<Record<Group, Kernel>> = { g1: pairsKernel('g1'), g2: pairsKernel('g2') }

/** What rounds dispatch besides additions of points. */
export const bucketSumsKernels = (group: Group): readonly Kernel[] => [...BUCKET_RANGES_KERNELS, PAIRS_KERNEL[group]]

/** Entries of which making pairs costs as much as an addition of two. */
const ENTRIES_PER_ADDITION = 32

/** Work of all rounds, as {@link UnitStream} counts it. */
export const roundsWork = (group: Group, { entries, pairsOfRound }: RunTotals): number =>
  pairsOfRound.reduce((sum, pairs) => sum + pairs * (ADDITION_COST[group] + 1 / ENTRIES_PER_ADDITION), 0) +
  entries / ENTRIES_PER_ADDITION

/** Rounds over consecutive buckets. */
export interface Rounds {
  readonly group: Group
  readonly adder: BatchAffine
  readonly ranges: BucketRanges
  /** Number of the first bucket, and of how many. */
  readonly first: number
  readonly buckets: number
  /** Points that the entries are, or, with `names`, that these name with a sign. */
  readonly points: BufferRange
  readonly names?: GPUBuffer | undefined
  /** Each entry's bucket. */
  readonly bucketOf: GPUBuffer
  /** Number of entries, and of pairs in each round. */
  readonly entries: number
  readonly pairsOfRound: readonly number[]
  /** Work buffers: the pairs, their buckets, and their sums, which take turns with `bucketOf` and the second one. */
  readonly pairs: GPUBuffer
  readonly pairBucket: GPUBuffer
  readonly pairSums: readonly [GPUBuffer, GPUBuffer]
  /** Where the sum of each bucket goes, infinity beforehand. */
  readonly sums: BufferRange
  /** Ends after so many rounds, the sums of the last one and their buckets going elsewhere, from number `base` on. */
  readonly until?:
    | { readonly rounds: number; readonly points: GPUBuffer; readonly bucketOf: GPUBuffer; readonly base: number }
    | undefined
}

/** Records the rounds. A bucket with one point left is done: the point moves to its sum. */
export async function recordRounds(stream: UnitStream, rounds: Rounds): Promise<void> {
  const { group, adder, ranges, first, buckets, names, pairsOfRound, pairs, sums, until } = rounds
  let [bucketOf, nextBucketOf] = [rounds.bucketOf, rounds.pairBucket]
  let [current, spare] = rounds.pairSums
  let { points, entries } = rounds
  const most = until?.rounds ?? pairsOfRound.length + 1
  for (let round = 0; entries > 0 && round < most; round++) {
    const last = until !== undefined && round === until.rounds - 1 ? until : undefined
    const base = last?.base ?? 0
    const target = last?.points ?? current
    ranges.recordNext(stream.commands, first, buckets, base)
    stream.commands.dispatch(PAIRS_KERNEL[group], {
      // Without names the list is not read.
      buffers: [points, names ?? bucketOf, bucketOf, ranges.ranges, pairs, last?.bucketOf ?? nextBucketOf, sums],
      params: [entries, names !== undefined && round === 0 ? 1 : 0],
      workgroups: Math.ceil(entries / 64),
    })
    await stream.recorded(entries / ENTRIES_PER_ADDITION)
    const pairCount = pairsOfRound[round] ?? 0
    await adder.recordRound(stream, { points, source: { kind: 'list', pairs }, sums: target }, pairCount, base)
    entries = pairCount
    points = target
    ;[current, spare] = [spare, current]
    ;[bucketOf, nextBucketOf] = [nextBucketOf, bucketOf]
  }
}
