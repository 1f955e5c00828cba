/** Kernels that fill an assignment on the device and evaluate its rows, each composed for the shards that z takes. */
import { ONE_SHARD, type ShardLayout } from '../elements.ts'
import type { BindingKind, Kernel } from '../kernel.ts'
import { FR } from '../prelude/digit-field.ts'
import { shardsName, shardsWgsl } from '../prelude/shards-wgsl.ts'

/** Kernels for one layout of z. Each binds what it needs besides, then z's shards, then its parameters. */
export interface RowKernels {
  readonly scatter: Kernel
  readonly derive: Kernel
  readonly poseidon: Kernel
  readonly checks: Kernel
  readonly rows: Kernel
  readonly gather: Kernel
}

interface KernelSource {
  readonly name: string
  readonly multiplication?: boolean
  readonly parts: readonly string[]
  readonly entry: string
  /** Bindings before z's. */
  readonly bindings: readonly BindingKind[]
  /** How z is bound. */
  readonly values: 'read' | 'read_write'
  /** Name of the uniform's struct. */
  readonly params: string
}

function compose(layout: ShardLayout, source: KernelSource): Kernel {
  const { name, multiplication = true, parts, entry, bindings, values, params } = source
  const { shards } = layout
  return {
    name: shardsName(name, layout),
    fields: [{ field: FR, multiplication }],
    generated: [
      shardsWgsl(layout, [{ name: 'z', access: values, binding: bindings.length }]),
      `@group(0) @binding(${bindings.length + shards}) var<uniform> params: ${params};\n`,
    ].join(''),
    parts: ['invocation.wgsl', ...parts],
    entry,
    bindings: [...bindings, ...Array<BindingKind>(shards).fill(values), 'uniform'],
  }
}

const variables = 'rows/variables.wgsl'

/** The kernels for a z that is spread like that. */
export function rowKernels(layout: ShardLayout): RowKernels {
  return {
    scatter: compose(layout, {
      name: 'scatter',
      multiplication: false,
      parts: [variables, 'rows/scatter.wgsl'],
      entry: 'scatter',
      bindings: ['read', 'read', 'read'],
      values: 'read_write',
      params: 'ScatterParams',
    }),
    derive: compose(layout, {
      name: 'derive',
      parts: [variables, 'rows/combination.wgsl', 'rows/derive.wgsl'],
      entry: 'derive',
      bindings: ['read', 'read'],
      values: 'read_write',
      params: 'DeriveParams',
    }),
    poseidon: compose(layout, {
      name: 'poseidon',
      parts: [variables, 'rows/poseidon.wgsl'],
      entry: 'poseidon',
      bindings: ['read', 'read'],
      values: 'read_write',
      params: 'PoseidonParams',
    }),
    checks: compose(layout, {
      name: 'row checks',
      parts: [variables, 'rows/combination.wgsl', 'rows/checks.wgsl'],
      entry: 'check_rows',
      bindings: ['read', 'read', 'read_write'],
      values: 'read',
      params: 'ChecksParams',
    }),
    rows: compose(layout, {
      name: 'rows',
      parts: [variables, 'rows/combination.wgsl', 'rows/rows.wgsl'],
      entry: 'evaluate_rows',
      bindings: ['read', 'read', 'read_write', 'read_write'],
      values: 'read',
      params: 'RowsParams',
    }),
    gather: compose(layout, {
      name: 'gather',
      multiplication: false,
      parts: ['rows/gather.wgsl'],
      entry: 'gather',
      bindings: ['read', 'read', 'read_write'],
      values: 'read',
      params: 'GatherParams',
    }),
  }
}

/** Those of circuits whose assignment fits one binding. */
export const ROW_KERNELS: readonly Kernel[] = Object.values(rowKernels(ONE_SHARD))
