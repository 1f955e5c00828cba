/**
 * One partition on the device: z (public inputs and aux, plain integers), from the compact witness; then the rows a and b, which the
 * quotient turns into h. Nothing of it is ever read back.
 */
import type { CompactWitness } from '../../circuit/shape.ts'
import type { Assignment, Run } from '../../groth16/proving-device.ts'
import type { Query } from '../../params/layout.ts'
import { BufferSet } from '../buffer-set.ts'
import { ELEMENT_BYTES, Elements } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { GpuShape } from './gpu-shape.ts'
import type { Batch } from './instances.ts'
import { deriveKernel, gatherKernel, poseidonKernel, rowsKernel, scatterKernel } from './row-kernels.ts'

/** Hashes of a workgroup of the Poseidon kernel. */
const HASHES_PER_WORKGROUP = 4
/** Dispatches recorded into one unit. */
const BATCHES_PER_UNIT = 32

export interface QueryScalars {
  readonly buffer: GPUBuffer
  readonly first: number
  readonly ready: Promise<unknown>
  release(): void
}

export class GpuAssignment implements Assignment {
  readonly shape: GpuShape
  readonly #gpu: Gpu
  readonly #set: BufferSet
  readonly #z: GPUBuffer
  /** Rows a and b until the quotient is computed, then `b` is h. */
  #rows: { readonly a: Elements; readonly b: Elements } | undefined
  #h: Elements | undefined

  private constructor(gpu: Gpu, shape: GpuShape, set: BufferSet, z: GPUBuffer, rows: { a: Elements; b: Elements }) {
    this.#gpu = gpu
    this.shape = shape
    this.#set = set
    this.#z = z
    this.#rows = rows
  }

