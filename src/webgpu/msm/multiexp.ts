/**
 * Σ s_i P_i on the device: Pippenger with signed windows, entries sorted by bucket, bucket sums by rounds of batch-affine pairs.
 *
 * With n points, windows of w bits and W = ⌈255 / w⌉ of them: W · n entries, as many additions less the buckets, then 2 · W · 2^(w−1)
 * for the reduction. A scalar 0 has no entry, a scalar 1 one in the lowest window.
 */
import { decodeSumG1, decodeSumG2, encodeG1, encodeG2 } from '../../curve/encoding.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { BatchAffine, batchAffineKernels, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import { reduceBuckets, reducedPoints } from './bucket-reduction.ts'
import { combineWindows } from './combine.ts'
import { SCAN_KERNELS, Scan } from './scan.ts'

const SCALAR_BITS = 255
/** Rounds whose totals are counted at once: buckets of up to 2^26 entries. */
const MAX_ROUNDS = 26

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
  bindings: ['read', 'read', 'read', 'read_write', 'read_write', 'uniform'],
}
const countsKernel: Kernel = {
  name: 'round counts',
  fields: [],
  parts: ['invocation.wgsl', 'msm/round-counts.wgsl'],
  entry: 'round_counts',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}
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

export const multiexpKernels = (group: Group): readonly Kernel[] => [
  countKernel,
  placeKernel,
  countsKernel,
  rangesKernel,
  PAIRS_KERNEL[group],
  ...SCAN_KERNELS,
  ...batchAffineKernels(group),
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
  /** Largest number of pairs added in one slice. @default 2^20 in G1, half in G2 */
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
  if (count === 0) return combineWindows(new Uint32Array((reducedPoints(2) * POINT_BYTES[group]) / 4), group, 1, 3)
  const window = options.window ?? windowBits(count)
  const windows = Math.ceil(SCALAR_BITS / window)
  const buckets = windows * 2 ** (window - 1)
  await gpu.prepare(multiexpKernels(group))
  const set = new BufferSet(gpu)
  try {
    const entries = windows * count
    const slice = Math.min(options.slicePairs ?? (group === 'g1' ? 2 ** 20 : 2 ** 19), Math.max(64, entries))
    const adder = set.own(await BatchAffine.create(gpu, group, slice))
    const sums = await set.allocate(buckets * POINT_BYTES[group], 'bucket sums')
    await accumulate(gpu, group, { points, scalars, first, count, window, windows, buckets }, adder, sums, run)
    run.signal.throwIfAborted()
    const reduced = set.own(await reduceBuckets(gpu, group, adder, sums, windows, window - 1))
    const bytes = await gpu.download(reduced.points, 0, windows * reducedPoints(window - 1) * POINT_BYTES[group])
    run.unit(1)
    return combineWindows(new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4), group, windows, window)
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
    const part: Run = { signal: run.signal, unit: (share) => run.unit((at + share * size) / count) }
    // 256 bytes is the strictest alignment of a binding; a tile's points start at a multiple of it.
    const range = {
      buffer: whole.buffer,
      offset: whole.offset + at * POINT_BYTES[group],
      size: size * POINT_BYTES[group],
    }
    sums.push(await multiexp(gpu, group, range, scalars, first + at, size, part, options))
  }
  return group === 'g1'
    ? encodeG1(sums.map(decodeSumG1).reduce((a, b) => a.add(b)))
    : encodeG2(sums.map(decodeSumG2).reduce((a, b) => a.add(b)))
}

interface Task {
  readonly points: BufferRange
  readonly scalars: GPUBuffer
  readonly first: number
  readonly count: number
  readonly window: number
  readonly windows: number
  readonly buckets: number
}

