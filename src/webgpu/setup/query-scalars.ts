/** The scalars of a query's range, on the device: what the generator is multiplied with to give its points. */
import type { CircuitShape } from '../../circuit/shape.ts'
import { frInv, frMul, frPow, frReduce } from '../../field/fr.ts'
import type { Run } from '../../groth16/proving-device.ts'
import type { Query } from '../../params/layout.ts'
import type { ToxicWaste } from '../../params/toxic-waste.ts'
import { DenseValues } from '../assignment/dense-values.ts'
import { rowKernels } from '../assignment/row-kernels.ts'
import type { Commands } from '../commands.ts'
import { ELEMENT_BYTES, layoutOf } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR } from '../prelude/digit-field.ts'
import { UnitStream } from '../unit-stream.ts'
import type { Columns } from './columns.ts'
import { ConstantBuffer, squaresOf } from './geometric.ts'

const POWERS_PER_THREAD = 16

const scaleKernel: Kernel = {
  name: 'scale',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'setup/scale.wgsl'],
  entry: 'scale',
  bindings: ['read', 'read', 'read_write', 'uniform'],
}
const powersKernel: Kernel = {
  name: 'plain powers',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'setup/base-power.wgsl', 'setup/powers.wgsl'],
  entry: 'powers',
  bindings: ['read', 'read_write', 'uniform'],
}
const findZeroKernel: Kernel = {
  name: 'find zero',
  fields: [{ field: FR, multiplication: false }],
  parts: ['invocation.wgsl', 'setup/find-zero.wgsl'],
  entry: 'find_zero',
  bindings: ['read', 'read_write', 'uniform'],
}

/** What scalars of queries dispatch. */
export const QUERY_SCALAR_KERNELS: readonly Kernel[] = [scaleKernel, powersKernel, findZeroKernel]

/** Scalars that cost as much as an addition of points. */
const SCALARS_PER_WORK = 4

/** Makes the scalars of any range of any query, from the columns at τ. They are secrets. */
export class QueryScalars {
  readonly #gpu: Gpu
  readonly #shape: CircuitShape
  readonly #toxic: ToxicWaste
  readonly #columns: Columns
  readonly #zOverDelta: bigint
  /** Which variables have a point in a, and in b. */
  readonly #dense: Readonly<Record<'a' | 'b', DenseValues>>
  readonly #gather: Kernel

  private constructor(
    gpu: Gpu,
    shape: CircuitShape,
    toxic: ToxicWaste,
    columns: Columns,
    dense: Readonly<Record<'a' | 'b', DenseValues>>,
    gather: Kernel,
  ) {
    this.#gpu = gpu
    this.#shape = shape
    this.#toxic = toxic
    this.#columns = columns
    this.#dense = dense
    this.#gather = gather
    const z = frReduce(frPow(toxic.tau, 1n << BigInt(shape.log2Domain)) - 1n)
    this.#zOverDelta = frMul(z, frInv(toxic.delta))
  }

  /** @param columns stay the caller's */
  static async create(gpu: Gpu, shape: CircuitShape, toxic: ToxicWaste, columns: Columns): Promise<QueryScalars> {
    const { inputs, aux, density } = shape
    const { gather } = rowKernels(layoutOf(gpu, inputs + aux))
    await gpu.prepare([...QUERY_SCALAR_KERNELS, gather])
    const a = await DenseValues.load(gpu, density.aAux, { inputs, firstAux: inputs, count: aux }, 'a')
    try {
      // Of the inputs only ONE occurs in B.
      const b = await DenseValues.load(gpu, density.bAux, { inputs: 1, firstAux: inputs, count: aux }, 'b')
      return new QueryScalars(gpu, shape, toxic, columns, { a, b }, gather)
    } catch (error) {
      a.release()
      throw error
    }
  }

