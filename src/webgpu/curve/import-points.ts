/** Points from bellperson's uncompressed big-endian encoding into the packed form, checked to be on the curve. */
import type { ReadPoints, Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import { STAGING_BUFFERS, STAGING_BYTES } from '../staging.ts'
import { ADDITION_COST, type Group, POINT_BYTES } from './batch-affine.ts'

const importKernel = (group: Group): Kernel => ({
  name: `import ${group}`,
  fields: [{ field: FQ }],
  parts: [
    'invocation.wgsl',
    `curve/coordinate-${group}.wgsl`,
    `curve/coordinate-${group}-mul.wgsl`,
    'curve/import.wgsl',
    `curve/import-${group}.wgsl`,
  ],
  entry: 'import_points',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
})

export const IMPORT_KERNEL: Readonly<Record<Group, Kernel>> = { g1: importKernel('g1'), g2: importKernel('g2') }

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
  await gpu.prepare([IMPORT_KERNEL[group]])
  const firstBad = await gpu.allocate(16, 'first refused point')
  try {
    await gpu.upload(firstBad, 0, new Uint8Array(Uint32Array.of(count, 0, 0, 0).buffer))
    const commands = gpu.commands('import points').dispatch(IMPORT_KERNEL[group], {
      buffers: [encoded, points, firstBad],
      params: [count, 3, 0],
      workgroups: Math.ceil(count / 64),
    })
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
): Promise<number | undefined> {
  await gpu.prepare([IMPORT_KERNEL[group]])
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
            const unit = importPart(gpu, group, { staging, encoded, points, firstBad, first, size })
            const left = gpu.gate.enter(run)
            unit.then(left, left)
            return { unit }
          },
        )
        gpu.uploadedBytes += bytes
        // No measure of the device's pace: units of a sum run beside it.
        await unit
        done += size
        run.unit(done / count)
      }
    }
    const parts = Array.from({ length: STAGING_BUFFERS }, () =>
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
}

function importPart(gpu: Gpu, group: Group, part: Part): Promise<unknown> {
  const { staging, encoded, points, firstBad, first, size } = part
  const bytes = size * POINT_BYTES[group]
  return gpu
    .commands('import points')
    .copy(staging, 0, encoded, 0, bytes)
    .dispatch(IMPORT_KERNEL[group], {
      buffers: [
        { buffer: encoded, offset: 0, size: bytes },
        { buffer: points, offset: first * POINT_BYTES[group], size: bytes },
        firstBad,
      ],
      params: [size, 3, first],
      workgroups: Math.ceil(size / 64),
    })
    .submit()
}

/** Bytes of an encoded point; packed ones have as many. */
export const encodedBytes = (group: Group): number => POINT_BYTES[group]
