/** Kernels that fill an assignment on the device and evaluate its rows. */
import type { Kernel } from '../kernel.ts'
import { FR } from '../prelude/digit-field.ts'

const variables = ['invocation.wgsl', 'rows/variables.wgsl']

export const scatterKernel: Kernel = {
  name: 'scatter',
  fields: [{ field: FR, multiplication: false }],
  parts: [...variables, 'rows/scatter.wgsl'],
  entry: 'scatter',
  bindings: ['read_write', 'read', 'read', 'read', 'read', 'uniform'],
}
export const deriveKernel: Kernel = {
  name: 'derive',
  fields: [{ field: FR }],
  parts: [...variables, 'rows/combination.wgsl', 'rows/derive.wgsl'],
  entry: 'derive',
  bindings: ['read_write', 'read', 'read', 'read', 'read', 'uniform'],
}
export const poseidonKernel: Kernel = {
  name: 'poseidon',
  fields: [{ field: FR }],
  parts: [...variables, 'rows/poseidon.wgsl'],
  entry: 'poseidon',
  bindings: ['read_write', 'read', 'read', 'uniform'],
}
export const rowsKernel: Kernel = {
  name: 'rows',
  fields: [{ field: FR }],
  parts: [...variables, 'rows/combination.wgsl', 'rows/rows.wgsl'],
  entry: 'evaluate_rows',
  bindings: ['read', 'read', 'read', 'read', 'read', 'read_write', 'read_write', 'uniform'],
}
export const gatherKernel: Kernel = {
  name: 'gather',
  fields: [{ field: FR, multiplication: false }],
  parts: ['invocation.wgsl', 'rows/gather.wgsl'],
  entry: 'gather',
  bindings: ['read', 'read', 'read_write', 'uniform'],
}

export const ROW_KERNELS: readonly Kernel[] = [scatterKernel, deriveKernel, poseidonKernel, rowsKernel, gatherKernel]
