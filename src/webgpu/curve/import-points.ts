/** Points from bellperson's uncompressed big-endian encoding into the packed form, checked to be on the curve. */
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import { type Group, POINT_BYTES } from './batch-affine.ts'

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
      params: [count, 3],
      workgroups: Math.ceil(count / 64),
    })
    // Submitted one behind the other, waited for together.
    const [, bytes] = await Promise.all([commands.submit(), gpu.download(firstBad, 0, 4)])
    const index = new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0] as number
    return index < count ? index : undefined
  } finally {
    gpu.release(firstBad)
  }
}

/** Bytes of an encoded point; packed ones have as many. */
export const encodedBytes = (group: Group): number => POINT_BYTES[group]
