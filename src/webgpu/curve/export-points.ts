/** Packed points to bellperson's uncompressed big-endian encoding. */
import type { Commands } from '../commands.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import { type Group, POINT_ELEMENTS } from './batch-affine.ts'

/** Encodes coordinates of either group. */
export const EXPORT_KERNEL: Kernel = {
  name: 'export points',
  fields: [{ field: FQ }],
  parts: ['invocation.wgsl', 'curve/export.wgsl'],
  entry: 'export_points',
  bindings: ['read', 'read_write', 'uniform'],
}

/** Records the encoding of the first `count` points; as many bytes go to `encoded`. */
export function recordExport(
  commands: Commands,
  group: Group,
  points: GPUBuffer,
  encoded: GPUBuffer,
  count: number,
): void {
  const coordinates = POINT_ELEMENTS[group]
  commands.dispatch(EXPORT_KERNEL, {
    buffers: [points, encoded],
    params: [count, coordinates],
    workgroups: Math.ceil((count * coordinates) / 64),
  })
}
