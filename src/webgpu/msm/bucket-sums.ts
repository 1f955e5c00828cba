/** Sums of the entries of every bucket: rounds that add pairs of neighbours, all buckets of all windows together. */
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { ADDITION_COST, type BatchAffine, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import type { UnitStream } from '../unit-stream.ts'
import type { Scan } from './scan.ts'
import type { SortedEntries } from './sort-entries.ts'

const rangesKernel: Kernel = {
  name: 'round ranges',
  fields: [],
  parts: ['invocation.wgsl', 'msm/round-ranges.wgsl'],
  entry: 'round_ranges',
  bindings: ['read', 'read', 'read', 'read_write', 'uniform'],
}
const pairsKernel = (group: Group): Kernel => ({
  name: `round pairs ${group}`,
  fields: [{ field: FQ, multiplication: false }],
  parts: ['invocation.wgsl', `curve/coordinate-${group}.wgsl`, 'msm/round-pairs.wgsl'],
  entry: 'round_pairs',
  bindings: ['read', 'read', 'read', 'read', 'read_write', 'read_write', 'read_write', 'uniform'],
})
const PAIRS_KERNEL: Readonly<Record<Group, Kernel>> = { g1: pairsKernel('g1'), g2: pairsKernel('g2') }

export const bucketSumsKernels = (group: Group): readonly Kernel[] => [rangesKernel, PAIRS_KERNEL[group]]

/** Entries of which making pairs costs as much as an addition of two. */
const ENTRIES_PER_ADDITION = 32

/** Work of all rounds, as {@link UnitStream} counts it. */
export const roundsWork = (group: Group, { total, pairsOfRound }: SortedEntries): number =>
  pairsOfRound.reduce((sum, pairs) => sum + pairs * (ADDITION_COST[group] + 1 / ENTRIES_PER_ADDITION), 0) +
  total / ENTRIES_PER_ADDITION

export interface RoundBuffers {
  readonly points: BufferRange
  readonly sorted: SortedEntries
  readonly scan: Scan
  readonly buckets: number
  /** Sums of these buckets, infinity beforehand. */
  readonly sums: BufferRange
}

/**
 * Records the rounds. A bucket with one point left is done: the point moves to its sum.
 * @returns buffers of the rounds, to be released once everything was submitted
 */
export async function recordRounds(
  gpu: Gpu,
  stream: UnitStream,
  group: Group,
  adder: BatchAffine,
  { points, sorted, scan, buckets, sums }: RoundBuffers,
): Promise<{ release(): void }> {
  const set = new BufferSet(gpu)
  try {
    const { pairsOfRound, entries, recordNextCounts } = sorted
    let { counts, nextCounts, starts, entryBucket } = sorted
    let nextStarts = await set.allocate(4 * buckets, 'next bucket starts')
    const ranges = await set.allocate(16 * buckets, 'bucket ranges')
    // Every round halves: the first one is the largest of all.
    const largest = Math.max(1, pairsOfRound[0] as number)
    const pairs = await set.allocate(8 * largest, 'pairs')
    let nextBucket = await set.allocate(4 * largest, 'buckets of pairs')
    let current = await set.allocate(POINT_BYTES[group] * largest, 'sums of pairs')
    let spare = await set.allocate(POINT_BYTES[group] * Math.max(1, pairsOfRound[1] as number), 'sums of pairs')
    let source: BufferRange = points
    let live = sorted.total
    for (let round = 0; live > 0; round++) {
      const { commands } = stream
      if (round > 0) recordNextCounts(commands, counts, nextCounts)
      scan.record(commands, nextCounts, nextStarts, buckets)
      commands
        .dispatch(rangesKernel, {
          buffers: [starts, counts, nextStarts, ranges],
          params: [buckets, 0, 0, 0],
          workgroups: Math.ceil(buckets / 256),
        })
        .dispatch(PAIRS_KERNEL[group], {
          buffers: [source, entries, entryBucket, ranges, pairs, nextBucket, sums],
          params: [live, round === 0 ? 1 : 0],
          workgroups: Math.ceil(live / 64),
        })
      await stream.recorded(live / ENTRIES_PER_ADDITION)
      const pairCount = pairsOfRound[round] ?? 0
      await adder.recordRound(stream, { points: source, source: { kind: 'list', pairs }, sums: current }, pairCount)
      live = pairCount
      source = current
      ;[current, spare] = [spare, current]
      ;[counts, nextCounts] = [nextCounts, counts]
      ;[starts, nextStarts] = [nextStarts, starts]
      ;[entryBucket, nextBucket] = [nextBucket, entryBucket]
    }
    return set
  } catch (error) {
    set.release()
    throw error
  }
}
