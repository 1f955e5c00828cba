/** Points from bellperson's uncompressed big-endian encoding into the packed form, checked to be on the curve. */
import type { LoadOptions, ReadPoints, Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange, Commands } from '../commands.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import { STAGING_BUFFERS, STAGING_BYTES } from '../staging-plan.ts'
import { ADDITION_COST, type Group, POINT_BYTES, POINT_ELEMENTS } from './batch-affine.ts'

/** Converts coordinates of either group. */
export const IMPORT_KERNEL: Kernel = {
  name: 'import coordinates',
  fields: [{ field: FQ, multiplication: false, conversion: true }],
  parts: ['invocation.wgsl', 'curve/import.wgsl'],
  entry: 'import_coordinates',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}

const checkKernel = (group: Group): Kernel => ({
  name: `check ${group}`,
  fields: [{ field: FQ, multiplication: false, accumulation: true }],
  parts: ['invocation.wgsl', `curve/check-${group}.wgsl`, 'curve/check.wgsl'],
  entry: 'check_points',
  bindings: ['read', 'read_write', 'uniform'],
})

/** Checks points to be on the curve. */
export const CHECK_KERNEL: Readonly<Record<Group, Kernel>> = { g1: checkKernel('g1'), g2: checkKernel('g2') }

/** Steps of a point's check. */
const CHECK_STEPS = { g1: 2, g2: 4 } as const

/** Where points come from and go to: ranges of exactly their size. */
export interface PointImport {
  readonly encoded: BufferRange
  readonly points: BufferRange
  /** Gets the lowest number of a refused point, counted from `first` on. */
  readonly firstBad: GPUBuffer
  readonly first: number
  readonly count: number
}

/** Records the conversion of points. Coordinates are refused that are not below p. */
export function recordConversion(commands: Commands, group: Group, part: PointImport): Commands {
  const { encoded, points, firstBad, first, count } = part
  const coordinates = POINT_ELEMENTS[group] * count
  return commands.dispatch(IMPORT_KERNEL, {
    buffers: [encoded, points, firstBad],
    params: [coordinates, POINT_ELEMENTS[group], first],
    workgroups: Math.ceil(coordinates / 64),
  })
}

/** Records the check of points that were converted. Those off the curve are refused. */
export function recordCheck(commands: Commands, group: Group, part: Omit<PointImport, 'encoded'>): Commands {
  const { points, firstBad, first, count } = part
  return commands.dispatch(CHECK_KERNEL[group], {
    buffers: [points, firstBad],
    params: [count, CHECK_STEPS[group], first],
    workgroups: Math.ceil(count / 64),
  })
}

/** Kernels of an import. */
export const importKernels = (group: Group): readonly Kernel[] => [IMPORT_KERNEL, CHECK_KERNEL[group]]

/**
 * Imports points that are on the device already.
 * @param encoded buffer of encoded points (96 or 192 bytes each)
 * @param points receives packed points
 * @returns number of the first point that is refused, or undefined
 */
export async function importPoints(
  gpu: Gpu,
  group: Group,
  encoded: GPUBuffer,
  points: GPUBuffer,
  count: number,
): Promise<number | undefined> {
  await gpu.prepare(importKernels(group))
  const firstBad = await gpu.allocate(16, 'first refused point')
  try {
    await gpu.upload(firstBad, 0, new Uint8Array(Uint32Array.of(count, 0, 0, 0).buffer))
    const commands = gpu.commands('import points')
    const part: PointImport = { encoded, points, firstBad, first: 0, count }
    recordCheck(recordConversion(commands, group, part), group, part)
    // Submitted one behind the other, waited for together.
    const [, bad] = await Promise.all([commands.submit(), readFirstBad(gpu, firstBad, count)])
    return bad
  } finally {
    gpu.release(firstBad)
  }
}

async function readFirstBad(gpu: Gpu, firstBad: GPUBuffer, count: number): Promise<number | undefined> {
  const bytes = await gpu.download(firstBad, 0, 4)
  const index = new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0] as number
  return index < count ? index : undefined
}

/** A part's points begin where a binding may: at a multiple of 256 bytes. */
const PART_STEP = 8

