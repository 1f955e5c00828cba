/**
 * Σ s_i P_i on the device: Pippenger with signed windows, entries sorted by bucket, bucket sums by rounds of
 * batch-affine pairs.
 *
 * With n points, windows of w bits and W = ⌈255 / w⌉ of them: W · n entries, as many additions less the buckets, then 2
 * · W · 2^(w−1) for the reduction. A scalar 0 has no entry, a scalar 1 one in the lowest window.
 */
import type { Run } from '../../groth16/proving-device.ts'
import { portion } from '../../groth16/run-portion.ts'
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { ADDITION_COST, type BatchAffine, batchAffineKernels, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import { EXPORT_KERNEL, recordExport } from '../curve/export-points.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { UnitStream } from '../unit-stream.ts'
import { recordReduction, reducedPoints, reductionAdditions } from './bucket-reduction.ts'
import { bucketSumsKernels } from './bucket-sums.ts'
import { addSums, combineReduced } from './combine.ts'
import { type MultiexpPlan, mostPoints, type PlanOptions, planMultiexp, workBuffers } from './plan.ts'
import { type Scalars, SORT_KERNELS } from './sort-entries.ts'
import { mostTileWork, recordTile } from './tile-sums.ts'

/** Everything that a sum dispatches. */
export const multiexpKernels = (group: Group): readonly Kernel[] => [
  ...SORT_KERNELS,
  ...bucketSumsKernels(group),
  ...batchAffineKernels(group),
  EXPORT_KERNEL,
]

/** Memory for a sum, and overrides for tests and benches. */
export interface MultiexpOptions extends PlanOptions {
  /** Points of a tile, a multiple of 8. @default {@link maxPoints} */
  readonly tilePoints?: number
  /** Device memory for the work buffers. @default as much as is of use */
  readonly memoryBytes?: number | undefined
}

/** Points that one sum takes at most; longer ones go tile by tile. */
export const maxPoints = (gpu: Gpu, group: Group): number => mostPoints(group, gpu.bindingBytes)

/**
 * @param points packed points
 * @param scalars a buffer of scalars, 32 bytes little-endian each, canonical; those from `first` on belong to the
 * points
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
  const { bindingBytes, tuning } = gpu
  const { memoryBytes } = options
  const plan = planMultiexp({ group, count, bindingBytes, memoryBytes, bucketCost: tuning.bucketCost }, options)
  const [sum] = await sumTile(gpu, plan, points, { buffer: scalars, first }, run)
  return sum as Uint8Array
}

/** The place of a sum among those that are made at the same time. */
export interface SumOrder {
  /** Its rounds wait for this. */
  readonly after?: Promise<unknown> | undefined
  /** Called once all of it is recorded, and most of it submitted. */
  readonly recorded?: (() => void) | undefined
}

/** The sums of one tile of points, as many as the plan has parts. */
export async function sumTile(
  gpu: Gpu,
  plan: MultiexpPlan,
  points: BufferRange,
  scalars: Scalars,
  run: Run,
  { after, recorded }: SumOrder = {},
): Promise<Uint8Array[]> {
  const { group } = plan
  await gpu.prepare(multiexpKernels(group))
  const set = new BufferSet(gpu)
  try {
    const bytes = workBuffers(plan)
    const sums = { buffer: await set.allocate(bytes.sums, 'bucket sums'), offset: 0, size: bytes.sums }
    const work = reductionWork(plan)
    const stream = new UnitStream(gpu, 'multiexp', run, mostTileWork(plan, ADDITION_COST[group]) + work)
    const { adder, pairSums } = await recordTile(gpu, set, stream, plan, { points, scalars, sums, after }, work)
    return await finishSum(gpu, set, stream, plan, adder, sums.buffer, pairSums, recorded)
  } finally {
    set.release()
  }
}

/** Windows of all sums. */
const allWindows = ({ windows, parts }: MultiexpPlan): number => windows * parts.length

/** Work of {@link finishSum}, as {@link UnitStream} counts it. */
export const reductionWork = (plan: MultiexpPlan): number =>
  ADDITION_COST[plan.group] * reductionAdditions(allWindows(plan), plan.window - 1)

/**
 * From the sums of all buckets, which are overwritten, to the encoded sums.
 * @param other as `pairSums` of the plan
 * @param recorded called once all is recorded
 */
export async function finishSum(
  gpu: Gpu,
  set: BufferSet,
  stream: UnitStream,
  plan: MultiexpPlan,
  adder: BatchAffine,
  sums: GPUBuffer,
  other: GPUBuffer,
  recorded?: () => void,
): Promise<Uint8Array[]> {
  const { group, window } = plan
  const windows = allWindows(plan)
  const left = windows * reducedPoints(window - 1)
  const encoded = await set.allocate(left * POINT_BYTES[group], 'encoded sums')
  const reduced = await recordReduction(stream, adder, { sums, other, windows, v: window - 1 })
  recordExport(stream.commands, group, reduced, encoded, left)
  recorded?.()
  // The last unit is submitted at once, the copy behind it; both are waited for together.
  const [, bytes] = await Promise.all([stream.finish(), gpu.download(encoded, 0, left * POINT_BYTES[group])])
  return combineReduced(bytes, plan)
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
    const part = portion(run, at / count, (at + size) / count)
    sums.push(await multiexp(gpu, group, range, scalars, first + at, size, part, options))
  }
  return addSums(group, sums)
}