/** Sorts the entries and adds pairs, round by round, until every bucket has its sum. */
async function accumulate(
  gpu: Gpu,
  group: Group,
  task: Task,
  adder: BatchAffine,
  sums: GPUBuffer,
  run: Run,
): Promise<void> {
  const { points, scalars, first, count, window, windows, buckets } = task
  const pointBytes = POINT_BYTES[group]
  const set = new BufferSet(gpu)
  try {
    const scan = set.own(await Scan.create(gpu, buckets))
    let counts = await set.allocate(4 * buckets + 16, 'bucket counts')
    let nextCounts = await set.allocate(4 * buckets + 16, 'next bucket counts')
    let starts = await set.allocate(4 * buckets, 'bucket starts')
    let nextStarts = await set.allocate(4 * buckets, 'next bucket starts')
    const ranges = await set.allocate(16 * buckets, 'bucket ranges')
    const totals = await set.allocate(4 * MAX_ROUNDS + 32, 'round totals')
    const entryBytes = 4 * windows * count
    const ranks = await set.allocate(entryBytes, 'ranks')
    const entries = await set.allocate(entryBytes, 'entries')
    let entryBucket = await set.allocate(entryBytes, 'buckets of entries')
    const params = [count, window, windows, first]
    const groups = Math.ceil(count / 64)
    await gpu
      .commands('sort entries')
      // Zero words are infinity.
      .clear(sums, 0, buckets * pointBytes)
      .clear(counts, 0, 4 * buckets)
      .clear(totals, 0, 4 * MAX_ROUNDS + 4)
      .dispatch(countKernel, { buffers: [scalars, counts, ranks], params, workgroups: groups })
      .submit()
    const sort = gpu.commands('sort entries')
    scan.record(sort, counts, starts, buckets)
    sort
      .dispatch(placeKernel, { buffers: [scalars, starts, ranks, entries, entryBucket], params, workgroups: groups })
      .dispatch(countsKernel, {
        buffers: [counts, nextCounts, totals],
        params: [buckets, MAX_ROUNDS],
        workgroups: Math.ceil(buckets / 256),
      })
    await sort.submit()
    const totalBytes = await gpu.download(totals, 0, 4 * MAX_ROUNDS + 4)
    const pairsOfRound = new Uint32Array(totalBytes.buffer, totalBytes.byteOffset, MAX_ROUNDS)
    let live = new Uint32Array(totalBytes.buffer, totalBytes.byteOffset, MAX_ROUNDS + 1)[MAX_ROUNDS] as number
    // Every pair halves: the first round is the largest of all.
    const largest = Math.max(1, pairsOfRound[0] as number)
    const pairs = await set.allocate(8 * largest, 'pairs')
    let nextBucket = await set.allocate(4 * largest, 'buckets of pairs')
    let current = await set.allocate(pointBytes * largest, 'sums of pairs')
    let spare = await set.allocate(pointBytes * Math.max(1, pairsOfRound[1] as number), 'sums of pairs')
    const allPairs = pairsOfRound.reduce((sum, value) => sum + value, 0)
    let done = 0
    let source: BufferRange = points
    for (let round = 0; live > 0; round++) {
      run.signal.throwIfAborted()
      const pairCount = pairsOfRound[round] ?? 0
      const commands = gpu.commands('round')
      if (round > 0) {
        commands.dispatch(countsKernel, {
          buffers: [counts, nextCounts, totals],
          params: [buckets, 0],
          workgroups: Math.ceil(buckets / 256),
        })
      }
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
      for (let at = 0; at < pairCount; at += adder.slicePairs) {
        adder.record(
          commands,
          { points: source, source: { kind: 'list', pairs }, sums: current },
          at,
          Math.min(adder.slicePairs, pairCount - at),
        )
      }
      await commands.submit()
      done += pairCount
      run.unit((0.9 * done) / Math.max(1, allPairs))
      live = pairCount
      source = current
      ;[current, spare] = [spare, current]
      ;[counts, nextCounts] = [nextCounts, counts]
      ;[starts, nextStarts] = [nextStarts, starts]
      ;[entryBucket, nextBucket] = [nextBucket, entryBucket]
    }
  } finally {
    set.release()
  }
}
