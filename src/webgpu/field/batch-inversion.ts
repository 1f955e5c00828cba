/**
 * Inverses of many elements of Fq (Montgomery's trick): threads multiply a batch of elements each, their totals are
 * treated the same way, until few enough are left to be inverted one by one. Three multiplications an element; the rest
 * disappears in a large batch. In a small one what counts is the time of one thread, so that a thread gets no more
 * elements than it must. No element may be 0.
 */
import type { Commands } from '../commands.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import { inversionBatches, inversionWgsl } from '../prelude/inversion-wgsl.ts'
import { INVERSION_BATCHES } from '../tuning.ts'

/**
 * Most elements that are inverted one by one: as many threads as a large GPU runs at once without slowing any. A
 * smaller one gets fewer, such that they take it about as long: an inversion costs as much as some 35 multiplications,
 * 6 additions of points.
 */
const INVERSIONS = 2 ** 13
const LEAST_INVERSIONS = 32
/** Of the work of a unit. */
const INVERSIONS_SHARE = 2 ** -12

const inversionsOn = (gpu: Gpu): number =>
  Math.max(LEAST_INVERSIONS, Math.min(INVERSIONS, Math.ceil(gpu.pace.limit * INVERSIONS_SHARE)))

const ELEMENT_BYTES = 48
/** Takes most memory. */
const LEAST_BATCH: number = Math.min(...INVERSION_BATCHES)

const field = { field: FQ }
const productsKernel: Kernel = {
  name: 'products',
  fields: [field],
  parts: ['invocation.wgsl', 'field/products.wgsl'],
  entry: 'products',
  tuned: true,
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}
const unbatchKernel: Kernel = {
  name: 'unbatch',
  fields: [field],
  parts: ['invocation.wgsl', 'field/unbatch.wgsl'],
  entry: 'unbatch',
  tuned: true,
  bindings: ['read', 'read_write', 'read', 'uniform'],
}
const invertKernel: Kernel = {
  name: 'invert',
  fields: [{ field: FQ, multiplication: false }],
  generated: inversionWgsl(FQ),
  parts: ['invocation.wgsl', 'field/invert.wgsl'],
  entry: 'invert',
  tuned: true,
  bindings: ['read', 'read_write', 'uniform'],
}

/** What an inversion dispatches. */
export const BATCH_INVERSION_KERNELS: readonly Kernel[] = [productsKernel, unbatchKernel, invertKernel]

/**
 * Inverses of a level, which hold prefix products at first, and the totals of its threads, the next level's elements.
 */
interface Level {
  readonly inverses: GPUBuffer
  readonly totals: GPUBuffer | undefined
}

/** Work buffers for at most `count` elements; freed by the owner through {@link release}. */
export class BatchInversion {
  readonly #gpu: Gpu
  readonly #batch: number
  readonly #inversions: number
  readonly #levels: readonly Level[]

  private constructor(gpu: Gpu, batch: number, inversions: number, levels: readonly Level[]) {
    this.#gpu = gpu
    this.#batch = batch
    this.#inversions = inversions
    this.#levels = levels
  }

  /** @param inversions how many elements are inverted one by one at most */
  static async create(gpu: Gpu, count: number, inversions: number = inversionsOn(gpu)): Promise<BatchInversion> {
    const levels: { inverses: GPUBuffer; totals: GPUBuffer | undefined }[] = []
    const batch = gpu.tuning.inversionBatch
    try {
      for (let most = Math.max(1, count); ; ) {
        const inverses = await gpu.allocate(most * ELEMENT_BYTES, 'inverses')
        const level = { inverses, totals: undefined as GPUBuffer | undefined }
        levels.push(level)
        if (most <= inversions) return new BatchInversion(gpu, batch, inversions, levels)
        // What fewer elements leave is at most `inversions`, or one of each batch.
        most = Math.max(inversions, Math.ceil(most / batch))
        level.totals = await gpu.allocate(most * ELEMENT_BYTES, 'totals')
      }
    } catch (error) {
      for (const buffer of buffersOf(levels)) gpu.release(buffer)
      throw error
    }
  }

  /** The inverses, after {@link record}. */
  get inverses(): GPUBuffer {
    return (this.#levels[0] as Level).inverses
  }

  /** Threads that multiply a batch's elements up; undefined if they are so few that each is inverted by itself. */
  threads(count: number, level = 0): number | undefined {
    if (count <= this.#inversions || this.#levels[level]?.totals === undefined) return undefined
    return Math.ceil(count / Math.min(this.#batch, Math.ceil(count / this.#inversions)))
  }

  /** Where a kernel that makes the elements may put their prefix products and totals itself, as products.wgsl does. */
  get products(): readonly [prefix: GPUBuffer, totals: GPUBuffer | undefined] {
    const { inverses, totals } = this.#levels[0] as Level
    return [inverses, totals]
  }

  /**
   * Records the inversion of the first `count` elements of a buffer.
   * @param multiplied products and totals are there already
   */
  record(commands: Commands, elements: GPUBuffer, count: number, multiplied = false, level = 0): void {
    const { inverses, totals } = this.#levels[level] as Level
    const threads = this.threads(count, level)
    if (threads === undefined || totals === undefined) {
      const params = [count, inversionBatches(FQ)]
      commands.dispatch(invertKernel, { buffers: [elements, inverses], params, threads: count })
      return
    }
    if (!multiplied) {
      commands.dispatch(productsKernel, {
        buffers: [elements, inverses, totals],
        params: [count, threads],
        threads,
      })
    }
    this.record(commands, totals, threads, false, level + 1)
    const { inverses: ofTotals } = this.#levels[level + 1] as Level
    commands.dispatch(unbatchKernel, {
      buffers: [elements, inverses, ofTotals],
      params: [count, threads, 2],
      threads,
    })
  }

  /** All that it works with. */
  get buffers(): readonly GPUBuffer[] {
    return buffersOf(this.#levels)
  }

  release(): void {
    for (const buffer of this.buffers) this.#gpu.release(buffer)
  }
}

/**
 * Device memory for batches of up to `count` elements, at most: an element's inverse, and totals with their inverses of
 * all levels.
 */
export const inversionBytes = (count: number): number =>
  ELEMENT_BYTES * (count + 2 * Math.min(count, Math.ceil(count / (LEAST_BATCH - 1)) + INVERSIONS))

const buffersOf = (levels: readonly Level[]): GPUBuffer[] =>
  levels.flatMap(({ inverses, totals }) => (totals === undefined ? [inverses] : [inverses, totals]))
