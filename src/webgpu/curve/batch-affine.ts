/**
 * Sums of pairs of affine points, exact in every case (equal points, opposite ones, infinity on either side). One
 * addition costs 5 multiplications and a squaring in the coordinate field, with the inversion shared over a round.
 *
 * A kernel holds one multiplication body, hence six kernels a slice instead of one: denominators, batch inversion,
 * slopes, x and y of the sums. In G2 two threads make a pair's sum, from the slope on.
 */
import type { BufferRange, Commands } from '../commands.ts'
import { BATCH_INVERSION_KERNELS, BatchInversion, inversionBytes } from '../field/batch-inversion.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ } from '../prelude/digit-field.ts'
import type { FieldWgslOptions } from '../prelude/field-wgsl.ts'
import type { UnitStream } from '../unit-stream.ts'

/** The group that points are of. */
export type Group = 'g1' | 'g2'

/** Bytes of a packed point: x and y of 48 bytes a coordinate of Fq. */
export const POINT_BYTES: Readonly<Record<Group, number>> = { g1: 96, g2: 192 }

/** Elements of Fq in a point: those of x, then those of y. */
export const POINT_ELEMENTS: Readonly<Record<Group, number>> = { g1: 2, g2: 4 }

/** Operand of a pair that has no right point. */
export const NO_POINT = 0x7fff_ffff
/** Flag of an operand: take the negative of the point. */
export const NEGATE = 0x8000_0000

/**
 * Where a round's pairs come from: a list of operands, two a pair; the points (0, 1), (2, 3), … as they lie; the points
 * of one half and those of another; or the arithmetic of a reduction round. Of an odd number of `operands` the last one
 * has no partner.
 */
export type PairSource =
  | { readonly kind: 'list'; readonly pairs: GPUBuffer; readonly operands?: number }
  | { readonly kind: 'adjacent'; readonly operands: number }
  | { readonly kind: 'halves'; readonly half: number }
  | { readonly kind: 'tree'; readonly blocks: number; readonly half: number }

/** A list whose end needs no care. */
const ALL_OPERANDS = 0xffff_ffff

/** `blocks`, `half` and `operands` as pairs.wgsl has them. */
function pairParams(source: PairSource): [blocks: number, half: number, operands: number] {
  if (source.kind === 'tree') return [source.blocks, source.half, ALL_OPERANDS]
  if (source.kind === 'halves') return [2, 0, source.half]
  return [source.kind === 'adjacent' ? 1 : 0, 0, source.operands ?? ALL_OPERANDS]
}

interface RoundKernels {
  readonly denominators: Kernel
  /** Denominators and their products in one; absent in G2, where a denominator's norm takes multiplications itself. */
  readonly products?: Kernel
  readonly slopes: Kernel
  readonly sumX: Kernel
  readonly sumY: Kernel
}

function roundKernels(group: Group): RoundKernels {
  const kernel = (
    entry: string,
    field: FieldWgslOptions,
    files: readonly string[],
    bindings: Kernel['bindings'],
  ): Kernel => ({
    name: `${entry} ${group}`,
    fields: [{ field: FQ, multiplication: false, ...field }],
    parts: [
      'invocation.wgsl',
      `curve/coordinate-${group}.wgsl`,
      'curve/batch-affine.wgsl',
      'curve/pairs.wgsl',
      ...files.map((file) => `curve/${file}.wgsl`),
    ],
    entry,
    bindings,
    // Those of G2 take a driver several times as long to compile, which each size tried would.
    tuned: group === 'g1',
  })
  const prepared: Kernel['bindings'] = ['read', 'read', 'read_write', 'read_write']
  const bindings: Kernel['bindings'] = ['read', 'read', 'read', 'read', 'read_write', 'uniform']
  const all: Kernel['bindings'] = ['read', 'read', 'read', 'read', 'read', 'read_write', 'uniform']
  // One multiplication body each; an element of Fq2 is a sum of two products. Levels of Karatsuba as measured: what is
  // left for a thread's other values counts more where one product waits for much memory.
  if (group === 'g2')
    return {
      denominators: kernel(
        'denominators',
        { accumulation: true },
        ['pair-kinds', 'denominators-g2'],
        [...prepared, 'read_write', 'uniform'],
      ),
      slopes: kernel('slopes', { accumulation: true }, ['slopes-g2'], all),
      sumX: kernel('sum_x', { multiplication: true }, ['square-g2', 'sum-x'], bindings),
      sumY: kernel('sum_y', { accumulation: true }, ['product-g2', 'sum-y'], all),
    }
  return {
    denominators: kernel('denominators', {}, ['pair-kinds', 'denominators-g1'], [...prepared, 'uniform']),
    products: kernel(
      'denominator_products',
      { multiplication: true },
      ['pair-kinds', 'denominator-products'],
      [...prepared, 'read_write', 'read_write', 'uniform'],
    ),
    slopes: kernel('slopes', { multiplication: true, levels: 1 }, ['slopes-g1'], bindings),
    sumX: kernel('sum_x', { squaring: true, levels: 1 }, ['square-g1', 'sum-x'], bindings),
    sumY: kernel('sum_y', { multiplication: true }, ['product-g1', 'sum-y'], all),
  }
}

const KERNELS: Readonly<Record<Group, RoundKernels>> = { g1: roundKernels('g1'), g2: roundKernels('g2') }

/** Everything that {@link BatchAffine} dispatches for a group. */
export const batchAffineKernels = (group: Group): readonly Kernel[] => [
  ...BATCH_INVERSION_KERNELS,
  ...Object.values(KERNELS[group]),
]