  /**
   * Writes the scalars of the points `first` up to `first + count`, plain.
   * @throws {Error} one is 0, so that its point would be infinity: draw again
   * @throws `run.signal.reason` once the signal aborts
   */
  async fill(query: Query, first: number, count: number, scalars: GPUBuffer, run: Run): Promise<void> {
    const stream = new UnitStream(this.#gpu, `scalars of ${query}`, run, scalarWork(count))
    const constants = await this.#constants(query, first, count)
    const firstZero = await this.#gpu.allocate(16, 'first zero').catch((error: unknown) => {
      constants?.release()
      throw error
    })
    try {
      await this.#gpu.upload(firstZero, 0, new Uint8Array(Uint32Array.of(count).buffer))
      this.#record(stream.commands, query, first, count, scalars, constants)
      stream.commands.dispatch(findZeroKernel, {
        buffers: [scalars, firstZero],
        params: [count],
        workgroups: Math.ceil(count / 64),
      })
      await stream.recorded(scalarWork(count))
      await stream.finish()
      const bytes = await this.#gpu.download(firstZero, 0, 4)
      const at = new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0] as number
      if (at < count) throw new Error(`${query}[${first + at}] would be infinity`)
    } finally {
      constants?.release()
      this.#gpu.release(firstZero)
    }
  }

  /** Writes those of `ic`, one a public input, from place `at` on. */
  async fillIc(scalars: GPUBuffer, at: number): Promise<void> {
    const constants = await ConstantBuffer.create(this.#gpu, 'factor', [{ value: frInv(this.#toxic.gamma) }])
    try {
      const commands = this.#gpu.commands('scalars of ic')
      this.#recordScaled(commands, 0, this.#shape.inputs, constants, scalars, at)
      await commands.submit()
    } finally {
      constants.release()
    }
  }

  /** What the kernels of a query need besides columns. */
  async #constants(query: Query, first: number, count: number): Promise<ConstantBuffer | undefined> {
    const { tau, delta } = this.#toxic
    if (query === 'l') return await ConstantBuffer.create(this.#gpu, 'factor', [{ value: frInv(delta) }])
    if (query !== 'h') return undefined
    const { threads, bits } = powerThreads(count)
    return await ConstantBuffer.create(this.#gpu, 'constants of powers', [
      { value: frPow(tau, BigInt(threads)) },
      { value: frMul(frPow(tau, BigInt(first)), this.#zOverDelta), plain: true },
      ...squaresOf(tau, bits),
    ])
  }

  #record(
    commands: Commands,
    query: Query,
    first: number,
    count: number,
    scalars: GPUBuffer,
    constants: ConstantBuffer | undefined,
  ): void {
    const { u, v } = this.#columns
    switch (query) {
      case 'h': {
        const { threads, bits } = powerThreads(count)
        commands.dispatch(powersKernel, {
          buffers: [(constants as ConstantBuffer).buffer, scalars],
          params: [count, threads, bits],
          workgroups: Math.ceil(threads / 64),
        })
        break
      }
      case 'l':
        this.#recordScaled(commands, this.#shape.inputs + first, count, constants as ConstantBuffer, scalars, 0)
        break
      case 'a':
        this.#dense.a.record(commands, this.#gather, u, first, count, scalars)
        break
      case 'b_g1':
      case 'b_g2':
        this.#dense.b.record(commands, this.#gather, v, first, count, scalars)
    }
  }

  #recordScaled(
    commands: Commands,
    firstColumn: number,
    count: number,
    factor: ConstantBuffer,
    scalars: GPUBuffer,
    at: number,
  ): void {
    for (const range of this.#columns.combined.ranges(firstColumn, count)) {
      commands.dispatch(scaleKernel, {
        buffers: [factor.buffer, range.buffer, scalars],
        params: [range.count, range.first, at + range.at],
        workgroups: Math.ceil(range.count / 64),
      })
    }
  }

  release(): void {
    this.#dense.a.release()
    this.#dense.b.release()
  }
}

/** Work of the scalars of a range, in additions of points. */
const scalarWork = (count: number): number => count / SCALARS_PER_WORK

/** Threads that make so many powers, and bits of their numbers. */
function powerThreads(count: number): { readonly threads: number; readonly bits: number } {
  const threads = Math.ceil(count / POWERS_PER_THREAD)
  return { threads, bits: Math.ceil(Math.log2(threads + 1)) }
}

/** Bytes of the scalars of a range. */
export const scalarBytes = (count: number): number => Math.max(1, count) * ELEMENT_BYTES
