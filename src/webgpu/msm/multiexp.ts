/**
 * Σ s_i P_i on the device: Pippenger with signed windows, entries sorted by bucket, bucket sums by rounds of batch-affine pairs.
 *
 * With n points, windows of w bits and W = ⌈255 / w⌉ of them: W · n entries, as many additions less the buckets, then 2 · W · 2^(w−1)
 * for the reduction. A scalar 0 has no entry, a scalar 1 one in the lowest window.
 */
import type { Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { ADDITION_COST, BatchAffine, batchAffineKernels, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import { EXPORT_KERNEL, recordExport } from '../curve/export-points.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { UnitStream } from '../unit-stream.ts'
import { BucketRanges } from './bucket-ranges.ts'
import { recordReduction, reducedPoints, reductionAdditions } from './bucket-reduction.ts'
import { bucketSumsKernels, recordRounds, roundsWork } from './bucket-sums.ts'
import { addSums, combineReduced } from './combine.ts'
import {
  bucketsOfWindow,
  MAX_ROUNDS,
  mostPoints,
  type PlanOptions,
  planMultiexp,
  type WorkBuffer,
  workBuffers,
} from './plan.ts'
import {
  countEntries,
  countingWork,
  placingWork,
  recordEntryBuckets,
  recordPlacing,
  SORT_KERNELS,
} from './sort-entries.ts'

export const multiexpKernels = (group: Group): readonly Kernel[] => [
  ...SORT_KERNELS,
  ...bucketSumsKernels(group),
  ...batchAffineKernels(group),
  EXPORT_KERNEL,
]

export interface MultiexpOptions extends PlanOptions {
  /** Points of a tile, a multiple of 8. @default {@link maxPoints} */
  readonly tilePoints?: number
  /** Device memory for the work buffers. @default as much as is of use */
  readonly memoryBytes?: number | undefined
}

/** Points that one sum takes at most; longer ones go tile by tile. */
export const maxPoints = (gpu: Gpu, group: Group): number => mostPoints(group, gpu.bindingBytes)

/** Progress of a part of a run. */
export const partOf = (run: Run, from: number, to: number): Run => ({
  ...run,
  unit: (share) => run.unit(from + share * (to - from)),
})

/**
 * @param points packed points
 * @param scalars a buffer of scalars, 32 bytes little-endian each, canonical; those from `first` on belong to the points
 * @returns the sum, uncompressed big-endian
 */
export async function multiexp(
  gpu: Gpu,
  group: Group,
  points: BufferRange,
  scalars: GPUBuffer,
  first: number,
  count: number,
  run: Run,
  options: MultiexpOptions = {},
): Promise<Uint8Array> {
  const tile = Math.min(maxPoints(gpu, group), options.tilePoints ?? count)
  if (count > tile) return await tiled(gpu, group, points, scalars, first, count, run, options, tile)
  if (count === 0) return addSums(group, [])
  const { bindingBytes } = gpu
  const plan = planMultiexp({ group, count, bindingBytes, memoryBytes: options.memoryBytes }, options)
  const { window, windows, runs, mergedAfter, slicePairs } = plan
  await gpu.prepare(multiexpKernels(group))
  const set = new BufferSet(gpu)
  try {
    const bytes = workBuffers(plan)
    const make = (name: WorkBuffer): Promise<GPUBuffer> => set.allocate(bytes[name], `${name} of a sum`)
    const counts = await make('counts')
    const ranks = await make('ranks')
    const digits = { buffer: scalars, first }
    const ofWindow = bucketsOfWindow(window)
    const reduction = ADDITION_COST[group] * reductionAdditions(windows, window - 1)
    const sorting = countingWork(plan) + runs.reduce((sum, [, to]) => sum + placingWork(plan, to), 0)
    // At first as if every digit were an addition.
    const stream = new UnitStream(gpu, 'multiexp', run, sorting + windows * count * ADDITION_COST[group] + reduction)
    const readTotals = await countEntries(gpu, stream, plan, digits, { counts, ranks, totals: await make('totals') })
    const ranges = await BucketRanges.create(gpu, set, counts, bytes)
    const lists = { entries: await make('entries'), entryBucket: await make('entryBucket') }
    const sums = await make('sums')
    // Zero words are infinity.
    stream.commands.clear(sums, 0, bytes.sums)
    const place = async ([from, to]: readonly [number, number]): Promise<void> => {
      ranges.recordFirst(stream.commands, from * ofWindow, (to - from) * ofWindow)
      await recordPlacing(stream, plan, [from, to], digits, { ranges: ranges.ranges, ranks, entries: lists.entries })
    }
    // What the first run adds is not known yet, where its entries lie is: the device does that while totals are read.
    await place(runs[0] as readonly [number, number])
    await stream.flush()
    const adder = set.own(await BatchAffine.create(gpu, group, slicePairs))
    const pairs = { pairs: await make('pairs'), pairBucket: await make('pairBucket') }
    const pairSums = await make('pairSums')
    const nextPairSums = await make('nextPairSums')
    const encoded = await make('encoded')
    const mergedSums = await make('mergedSums')
    const mergedBucket = await make('mergedBucket')
    const totals = await readTotals()
    stream.expect(sorting + totals.reduce((sum, total) => sum + roundsWork(group, total), 0) + reduction)
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
    const reduced = await recordReduction(stream, adder, { sums, other: pairSums, windows, v: window - 1 })
    recordExport(stream.commands, group, reduced, encoded, windows * reducedPoints(window - 1))
    // The last unit is submitted at once, the copy behind it; both are waited for together.
    const [, left] = await Promise.all([stream.finish(), gpu.download(encoded, 0, bytes.encoded)])
    return combineReduced(left, group, windows, window)
  } finally {
    set.release()
  }
}

/** Tile after tile; their sums are added on the host. */
async function tiled(
  gpu: Gpu,
  group: Group,
  points: BufferRange,
  scalars: GPUBuffer,
  first: number,
  count: number,
  run: Run,
  options: MultiexpOptions,
  tile: number,
): Promise<Uint8Array> {
  const whole = 'buffer' in points ? points : { buffer: points, offset: 0, size: points.size }
  const sums: Uint8Array[] = []
  for (let at = 0; at < count; at += tile) {
    run.signal.throwIfAborted()
    const size = Math.min(tile, count - at)
    // 256 bytes is the strictest alignment of a binding; a tile's points start at a multiple of it.
    const range = {
      buffer: whole.buffer,
      offset: whole.offset + at * POINT_BYTES[group],
      size: size * POINT_BYTES[group],
    }
    const part = partOf(run, at / count, (at + size) / count)
    sums.push(await multiexp(gpu, group, range, scalars, first + at, size, part, options))
  }
  return addSums(group, sums)
}
