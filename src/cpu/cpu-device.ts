/**
 * The CPU device: WebAssembly kernels on threads over one shared memory of at most 4 GiB.
 *
 * What it does is spread over its neighbours (`assignment/`, `ntt/`, `msm/`, `fixed-base/`, `device-points.ts`); here
 * they meet the interface of all devices. Nothing is computed on the coordinating thread, so it answers while the
 * others work.
 */
import { availableParallelism } from 'node:os'
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import { GpuOutOfMemoryError, UnsupportedProofError } from '../errors.ts'
import { ownHandle } from '../groth16/own-handle.ts'
import type {
  Assignment,
  DevicePoints,
  DeviceShape,
  ProvingDevice,
  ReadPoints,
  Run,
  ShortSum,
} from '../groth16/proving-device.ts'
import { portion } from '../groth16/run-portion.ts'
import type { Query } from '../params/layout.ts'
import { MemoryExhaustedError } from './arena.ts'
import { CpuAssignment } from './assignment/cpu-assignment.ts'
import { CpuShape } from './assignment/cpu-shape.ts'
import { queryScalars } from './assignment/query-scalars.ts'
import { collectGarbage } from './collect-garbage.ts'
import { CpuPoints, loadDevicePoints } from './device-points.ts'
import { fixedBaseMultiples } from './fixed-base/fixed-base.ts'
import { shortSum } from './local-kernels.ts'
import { multiexp } from './msm/multiexp.ts'
import { MAX_LOG2_DOMAIN, Transforms } from './ntt/transform.ts'
import type { KernelBackend } from './relaxed-simd.ts'
import { enableRelaxedSimd } from './relaxed-simd.ts'
import { runSelfTest } from './self-test.ts'
import { ComputePool } from './thread-pool.ts'
import { RANGE_POINTS } from './working-set.ts'

/** Share of a sum's time that picking its scalars takes. */
const GATHER_SHARE = 0.01

/**
 * Memory that is worth the start of new threads, some tens of ms each. A WinningPoSt leaves less (180 MiB), and so is
 * never kept from beginning at once.
 */
const WORTH_GIVING_BACK: number = 256 * 2 ** 20

export interface CpuDeviceOptions {
  /** @default availableParallelism() */
  readonly threads?: number | undefined
  /**
   * `auto` uses fused multiply-add where it is there and exact, `enable` also sets the V8 flag that Node 20 needs (of
   * the whole process), `never` computes in integers. @default 'auto'
   */
  readonly relaxedSimd?: 'auto' | 'enable' | 'never' | undefined
  /** Overrides what `relaxedSimd` would choose: for tests. */
  readonly backend?: KernelBackend | undefined
}

/** The CPU as a device. Its calls reject once {@link CpuDevice.close} was called, or a thread has died. */
export class CpuDevice implements ProvingDevice {
  readonly kind = 'cpu'
  readonly shortSum: ShortSum = shortSum
  readonly name: string
  readonly maxLog2Domain: number = MAX_LOG2_DOMAIN
  readonly #pool: ComputePool
  readonly #transforms: Transforms
  #closing: Promise<void> | undefined

  private constructor(pool: ComputePool, transforms: Transforms) {
    this.#pool = pool
    this.#transforms = transforms
    const arithmetic = pool.backend === 'fma' ? 'fused multiply-add' : 'integers'
    this.name = `CPU (WebAssembly, ${arithmetic}, ${pool.threads} ${pool.threads === 1 ? 'thread' : 'threads'})`
  }

  /**
   * Starts the threads.
   * @throws {Error} a kernel can't be compiled or a thread started
   */
  static async create(options: CpuDeviceOptions = {}): Promise<CpuDevice> {
    const { relaxedSimd = 'auto', threads = availableParallelism() } = options
    if (relaxedSimd === 'enable') enableRelaxedSimd()
    const backend = options.backend ?? (relaxedSimd === 'never' ? 'integer' : 'auto')
    const pool = await ComputePool.create({ threads, backend })
    try {
      const idle: Run = { signal: new AbortController().signal, unit: () => {} }
      return new CpuDevice(pool, await Transforms.create(pool, idle))
    } catch (error) {
      await pool.close()
      throw error
    }
  }

  /** Which arithmetic the kernels use. */
  get backend(): KernelBackend {
    return this.#pool.backend
  }

