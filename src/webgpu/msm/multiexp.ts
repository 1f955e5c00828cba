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
import { SORT_KERNELS, sortEntries } from './sort-entries.ts'

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

/** Points whose entries and sums of pairs fit one binding each; a power of two. */
export function maxPoints(gpu: Gpu, group: Group): number {
  let points = 8
  for (let next = 16; next <= 2 ** 26; next *= 2) {
    const entries = Math.ceil(SCALAR_BITS / windowBits(next)) * next
    const largest = Math.max(4 * entries, (entries / 2) * POINT_BYTES[group], next * POINT_BYTES[group])
    if (largest > gpu.limits.maxStorageBufferBindingSize) break
    points = next
  }
  return points
}

export interface MultiexpOptions {
  /** Points of a tile, a multiple of 8. @default {@link maxPoints} */
  readonly tilePoints?: number
  /** Bits of a window. @default {@link windowBits} of the count */
  readonly window?: number
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
  const buckets = windows * 2 ** v
  const pointBytes = POINT_BYTES[group]
  await gpu.prepare(multiexpKernels(group))
  const set = new BufferSet(gpu)
  try {
    const adder = set.own(await BatchAffine.create(gpu, group, options.slicePairs ?? sliceSize(group, windows * count)))
    const scan = set.own(await Scan.create(gpu, buckets))
    const sums = await set.allocate(buckets * pointBytes, 'bucket sums')
    const other = await set.allocate(buckets * pointBytes, 'reduced buckets')
    const left = windows * reducedPoints(v)
    const encoded = await set.allocate(left * pointBytes, 'encoded sums')
    const digits = { scalars, first, count, window, windows, buckets }
    const sorted = await sortEntries(gpu, set, scan, digits, { buffer: sums, bytes: buckets * pointBytes })
    const work = roundsWork(group, sorted) + ADDITION_COST[group] * reductionAdditions(windows, v)
    const stream = new UnitStream(gpu, 'multiexp', run, work)
    set.own(await recordRounds(gpu, stream, group, adder, { points, sorted, scan, buckets, sums }))
    const reduced = await recordReduction(stream, adder, { sums, other, windows, v })
    recordExport(stream.commands, group, reduced, encoded, left)
    // The last unit is submitted at once, the copy behind it; both are waited for together.
    const [, bytes] = await Promise.all([stream.finish(), gpu.download(encoded, 0, left * pointBytes)])
    return combineReduced(bytes, group, windows, window)
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
