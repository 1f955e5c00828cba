/** Sums of the entries of every bucket: rounds that add pairs of neighbours, all buckets of a run's windows together. */
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

export const bucketSumsKernels = (group: Group): readonly Kernel[] => [...BUCKET_RANGES_KERNELS, PAIRS_KERNEL[group]]

/** Entries of which making pairs costs as much as an addition of two. */
const ENTRIES_PER_ADDITION = 32

/** Work of all rounds, as {@link UnitStream} counts it. */
export const roundsWork = (group: Group, { entries, pairsOfRound }: RunTotals): number =>
  pairsOfRound.reduce((sum, pairs) => sum + pairs * (ADDITION_COST[group] + 1 / ENTRIES_PER_ADDITION), 0) +
  entries / ENTRIES_PER_ADDITION

export interface RoundBuffers {
  readonly points: BufferRange
  readonly entries: GPUBuffer
  readonly entryBucket: GPUBuffer
  readonly pairs: GPUBuffer
  readonly pairBucket: GPUBuffer
  readonly pairSums: GPUBuffer
  readonly nextPairSums: GPUBuffer
  /** Sums of the run's buckets, infinity beforehand. */
  readonly sums: BufferRange
}

/** Records the rounds. A bucket with one point left is done: the point moves to its sum. */
export async function recordRounds(
  stream: UnitStream,
  group: Group,
  adder: BatchAffine,
  ranges: BucketRanges,
  buckets: number,
  { entries: total, pairsOfRound }: RunTotals,
  buffers: RoundBuffers,
): Promise<void> {
  const { entries, pairs, sums } = buffers
  let [bucketOf, nextBucketOf] = [buffers.entryBucket, buffers.pairBucket]
  let [current, spare] = [buffers.pairSums, buffers.nextPairSums]
  let source = buffers.points
  let live = total
  for (let round = 0; live > 0; round++) {
    ranges.recordNext(stream.commands, buckets)
    stream.commands.dispatch(PAIRS_KERNEL[group], {
      buffers: [source, entries, bucketOf, ranges.ranges, pairs, nextBucketOf, sums],
      params: [live, round === 0 ? 1 : 0],
      workgroups: Math.ceil(live / 64),
    })
    await stream.recorded(live / ENTRIES_PER_ADDITION)
    const pairCount = pairsOfRound[round] ?? 0
    await adder.recordRound(stream, { points: source, source: { kind: 'list', pairs }, sums: current }, pairCount)
    live = pairCount
    source = current
    ;[current, spare] = [spare, current]
    ;[bucketOf, nextBucketOf] = [nextBucketOf, bucketOf]
  }
}
