/** One instance of each kernel module on a memory of its own, for tests that call kernels directly. */
import { readFileSync } from 'node:fs'
import { MemoryArena } from '../../src/cpu/arena.ts'
import { fmaFields, integerFields, type KernelFields } from '../../src/cpu/assembly/kernels/modules.ts'
import { ModuleBuilder } from '../../src/cpu/assembly/kernels/wat.ts'
import type { ThreadContext } from '../../src/cpu/thread-context.ts'
import { SCRATCH_BYTES } from '../../src/cpu/thread-pool.ts'
import { wasmFile } from '../../src/cpu/wasm-file.ts'

export type KernelModuleName = 'kernels-fma' | 'kernels-fma-fenced' | 'kernels-int'

/**
 * Both back ends, and the variants of the first. A module that does not compile fails its tests: Node 20 needs its
 * flag.
 */
export const KERNEL_MODULES: readonly KernelModuleName[] = ['kernels-fma', 'kernels-fma-fenced', 'kernels-int']

const MAXIMUM_PAGES = 16_384

export interface KernelInstance extends ThreadContext {
  readonly arena: MemoryArena
  /** The emitters that the module was generated with, for their encodings. */
  readonly fields: KernelFields
}

export function kernelInstance(name: KernelModuleName): KernelInstance {
  const memory = new WebAssembly.Memory({ initial: 32, maximum: MAXIMUM_PAGES, shared: true })
  const arena = new MemoryArena(memory, MAXIMUM_PAGES)
  const scratch = arena.allocate(SCRATCH_BYTES)
  const env = { memory, scratch: new WebAssembly.Global({ value: 'i32' }, scratch) }
  const kernels = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(wasmFile(name))), { env }).exports
  // Nothing may rest on memory being clear.
  new Uint8Array(memory.buffer).fill(0xff, scratch)
  const module = new ModuleBuilder()
  const fields = name === 'kernels-int' ? integerFields(module) : fmaFields(module, { fenced: false })
  return { memory, kernels, circuit: {}, scratch, scratchBytes: SCRATCH_BYTES, arena, fields }
}

/** Calls an export that must be there. */
export function callKernel(instance: ThreadContext, name: string, ...args: number[]): number {
  const kernel = instance.kernels[name]
  if (kernel === undefined) throw new Error(`The kernels have no function ${name}`)
  return kernel(...args)
}

/** A view of the memory as it is now. */
export function bytesAt(instance: ThreadContext, address: number, length: number): Uint8Array {
  return new Uint8Array(instance.memory.buffer, address, length)
}