  /** Bytes of the shared memory that are allocated now. */
  get usedBytes(): number {
    return this.#pool.arena.usedBytes
  }

  /** Bytes that the shared memory has grown to; they are given back by {@link trim}, or when the device is closed. */
  get memoryBytes(): number {
    return this.#pool.memory.buffer.byteLength
  }

  rangePoints(group: 'g1' | 'g2'): number {
    return RANGE_POINTS[group]
  }

  async loadShape(shape: CircuitShape): Promise<DeviceShape> {
    if (shape.log2Domain > this.maxLog2Domain) {
      throw new UnsupportedProofError(
        `${shape.circuitId} has a domain of 2^${shape.log2Domain}; the CPU device serves up to 2^${this.maxLog2Domain}`,
        {
          details: {
            expected: `at most 2^${this.maxLog2Domain}`,
            received: `2^${shape.log2Domain}`,
            device: this.name,
          },
        },
      )
    }
    return await this.#guard(async () => new CpuShape(this.#pool, shape))
  }

  /** @throws {SynthesisError} the witness' lengths are not the circuit's, or a scalar is not canonical */
  async assign(shape: DeviceShape, witness: CompactWitness, run: Run): Promise<Assignment> {
    // Rows that define nothing are not evaluated whole here.
    if (witness.unchecked) throw new Error('a witness that was not checked is for a GPU')
    return await this.#guard(() => CpuAssignment.create(this.#pool, ownHandle(CpuShape, shape), witness, run))
  }

  async quotient(assignment: Assignment, run: Run): Promise<void> {
    await this.#guard(() => ownHandle(CpuAssignment, assignment).computeQuotient(this.#transforms, run))
  }

  async loadPoints(group: 'g1' | 'g2', count: number, read: ReadPoints, run: Run): Promise<DevicePoints> {
    return await this.#guard(() => loadDevicePoints(this.#pool, group, count, read, run))
  }

  async multiexp(
    points: DevicePoints,
    query: Query,
    first: number,
    assignments: readonly Assignment[],
    run: Run,
  ): Promise<Uint8Array[]> {
    const range = ownHandle(CpuPoints, points)
    const sums: Uint8Array[] = []
    for (const [i, assignment] of assignments.entries()) {
      const part = portion(run, i / assignments.length, (i + 1) / assignments.length)
      sums.push(await this.#guard(() => this.#sum(range, query, first, ownHandle(CpuAssignment, assignment), part)))
    }
    return sums
  }

  async #sum(
    { group, address, count }: CpuPoints,
    query: Query,
    first: number,
    assignment: CpuAssignment,
    run: Run,
  ): Promise<Uint8Array> {
    const gathering = portion(run, 0, GATHER_SHARE)
    const scalars = await queryScalars(this.#pool, assignment, query, first, count, gathering)
    try {
      return await multiexp(this.#pool, group, address, scalars.address, count, portion(run, GATHER_SHARE, 1))
    } finally {
      scalars.release()
    }
  }

  async fixedBaseMultiples(
    group: 'g1' | 'g2',
    base: Uint8Array,
    scalars: Uint8Array,
    out: Uint8Array,
    run: Run,
  ): Promise<void> {
    await this.#guard(() => fixedBaseMultiples(this.#pool, group, base, scalars, out, run))
  }

  async selfTest(run: Run): Promise<void> {
    await this.#guard(() => runSelfTest(this.#pool, this.#transforms, run))
  }

  /**
   * Gives memory back that was wanted once, if there is much of it; what is loaded stays. To be called when nothing is
   * in hand, and stopped before anything begins.
   * @param leastBytes that are to be given back
   * @throws `signal.reason`, some ms after it aborts; {@link Error} if threads can't be started: the present ones go on
   * then
   */
  async trim(signal: AbortSignal, leastBytes: number = WORTH_GIVING_BACK): Promise<void> {
    if (this.memoryBytes - this.usedBytes < leastBytes) return
    await this.#pool.renew(signal)
    // A memory that nobody has any more goes with the garbage: by itself not within minutes (measured).
    await collectGarbage()
  }

  /** Says lack of memory in the terms of all devices. */
  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof MemoryExhaustedError)) throw error
      throw new GpuOutOfMemoryError(error.message, { details: { device: this.name }, cause: error })
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.close()
    return this.#closing
  }
}
