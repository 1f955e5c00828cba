/**
 * Inverses of many elements of Fq with one inversion for each few hundred (Montgomery's trick), in two levels: threads multiply
 * {@link FIRST_LEVEL} elements each, their totals are multiplied {@link SECOND_LEVEL} at a time, what remains is inverted by
 * Fermat. Three multiplications an element; the rest disappears. No element may be 0.
 */
import type { Commands } from '../commands.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'

const FIRST_LEVEL = 16
const SECOND_LEVEL = 32
const ELEMENT_BYTES = 48

const field = { field: FQ }
const productsKernel: Kernel = {
  name: 'products',
  fields: [field],
  parts: ['invocation.wgsl', 'field/products.wgsl'],
  entry: 'products',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}
const unbatchKernel: Kernel = {
  name: 'unbatch',
  fields: [field],
  parts: ['invocation.wgsl', 'field/unbatch.wgsl'],
  entry: 'unbatch',
  bindings: ['read', 'read_write', 'read', 'uniform'],
}
const invertKernel: Kernel = {
  name: 'invert',
  fields: [field],
  parts: ['invocation.wgsl', 'field/invert.wgsl'],
  entry: 'invert',
  bindings: ['read_write', 'read', 'uniform'],
}

export const BATCH_INVERSION_KERNELS: readonly Kernel[] = [productsKernel, unbatchKernel, invertKernel]

/** Work buffers for at most `count` elements; freed by the owner through {@link release}. */
export class BatchInversion {
  readonly #gpu: Gpu
  readonly #buffers: GPUBuffer[]
  /** The inverses, after {@link record}. */
  readonly inverses: GPUBuffer

  private constructor(gpu: Gpu, buffers: GPUBuffer[]) {
    this.#gpu = gpu
    this.#buffers = buffers
    this.inverses = buffers[0] as GPUBuffer
  }

  static async create(gpu: Gpu, count: number): Promise<BatchInversion> {
    const first = Math.ceil(count / FIRST_LEVEL)
    const second = Math.ceil(first / SECOND_LEVEL)
    const exponent = FQ.modulus - 2n
    const words = Uint32Array.from({ length: FQ.words }, (_, i) => Number((exponent >> BigInt(32 * i)) & 0xffff_ffffn))
    const buffers: GPUBuffer[] = []
    try {
      for (const [elements, label] of [
        [count, 'inverses'],
        [first, 'totals'],
        [first, 'inverses of totals'],
        [second, 'totals of totals'],
        [1, 'exponent p − 2'],
      ] as const) {
        buffers.push(await gpu.allocate(elements * ELEMENT_BYTES, label))
      }
      await gpu.upload(buffers[4] as GPUBuffer, 0, new Uint8Array(words.buffer))
    } catch (error) {
      for (const buffer of buffers) gpu.release(buffer)
      throw error
    }
    return new BatchInversion(gpu, buffers)
  }

  /** Records the inversion of the first `count` elements of a buffer. */
  record(commands: Commands, elements: GPUBuffer, count: number): void {
    const [inverses, totals, totalInverses, tops, exponent] = this.#buffers as [
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
    ]
    const first = Math.ceil(count / FIRST_LEVEL)
    const second = Math.ceil(first / SECOND_LEVEL)
    const groups = (threads: number, size: number): number => Math.ceil(threads / size)
    commands
      .dispatch(productsKernel, {
        buffers: [elements, inverses, totals],
        params: [count, first],
        workgroups: groups(first, 64),
      })
      .dispatch(productsKernel, {
        buffers: [totals, totalInverses, tops],
        params: [first, second],
        workgroups: groups(second, 64),
      })
      .dispatch(invertKernel, { buffers: [tops, exponent], params: [second, 96], workgroups: groups(second, 32) })
      .dispatch(unbatchKernel, {
        buffers: [totals, totalInverses, tops],
        params: [first, second, 2],
        workgroups: groups(second, 64),
      })
      .dispatch(unbatchKernel, {
        buffers: [elements, inverses, totalInverses],
        params: [count, first, 2],
        workgroups: groups(first, 64),
      })
  }

  release(): void {
    for (const buffer of this.#buffers) this.#gpu.release(buffer)
  }
}
