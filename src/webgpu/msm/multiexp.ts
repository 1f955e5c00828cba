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
import { recordReduction, reducedPoints, reductionAdditions } from './bucket-reduction.ts'
import { bucketSumsKernels, recordRounds, roundsWork } from './bucket-sums.ts'
import { addSums, combineReduced } from './combine.ts'
import { Scan } from './scan.ts'
import { bucketsOf, SORT_KERNELS, sortEntries } from './sort-entries.ts'

const SCALAR_BITS = 255

export const multiexpKernels = (group: Group): readonly Kernel[] => [
  ...SORT_KERNELS,
  ...bucketSumsKernels(group),
  ...batchAffineKernels(group),
  EXPORT_KERNEL,
]

/** Bits of a window: the choice with the fewest additions, counting two for each bucket. At least 3, so that a reduction has a round. */
export function windowBits(points: number): number {
  let best = 3
  let least = Number.POSITIVE_INFINITY
  for (let bits = 3; bits <= 20; bits++) {
    const additions = Math.ceil(SCALAR_BITS / bits) * (points + 2 * 2 ** (bits - 1))
    if (additions < least) {
      least = additions
      best = bits
    }
  }
  return best
}

/** Points that fit one binding, with the sums of their pairs in one window at least; a power of two. */
export function maxPoints(gpu: Gpu, group: Group): number {
  return 2 ** Math.min(26, Math.floor(Math.log2(gpu.bindingBytes / POINT_BYTES[group])))
}

/** The least number of equal runs of windows such that the first round's sums of pairs of each fit one binding. */
function windowRuns(
  gpu: Gpu,
  group: Group,
  { windows, window, count, most }: { windows: number; window: number; count: number; most: number },
): [from: number, to: number][] {
  // Allocations are rounded up by an eighth at most.
  const pairs = ((gpu.bindingBytes / POINT_BYTES[group]) * 8) / 9
  // Half of the entries, and half a pair more for a bucket with an odd number of them.
  const fit = Math.max(1, Math.min(most, Math.floor((2 * pairs) / (count + 2 ** (window - 1)))))
  const runs = Math.ceil(windows / fit)
  return Array.from({ length: runs }, (_, k) => [
    Math.floor((windows * k) / runs),
    Math.floor((windows * (k + 1)) / runs),
  ])
}

export interface MultiexpOptions {
  /** Points of a tile, a multiple of 8. @default {@link maxPoints} */
  readonly tilePoints?: number
  /** Bits of a window. @default {@link windowBits} of the count */
  readonly window?: number
  /** Largest number of windows that are summed together. @default what fits a binding */
  readonly windowsAtOnce?: number
  /** Largest number of pairs added in one slice. @default by the number of entries */
  readonly slicePairs?: number
}

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
  const window = options.window ?? windowBits(count)
  const windows = Math.ceil(SCALAR_BITS / window)
  const v = window - 1
  const bucketBytes = 2 ** v * POINT_BYTES[group]
  const runs = windowRuns(gpu, group, { windows, window, count, most: options.windowsAtOnce ?? windows })
  await gpu.prepare(multiexpKernels(group))
  const set = new BufferSet(gpu)
  try {
    const entries = Math.max(...runs.map(([from, to]) => to - from)) * count
    const adder = set.own(await BatchAffine.create(gpu, group, options.slicePairs ?? sliceSize(group, entries)))
    const sums = await set.allocate(windows * bucketBytes, 'bucket sums')
    const other = await set.allocate(windows * bucketBytes, 'reduced buckets')
    const left = windows * reducedPoints(v)
    const encoded = await set.allocate(left * POINT_BYTES[group], 'encoded sums')
    // Zero words are infinity.
    await gpu
      .commands('clear buckets')
      .clear(sums, 0, windows * bucketBytes)
      .submit()
    const reduction = ADDITION_COST[group] * reductionAdditions(windows, v)
    for (const [k, [from, to]] of runs.entries()) {
      const last = k === runs.length - 1
      const part: Run = { signal: run.signal, unit: (share) => run.unit((k + share) / runs.length) }
      const digits = { scalars, first, count, window, from, to }
      const range = { buffer: sums, offset: from * bucketBytes, size: (to - from) * bucketBytes }
      const used = new BufferSet(gpu)
      try {
        const scan = used.own(await Scan.create(gpu, bucketsOf(digits)))
        const sorted = await sortEntries(gpu, used, scan, digits)
        const stream = new UnitStream(gpu, 'multiexp', part, roundsWork(group, sorted) + (last ? reduction : 0))
        const round = { points, sorted, scan, buckets: bucketsOf(digits), sums: range }
        used.own(await recordRounds(gpu, stream, group, adder, round))
        if (!last) {
          await stream.finish()
          continue
        }
        const reduced = await recordReduction(stream, adder, { sums, other, windows, v })
        recordExport(stream.commands, group, reduced, encoded, left)
        // The last unit is submitted at once, the copy behind it; both are waited for together.
        const [, bytes] = await Promise.all([stream.finish(), gpu.download(encoded, 0, left * POINT_BYTES[group])])
        return combineReduced(bytes, group, windows, window)
      } finally {
        used.release()
      }
    }
    throw new Error('A sum has at least one run of windows.')
  } finally {
    set.release()
  }
}

/** Pairs of a slice: the more, the less each addition pays for the latency of its six kernels; at most an eighth of the sums' memory. */
function sliceSize(group: Group, entries: number): number {
  const [least, most] = group === 'g1' ? [2 ** 20, 2 ** 22] : [2 ** 19, 2 ** 20]
  return Math.min(Math.max(64, entries), Math.max(least, Math.min(most, Math.ceil(entries / 16))))
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
    const part: Run = { signal: run.signal, unit: (share) => run.unit((at + share * size) / count) }
    // 256 bytes is the strictest alignment of a binding; a tile's points start at a multiple of it.
    const range = {
      buffer: whole.buffer,
      offset: whole.offset + at * POINT_BYTES[group],
      size: size * POINT_BYTES[group],
    }
    sums.push(await multiexp(gpu, group, range, scalars, first + at, size, part, options))
  }
  return addSums(group, sums)
}