/** What an addition costs, in those of G1. */
export const ADDITION_COST: Readonly<Record<Group, number>> = { g1: 1, g2: 2.5 }

/** Device memory of the work buffers for slices of so many pairs, at most. */
export const batchAffineBytes = (group: Group, slicePairs: number): number =>
  (4 + POINT_BYTES[group]) * slicePairs + inversionBytes(slicePairs)

/** Pairs of the largest slice, up to so many, whose work buffers take no more bytes. */
export function slicePairsIn(group: Group, most: number, bytes: number): number {
  if (batchAffineBytes(group, most) <= bytes) return most
  let [fits, tooMany] = [0, most]
  while (fits + 1 < tooMany) {
    const pairs = Math.floor((fits + tooMany) / 2)
    if (batchAffineBytes(group, pairs) <= bytes) fits = pairs
    else tooMany = pairs
  }
  return fits
}

/** Work buffers of one slice of a round, reused by all slices and rounds. */
export class BatchAffine {
  readonly #gpu: Gpu
  readonly #group: Group
  /** Largest number of pairs in a slice. */
  readonly slicePairs: number
  readonly #inversion: BatchInversion
  readonly #kinds: GPUBuffer
  readonly #denominators: GPUBuffer
  readonly #slopes: GPUBuffer
  readonly #spare: GPUBuffer

  private constructor(
    gpu: Gpu,
    group: Group,
    slicePairs: number,
    inversion: BatchInversion,
    buffers: readonly GPUBuffer[],
  ) {
    this.#gpu = gpu
    this.#group = group
    this.slicePairs = slicePairs
    this.#inversion = inversion
    ;[this.#kinds, this.#denominators, this.#slopes, this.#spare] = buffers as [
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
    ]
  }

  /** @param slicePairs pairs of a slice: {@link batchAffineBytes} are allocated */
  static async create(gpu: Gpu, group: Group, slicePairs: number): Promise<BatchAffine> {
    await gpu.prepare(batchAffineKernels(group))
    const inversion = await BatchInversion.create(gpu, slicePairs)
    const buffers: GPUBuffer[] = []
    try {
      buffers.push(await gpu.allocate(4 * slicePairs, 'kinds'))
      buffers.push(await gpu.allocate((POINT_BYTES[group] / 2) * slicePairs, 'denominators, then x'))
      buffers.push(await gpu.allocate((POINT_BYTES[group] / 2) * slicePairs, 'slopes'))
      buffers.push(await gpu.allocate(16, 'no list'))
    } catch (error) {
      inversion.release()
      for (const buffer of buffers) gpu.release(buffer)
      throw error
    }
    return new BatchAffine(gpu, group, slicePairs, inversion, buffers)
  }

  /**
   * Records the sums of the pairs `first` up to `first + count` (at most {@link slicePairs}) of a round: sum n goes to
   * slot n of `sums`, which must not be the buffer of the points.
   */
  record(
    commands: Commands,
    round: { readonly points: BufferRange; readonly source: PairSource; readonly sums: BufferRange },
    first: number,
    count: number,
  ): void {
    if (count === 0) return
    const { points, source, sums } = round
    const kernels = KERNELS[this.#group]
    const pairs = source.kind === 'list' ? source.pairs : this.#spare
    const threads = this.#inversion.threads(count)
    const params = [count, first, 2, ...pairParams(source), threads ?? 0]
    const run = (kernel: Kernel, invocations: number, ...work: BufferRange[]): void => {
      commands.dispatch(kernel, { buffers: [points, pairs, ...work], params, threads: invocations })
    }
    // In G2 the sums' places have the numerators of doublings, until the sums are there.
    const numerators = this.#group === 'g2' ? [sums] : []
    const [prefix, totals] = this.#inversion.products
    if (kernels.products !== undefined && threads !== undefined && totals !== undefined) {
      const buffers = [points, pairs, this.#kinds, this.#denominators, prefix, totals]
      commands.dispatch(kernels.products, { buffers, params, threads })
      this.#inversion.record(commands, this.#denominators, count, true)
    } else {
      run(kernels.denominators, count, this.#kinds, this.#denominators, ...numerators)
      this.#inversion.record(commands, this.#denominators, count)
    }
    const elements = (POINT_ELEMENTS[this.#group] / 2) * count
    run(kernels.slopes, elements, this.#kinds, this.#inversion.inverses, ...numerators, this.#slopes)
    // Once the inverses are there, the denominators' place is free.
    run(kernels.sumX, elements, this.#kinds, this.#slopes, this.#denominators)
    run(kernels.sumY, elements, this.#kinds, this.#slopes, this.#denominators, sums)
  }

  /**
   * Records `pairs` pairs of a round, as slices of about the same size that fit the units of a stream.
   * @param first number of the first one, and of its sum
   */
  async recordRound(
    stream: UnitStream,
    round: { readonly points: BufferRange; readonly source: PairSource; readonly sums: BufferRange },
    pairs: number,
    first = 0,
  ): Promise<void> {
    const cost = ADDITION_COST[this.#group]
    for (let at = 0; at < pairs; ) {
      const most = Math.min(this.slicePairs, Math.ceil(stream.room / cost))
      const count = Math.ceil((pairs - at) / Math.ceil((pairs - at) / most))
      this.record(stream.commands, round, first + at, count)
      at += count
      await stream.recorded(count * cost)
    }
  }

  /** All that it works with: what is left in them tells of the points that were added. */
  get buffers(): readonly GPUBuffer[] {
    return [...this.#inversion.buffers, this.#kinds, this.#denominators, this.#slopes, this.#spare]
  }

  release(): void {
    for (const buffer of this.buffers) this.#gpu.release(buffer)
  }
}
