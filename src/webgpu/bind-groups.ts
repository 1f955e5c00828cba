/**
 * Bind groups, made once for the buffers that they bind and kept: a proof has tens of thousands of dispatches over some
 * hundreds of sets of buffers, and collecting as many objects as dispatches stops the thread that submits units for a
 * tenth of a second again and again.
 */
import type { CompiledKernel } from './kernel.ts'

/** A buffer, or a range of one: `offset` must be a multiple of minStorageBufferOffsetAlignment (256 at most). */
export type BufferRange = GPUBuffer | { readonly buffer: GPUBuffer; readonly offset: number; readonly size: number }

/** Parameters of a dispatch: a kernel's uniform is so many bytes at an offset that is given with the dispatch. */
export const PARAMS_STRIDE = 256

/** Groups that are kept; with one more all of them are dropped, those of buffers that are no more included. */
const MOST_GROUPS = 4096

/** The bind groups of one device, by layout and buffers. */
export class BindGroups {
  readonly #device: Pick<GPUDevice, 'createBindGroup'>
  readonly #numbers = new WeakMap<object, number>()
  #next = 0
  readonly #groups = new Map<string, GPUBindGroup>()

  constructor(device: Pick<GPUDevice, 'createBindGroup'>) {
    this.#device = device
  }

  /**
   * @param buffers in the order of the kernel's bindings, without the uniform
   * @param uniform parameters, if the kernel has some
   */
  of({ kernel, layout }: CompiledKernel, buffers: readonly BufferRange[], uniform?: GPUBuffer): GPUBindGroup {
    let key = `${this.#number(layout)}`
    for (const range of buffers) {
      key +=
        'buffer' in range ? ` ${this.#number(range.buffer)}+${range.offset}:${range.size}` : ` ${this.#number(range)}`
    }
    if (uniform !== undefined) key += ` uniform ${this.#number(uniform)}`
    let group = this.#groups.get(key)
    if (group === undefined) {
      const entries: GPUBindGroupEntry[] = buffers.map((range, binding) => ({
        binding,
        resource: 'buffer' in range ? range : { buffer: range },
      }))
      if (uniform !== undefined) {
        entries.push({ binding: buffers.length, resource: { buffer: uniform, offset: 0, size: PARAMS_STRIDE } })
      }
      if (this.#groups.size >= MOST_GROUPS) this.#groups.clear()
      group = this.#device.createBindGroup({ label: kernel.name, layout, entries })
      this.#groups.set(key, group)
    }
    return group
  }

  /** Of an object, the same always and no other's. */
  #number(object: object): number {
    let number = this.#numbers.get(object)
    if (number === undefined) {
      number = this.#next++
      this.#numbers.set(object, number)
    }
    return number
  }
}