/** Points of the largest part: what a staging buffer holds. */
const partPoints = (group: Group): number => Math.floor(STAGING_BYTES / POINT_BYTES[group] / PART_STEP) * PART_STEP

/** Buffers of an import beside its points. */
export const importBytes = (group: Group, count: number): number =>
  Math.min(count, partPoints(group)) * POINT_BYTES[group] + 16

/**
 * Imports points part by part, each through a staging buffer; parts are read while others are imported.
 * @param read writes encoded points, 96 or 192 bytes each
 * @param points receives packed points
 * @param options of points that were checked only coordinates that are not below p are refused
 * @returns number of the first point that is refused, or undefined
 * @throws what `read` rejects with; `run.signal.reason` once the signal aborts. No read is in flight then.
 */
export async function streamPoints(
  gpu: Gpu,
  group: Group,
  count: number,
  read: ReadPoints,
  points: GPUBuffer,
  run: Run,
  { checked = false, partsAtOnce = STAGING_BUFFERS }: LoadOptions = {},
): Promise<number | undefined> {
  await gpu.prepare(importKernels(group))
  const set = new BufferSet(gpu)
  try {
    const firstBad = await set.allocate(16, 'first refused point')
    await gpu.upload(firstBad, 0, new Uint8Array(Uint32Array.of(count, 0, 0, 0).buffer))
    // One is enough: the device works on one part after the other.
    const encoded = await set.allocate(Math.min(count, partPoints(group)) * POINT_BYTES[group], 'encoded points')
    const failed = new AbortController()
    let [next, done] = [0, 0]
    const importParts = async (): Promise<void> => {
      while (next < count) {
        await gpu.gate.turn(run)
        run.signal.throwIfAborted()
        if (failed.signal.aborted || next >= count) return
        const first = next
        const size = Math.min(partSize(gpu, group), count - first)
        next += size
        const bytes = size * POINT_BYTES[group]
        const { unit } = await gpu.staging.send(
          bytes,
          (target) => read(first, target),
          (staging) => {
            const unit = importPart(gpu, group, { staging, encoded, points, firstBad, first, size, checked })
            const left = gpu.gate.enter(run)
            unit.then(left, left)
            return { unit }
          },
          partsAtOnce,
        )
        gpu.uploadedBytes += bytes
        // No measure of the device's pace: units of a sum run beside it.
        await unit
        done += size
        run.unit(done / count)
      }
    }
    const parts = Array.from({ length: partsAtOnce }, () =>
      importParts().catch((error: unknown) => {
        failed.abort(error)
        throw error
      }),
    )
    await Promise.allSettled(parts)
    failed.signal.throwIfAborted()
    return await readFirstBad(gpu, firstBad, count)
  } finally {
    set.release()
  }
}

/** Points that make a unit, about as much work as additions. */
function partSize(gpu: Gpu, group: Group): number {
  const unit = Math.floor(gpu.pace.limit / ADDITION_COST[group] / PART_STEP) * PART_STEP
  return Math.max(PART_STEP, Math.min(partPoints(group), unit))
}

interface Part {
  readonly staging: GPUBuffer
  readonly encoded: GPUBuffer
  readonly points: GPUBuffer
  readonly firstBad: GPUBuffer
  /** Number of its first point. */
  readonly first: number
  readonly size: number
  readonly checked: boolean
}

function importPart(gpu: Gpu, group: Group, part: Part): Promise<unknown> {
  const { staging, encoded, points, firstBad, first, size, checked } = part
  const bytes = size * POINT_BYTES[group]
  const ranges: PointImport = {
    encoded: { buffer: encoded, offset: 0, size: bytes },
    points: { buffer: points, offset: first * POINT_BYTES[group], size: bytes },
    firstBad,
    first,
    count: size,
  }
  const commands = gpu.commands('import points').copy(staging, 0, encoded, 0, bytes)
  recordConversion(commands, group, ranges)
  if (!checked) recordCheck(commands, group, ranges)
  return commands.submit()
}

/** Bytes of an encoded point; packed ones have as many. */
export const encodedBytes = (group: Group): number => POINT_BYTES[group]
