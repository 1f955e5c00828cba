/**
 * One partition on the device: z (public inputs and aux, plain integers), from the compact witness; then the rows a and
 * b, which the quotient turns into h. Nothing of it is ever read back.
 *
 * Of a large circuit each of z, a, b takes 4 GiB, and the quotient a third polynomial. Where memory is short z gives
 * way meanwhile and is made anew from the compact witness, which stays on the device and is a hundredth of it.
 */
import type { CompactWitness } from '../../circuit/shape.ts'
import { SynthesisError } from '../../errors.ts'
import type { Assignment, Run } from '../../groth16/proving-device.ts'
import { portion, silent } from '../../groth16/run-portion.ts'
import type { Query } from '../../params/layout.ts'
import { BufferSet } from '../buffer-set.ts'
import { ELEMENT_BYTES, Elements } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import { UnitStream } from '../unit-stream.ts'
import {
  type AssignBuffers,
  checkSteps,
  deriveSteps,
  rowSteps,
  type StepSource,
  scatterSteps,
  totalWork,
  type WitnessBuffers,
} from './assign-steps.ts'
import { givesWay } from './assignment-bytes.ts'
import type { GpuShape } from './gpu-shape.ts'

/** Scalars of a range of a query, in a buffer of their own. */
export interface QueryScalars {
  readonly buffer: GPUBuffer
  readonly first: number
  readonly ready: Promise<unknown>
  release(): void
}

/** Left by the check where every row holds. */
const NO_ROW = 0xffff_ffff

/** A partition's values, rows and quotient, of which only sums leave the device. */
export class GpuAssignment implements Assignment {
  readonly shape: GpuShape
  readonly #gpu: Gpu
  readonly #set: BufferSet
  readonly #witness: WitnessBuffers
  #z: Elements | undefined
  /** Rows a and b until the quotient is computed, then `b` is h. */
  #rows: { readonly a: Elements; readonly b: Elements } | undefined
  #h: Elements | undefined

  private constructor(gpu: Gpu, shape: GpuShape, set: BufferSet, witness: WitnessBuffers) {
    this.#gpu = gpu
    this.shape = shape
    this.#set = set
    this.#witness = witness
  }