  static async create(gpu: Gpu, shape: GpuShape, witness: CompactWitness, run: Run): Promise<GpuAssignment> {
    const { inputs, aux, constraints, log2Domain } = shape.shape
    const set = new BufferSet(gpu)
    const sent = new BufferSet(gpu)
    try {
      const z = await set.allocate((inputs + aux) * ELEMENT_BYTES, 'assignment')
      const rowBytes = 2 ** log2Domain * ELEMENT_BYTES
      const rowsA = await Elements.allocate(gpu, 2 ** log2Domain, 'rows a')
      const rowsB = await Elements.allocate(gpu, 2 ** log2Domain, 'rows b').catch((error: unknown) => {
        rowsA.release()
        throw error
      })
      const [a, b] = [rowsA.shards[0] as GPUBuffer, rowsB.shards[0] as GPUBuffer]
      const assignment = new GpuAssignment(gpu, shape, set, z, { a: rowsA, b: rowsB })
      set.own({ release: () => assignment.#releaseRows() })
      const bits = await sent.allocate(Math.max(16, witness.bits.byteLength), 'bits')
      const wide = await sent.allocate(Math.max(32, witness.wide.byteLength), 'wide scalars')
      await gpu.upload(bits, 0, witness.bits)
      await gpu.upload(wide, 0, witness.wide)
      await gpu.upload(z, 0, witness.inputs)
      await assignment.#scatter(bits, wide)
      await assignment.#derive(run)
      run.signal.throwIfAborted()
      const used = (constraints + inputs) * ELEMENT_BYTES
      const commands = gpu.commands('rows')
      for (const { data, records, rows, terms } of shape.templates) {
        const { instances, rowCount, recordWords } = data
        commands.dispatch(rowsKernel, {
          buffers: [z, records, rows, terms, shape.coefficients, a, b],
          params: [instances, rowCount, recordWords, 0],
          workgroups: Math.ceil((instances * rowCount) / 64),
        })
      }
      // The row of each input, `input · 0 = 0`, then the padding.
      await commands
        .copy(z, 0, a, constraints * ELEMENT_BYTES, inputs * ELEMENT_BYTES)
        .clear(b, constraints * ELEMENT_BYTES, inputs * ELEMENT_BYTES)
        .clear(a, used, rowBytes - used)
        .clear(b, used, rowBytes - used)
        .submit()
      run.unit(1)
      return assignment
    } catch (error) {
      set.release()
      throw error
    } finally {
      sent.release()
    }
  }

  async #scatter(bits: GPUBuffer, wide: GPUBuffer): Promise<void> {
    const commands = this.#gpu.commands('scatter witness')
    for (const { data, records, slots } of this.shape.templates) {
      const { instances, slotCount, recordWords } = data
      commands.dispatch(scatterKernel, {
        buffers: [this.#z, records, slots, bits, wide],
        params: [instances, slotCount, recordWords, 0],
        workgroups: Math.ceil((instances * slotCount) / 64),
      })
    }
    await commands.submit()
  }

  async #derive(run: Run): Promise<void> {
    const { deriving } = this.shape
    for (let first = 0; first < deriving.length; first += BATCHES_PER_UNIT) {
      run.signal.throwIfAborted()
      const commands = this.#gpu.commands('derive witness')
      for (const batch of deriving.slice(first, first + BATCHES_PER_UNIT)) this.#recordBatch(commands, batch)
      await commands.submit()
      run.unit((0.9 * Math.min(deriving.length, first + BATCHES_PER_UNIT)) / deriving.length)
    }
  }

  #recordBatch(commands: ReturnType<Gpu['commands']>, { template: data, first, count }: Batch): void {
    const { records, rows, terms } = this.shape.buffersOf(data)
    const table = this.shape.poseidonTable(data.template)
    const { poseidon } = data.template
    if (table === undefined || poseidon === undefined) {
      commands.dispatch(deriveKernel, {
        buffers: [this.#z, records, rows, terms, this.shape.coefficients],
        params: [first, count, data.rowCount, data.recordWords, 0, 2],
        workgroups: Math.ceil(count / 64),
      })
      return
    }
    const width = poseidon.arity + 1
    // 3 (8 t + R_P − 1) + 7 t + R_P + 1 variables, of which R_P follows.
    const partialRounds = (data.template.totals.aux - 31 * width + 2) / 4
    commands.dispatch(poseidonKernel, {
      buffers: [this.#z, records, table],
      params: [first, count, data.recordWords, width, partialRounds, 2],
      workgroups: Math.ceil(count / HASHES_PER_WORKGROUP),
    })
  }

  async quotient(run: Run): Promise<void> {
    if (this.#rows === undefined) throw new Error('The quotient of an assignment is computed once.')
    const { a, b } = this.#rows
    await this.shape.domain.compute(a, b, run)
    a.release()
    this.#rows = undefined
    this.#h = b
  }

  #releaseRows(): void {
    if (this.#rows !== undefined) {
      this.#rows.a.release()
      this.#rows.b.release()
    }
    this.#h?.release()
    this.#rows = undefined
    this.#h = undefined
  }

  /**
   * Buffer and number of the first scalar of a query's range. Work that is submitted after the call finds them there; `ready` tells when
   * they are, or why not. A copy is released by the caller.
   */
  async scalars(query: Query, first: number, count: number): Promise<QueryScalars> {
    const kept = (buffer: GPUBuffer, at: number) => ({
      buffer,
      first: at,
      ready: Promise.resolve(),
      release: () => {},
    })
    if (query === 'l') return kept(this.#z, this.shape.shape.inputs + first)
    if (query === 'h') {
      if (this.#h === undefined) throw new Error('The quotient has not been computed.')
      return kept(this.#h.shards[0] as GPUBuffer, first)
    }
    const places = query === 'a' ? this.shape.aPlaces : this.shape.bPlaces
    const buffer = await this.#gpu.allocate(count * ELEMENT_BYTES, `scalars of ${query}`)
    const ready = this.#gpu
      .commands(`scalars of ${query}`)
      .dispatch(gatherKernel, {
        buffers: [this.#z, places, buffer],
        params: [count, first],
        workgroups: Math.ceil(count / 64),
      })
      .submit()
    return { buffer, first: 0, ready, release: () => this.#gpu.release(buffer) }
  }

  release(): void {
    this.#set.release()
  }
}
