/**
 * A kernel is a record, apart from the data it runs on: what it is called, which WGSL it is made of, its entry and
 * bindings, and the values of its `override` constants. Composition is: constants, field preludes (made in TypeScript
 * from the modulus), then files of `wgsl/` in order. All bindings are in group 0, numbered in the order of the record.
 */
import { readFileSync } from 'node:fs'
import type { DigitField } from './prelude/digit-field.ts'
import { type FieldWgslOptions, fieldWgsl } from './prelude/field-wgsl.ts'

/** What a kernel may do with a buffer. */
export type BindingKind = 'read' | 'read_write' | 'uniform'

/** A kernel as it is written down: everything that compiling it takes. */
export interface Kernel {
  /** Unique; also the label of the module and pipeline. */
  readonly name: string
  /** Field preludes, each with the multiplication bodies that this kernel needs. */
  readonly fields: readonly (FieldWgslOptions & { readonly field: DigitField })[]
  /** Files below `wgsl/`, in order. */
  readonly parts: readonly string[]
  /** WGSL made from data (a circuit's template, a table of constants); placed before the parts. */
  readonly generated?: string
  readonly entry: string
  /** Access of each binding; a `uniform` is always the last one. */
  readonly bindings: readonly BindingKind[]
  /** The adapter's tuning says how large its workgroups are, which the WGSL declares as `override workgroup_size`. */
  readonly tuned?: boolean
}

/** Invocations of a workgroup, where no tuning says otherwise. */
export const WORKGROUP_SIZE = 64

/** A kernel as a device holds it. */
export interface CompiledKernel {
  readonly kernel: Kernel
  /** Invocations of a workgroup, where the WGSL declares `override workgroup_size`. */
  readonly workgroupSize: number
  readonly pipeline: GPUComputePipeline
  readonly layout: GPUBindGroupLayout
}

const cache = new Map<string, string>()

/** Text of a file below `wgsl/`. */
export function wgslFile(path: string): string {
  let text = cache.get(path)
  if (text === undefined) {
    text = readFileSync(new URL(`../../wgsl/${path}`, import.meta.url), 'utf8')
    cache.set(path, text)
  }
  return text
}

/** The kernel's whole WGSL source. */
export function composeKernel(kernel: Kernel): string {
  return [
    ...kernel.fields.map(({ field, ...options }) => fieldWgsl(field, options)),
    ...(kernel.generated === undefined ? [] : [kernel.generated]),
    ...kernel.parts.map(wgslFile),
  ].join('\n')
}