  /** @throws {SynthesisError} the witness was not checked, and does not satisfy the circuit */
  static async create(gpu: Gpu, shape: GpuShape, witness: CompactWitness, run: Run): Promise<GpuAssignment> {
    const set = new BufferSet(gpu)
    try {
      const upload = async (bytes: Uint8Array, label: string): Promise<GPUBuffer> => {
        const buffer = await set.allocate(Math.max(ELEMENT_BYTES, bytes.byteLength), label)
        await gpu.upload(buffer, 0, bytes)
        return buffer
      }
      const assignment = new GpuAssignment(gpu, shape, set, {
        inputs: await upload(witness.inputs, 'public inputs'),
        bits: await upload(witness.bits, 'bits'),
        wide: await upload(witness.wide, 'wide scalars'),
      })
      set.own({ release: () => assignment.#releaseElements() })
      const share = totalWork(rowSteps(shape))
      const before = totalWork(scatterSteps(shape)) + totalWork(deriveSteps(shape))
      const middle = before / Math.max(1, before + share)
      await assignment.#fill(portion(run, 0, middle))
      // Rows are evaluated while the answer is on its way; both have stopped before anything is released.
      const [checked, evaluated] = await Promise.allSettled([
        witness.unchecked ? assignment.#firstViolated(silent(run)) : NO_ROW,
        assignment.#evaluate(portion(run, middle, 1)),
      ])
      if (evaluated.status === 'rejected') throw evaluated.reason
      if (checked.status === 'rejected') throw checked.reason
      if (checked.value !== NO_ROW) throw unsatisfied(shape, checked.value)
      return assignment
    } catch (error) {
      set.release()
      throw error
    }
  }

  /** z from the compact witness. */
  async #fill(run: Run): Promise<void> {
    const { inputs, aux } = this.shape.shape
    const z = await Elements.allocate(this.#gpu, inputs + aux, 'assignment')
    this.#z = z
    const scattering = scatterSteps(this.shape)
    const deriving = deriveSteps(this.shape)
    const work = totalWork(scattering)
    const middle = work / Math.max(1, work + totalWork(deriving))
    const first = this.#gpu.commands('public inputs')
    for (const { buffer, first: within, count, at } of z.ranges(0, inputs)) {
      const bytes = count * ELEMENT_BYTES
      first.copy(this.#witness.inputs, at * ELEMENT_BYTES, buffer, within * ELEMENT_BYTES, bytes)
    }
    await first.submit()
    await this.#stream('scatter witness', scattering, portion(run, 0, middle))
    await this.#stream('derive witness', deriving, portion(run, middle, 1))
  }

  /** Number of the first row that does not hold, of those that a wrong witness violates; {@link NO_ROW} if all do. */
  async #firstViolated(run: Run): Promise<number> {
    const gpu = this.#gpu
    const violated = await gpu.allocate(Uint32Array.BYTES_PER_ELEMENT, 'first violated row')
    try {
      await gpu.upload(violated, 0, new Uint8Array(Uint32Array.of(NO_ROW).buffer))
      await this.#stream('check rows', checkSteps(this.shape), run, { violated })
      const [row] = new Uint32Array((await gpu.download(violated, 0, Uint32Array.BYTES_PER_ELEMENT)).buffer)
      return row as number
    } finally {
      gpu.release(violated)
    }
  }

  /** Rows a and b from z. */
  async #evaluate(run: Run): Promise<void> {
    const gpu = this.#gpu
    const { constraints, inputs, log2Domain } = this.shape.shape
    const domain = 2 ** log2Domain
    const a = await Elements.allocate(gpu, domain, 'rows a')
    const b = await Elements.allocate(gpu, domain, 'rows b').catch((error: unknown) => {
      a.release()
      throw error
    })
    this.#rows = { a, b }
    // The row of each input, `input · 0 = 0`, then the padding.
    const padding = gpu.commands('rows of inputs')
    this.#assigned.recordCopy(padding, 0, inputs, a, constraints)
    a.recordClear(padding, constraints + inputs, domain - constraints - inputs)
    b.recordClear(padding, constraints, domain - constraints)
    const padded = padding.submit()
    padded.catch(() => {})
    await this.#stream('rows', rowSteps(this.shape), run)
    await padded
  }

  async #stream(
    label: string,
    sources: readonly StepSource[],
    run: Run,
    others: Partial<AssignBuffers> = {},
  ): Promise<void> {
    const stream = new UnitStream(this.#gpu, label, run, totalWork(sources))
    const buffers: AssignBuffers = { ...this.#witness, z: this.#assigned, ...this.#rows, ...others }
    for (const { count, workEach, step } of sources) {
      for (let at = 0; at < count; ) {
        const part = Math.min(count - at, Math.max(1, Math.floor(stream.room / workEach)))
        const { kernel, ...dispatch } = step(buffers, at, part)
        stream.commands.dispatch(kernel, dispatch)
        at += part
        await stream.recorded(part * workEach)
      }
    }
    await stream.finish()
  }

  get #assigned(): Elements {
    if (this.#z === undefined) throw new Error('The assignment gave way to a quotient.')
    return this.#z
  }

  /**
   * @param keepsValues the memory counted for this partition has room for z beside the quotient
   * @throws {GpuOutOfMemoryError} also without z there is no room for a third polynomial
   */
  async quotient(run: Run, keepsValues = false): Promise<void> {
    if (this.#rows === undefined) throw new Error('The quotient of an assignment is computed once.')
    const { a, b } = this.#rows
    const gpu = this.#gpu
    const gaveWay = givesWay(a.count * ELEMENT_BYTES, keepsValues, gpu)
    if (gaveWay) {
      this.#assigned.release()
      this.#z = undefined
    }
    await this.shape.domain.compute(a, b, portion(run, 0, gaveWay ? 0.9 : 1))
    a.release()
    this.#rows = undefined
    this.#h = b
    if (gaveWay) await this.#fill(portion(run, 0.9, 1))
  }

  #releaseElements(): void {
    for (const elements of [this.#z, this.#rows?.a, this.#rows?.b, this.#h]) elements?.release()
    this.#z = undefined
    this.#rows = undefined
    this.#h = undefined
  }

  /**
   * Scalars `first` up to `first + count` of a query in one buffer of their own, from its beginning. Work that is
   * submitted after the call finds them there; `ready` tells when they are, or why not. The caller releases them.
   */
  async scalars(query: Query, first: number, count: number): Promise<QueryScalars> {
    const gpu = this.#gpu
    const { inputs } = this.shape.shape
    const buffer = await gpu.allocate(count * ELEMENT_BYTES, `scalars of ${query}`)
    try {
      const commands = gpu.commands(`scalars of ${query}`)
      if (query === 'l') this.#assigned.recordCopy(commands, inputs + first, count, buffer, 0)
      else if (query !== 'h') {
        const dense = query === 'a' ? this.shape.a : this.shape.b
        dense.record(commands, this.shape.kernels.gather, this.#assigned, first, count, buffer)
      } else if (this.#h === undefined) throw new Error('The quotient has not been computed.')
      else this.#h.recordCopy(commands, first, count, buffer, 0)
      const ready = commands.submit()
      // Whoever awaits it hears of it; until then it is not unhandled.
      ready.catch(() => {})
      return { buffer, first: 0, ready, release: () => gpu.release(buffer) }
    } catch (error) {
      gpu.release(buffer)
      throw error
    }
  }

  /** Takes over what has to be released with the assignment. */
  own<T extends { release(): void }>(resource: T): T {
    return this.#set.own(resource)
  }

  release(): void {
    this.#set.release()
  }
}

function unsatisfied({ shape }: GpuShape, row: number): SynthesisError {
  return new SynthesisError(`the witness of ${shape.circuitId} does not satisfy row ${row}`, {
    details: { received: `row ${row}` },
  })
}
