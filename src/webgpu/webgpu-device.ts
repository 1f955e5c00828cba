/**
 * The WebGPU device: one adapter's device, its kernels compiled once, assignments and points in its memory.
 *
 * What it does is spread over its neighbours (`assignment/`, `ntt/`, `msm/`, `curve/`); here they meet the interface of
 * all devices.
 */
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import { shortSum } from '../cpu/local-kernels.ts'
import { GpuDeviceLostError, GpuOutOfMemoryError, SrsUnavailableError, UnsupportedProofError } from '../errors.ts'
import { ownHandle } from '../groth16/own-handle.ts'
import type {
  Assignment,
  DevicePoints,
  DeviceSetup,
  DeviceShape,
  LoadOptions,
  MemoryPlan,
  ProvingDevice,
  ReadPoints,
  Run,
  ShortSum,
} from '../groth16/proving-device.ts'
import type { Query } from '../params/layout.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { orAborted } from '../params/waiting.ts'
import { GpuAssignment } from './assignment/gpu-assignment.ts'
import { GpuShape } from './assignment/gpu-shape.ts'
import { type Calibration, calibrate } from './calibrate.ts'
import { CompileAhead, compileHelpers } from './compile-ahead.ts'
import { fixedBaseMultiples } from './curve/fixed-base.ts'
import { encodedBytes, streamPoints } from './curve/import-points.ts'
import { MAX_SHARDS, shardLog2 } from './elements.ts'
import { Gpu } from './gpu.ts'
import { type JointPlan, jointPlan, sumJointly } from './joint-queries.ts'
import { keepBusy } from './keep-busy.ts'
import { kernelsSeen, rememberKernels } from './kernels-seen.ts'
import type { AdapterInfo, OpenGpuOptions } from './open-gpu.ts'
import { PROVING_KERNELS, SELF_TEST_KERNELS } from './proving-kernels.ts'
import { RangedQueries } from './ranged-queries.ts'
import { knownAnswers, runSelfTest } from './self-test.ts'
import { GpuSetup, type WrapPoints } from './setup/device-setup.ts'
import { planMade } from './setup/made-plan.ts'
import type { Tuning } from './tuning.ts'
import { type GpuPlan, leastGpuBytes, planGpu, rangePoints } from './working-set.ts'

/** Which adapter is opened, and what is known of it. */
export interface WebGpuDeviceOptions extends OpenGpuOptions {
  /** Device memory that may be allocated. */
  readonly memoryBytes?: number | undefined
  /** What is known of the best tuning of an adapter. */
  readonly tuning?: ((info: AdapterInfo) => Promise<Tuning | undefined>) | undefined
}

async function openTuned({ tuning, ...options }: WebGpuDeviceOptions): Promise<Gpu> {
  const gpu = await Gpu.open(options)
  try {
    gpu.tune((await tuning?.(gpu.info)) ?? gpu.tuning)
    return gpu
  } catch (error) {
    await gpu.close()
    throw error
  }
}

class GpuPoints implements DevicePoints {
  readonly group: 'g1' | 'g2'
  readonly count: number
  readonly buffer: GPUBuffer
  readonly #gpu: Gpu

  constructor(gpu: Gpu, group: 'g1' | 'g2', count: number, buffer: GPUBuffer) {
    this.#gpu = gpu
    this.group = group
    this.count = count
    this.buffer = buffer
  }

  release(): void {
    this.#gpu.release(this.buffer)
  }
}

/** One GPU as a device that proves. */
export class WebGpuDevice implements ProvingDevice {
  readonly kind = 'webgpu'
  readonly shortSum: ShortSum = shortSum
  readonly name: string
  readonly maxLog2Domain: number
  readonly gpu: Gpu
  readonly #plans = new WeakMap<CircuitShape, GpuPlan>()
  readonly #ranged: RangedQueries
  #ahead: CompileAhead | undefined
  #remembering: Promise<void> | undefined
  /** Resolves when the driver took the device away, or it was closed. */
  readonly lost: Promise<GpuDeviceLostError>

  constructor(gpu: Gpu) {
    this.gpu = gpu
    this.#ranged = new RangedQueries(gpu)
    this.name = gpu.info.name
    this.lost = gpu.device.lost.then(
      ({ message, reason }) =>
        new GpuDeviceLostError(`the GPU device was lost: ${message || reason}`, { details: { device: this.name } }),
    )
    // A kernel that reads a polynomial anywhere binds all its shards.
    this.maxLog2Domain = shardLog2(gpu) + Math.log2(MAX_SHARDS)
  }

  /** @throws {GpuUnavailableError} no adapter, or none that is wanted */
  static async create(options: WebGpuDeviceOptions = {}): Promise<WebGpuDevice> {
    const adapter = options.adapter ?? ''
    // A driver that was never given these kernels compiles them for seconds: helpers are opened beside the device then.
    const seen = options.allowSoftware === true || (await kernelsSeen(adapter))
    const helpers = Array.from({ length: seen ? 0 : compileHelpers() }, () => Gpu.open(options))
    for (const helper of helpers) helper.catch(() => {})
    const gpu = await openTuned(options).catch(async (error: unknown) => {
      await Promise.allSettled(helpers.map((helper) => helper.then((opened) => opened.close())))
      throw error
    })
    const device = new WebGpuDevice(gpu)
    // In the background: the first proof finds them compiled, or waits for the rest. A kernel that fails is compiled
    // again where it is needed, and fails there. A software adapter has no threads to spare.
    if (gpu.info.software) return device
    const openHelper = async (): Promise<Gpu> => {
      const helper = await (helpers.shift() ?? Gpu.open(options))
      helper.tune(gpu.tuning)
      return helper
    }
    device.#ahead = new CompileAhead(gpu, PROVING_KERNELS, openHelper, { patienceMs: seen ? undefined : 0 })
    device.#remembering = device.#ahead.ready(PROVING_KERNELS).then(async () => {
      if (!seen && gpu.open) await rememberKernels(adapter)
    })
    return device
  }

  /** Of the adapter and what it offers, for reports. */
  get details(): AdapterInfo & { readonly limits: Readonly<Record<string, number>> } {
    const limits: Record<string, number> = {}
    // Limits are getters of the prototype: they are no entries of the object.
    for (const name in this.gpu.limits) {
      const value: unknown = this.gpu.limits[name as keyof GPUSupportedLimits]
      if (typeof value === 'number') limits[name] = value
    }
    return { ...this.gpu.info, limits }
  }

  /** Small work without pause until the signal aborts. */
  async warmUp(signal: AbortSignal): Promise<void> {
    await keepBusy(this.gpu, signal)
  }

  /**
   * Measures what the adapter is best tuned to, and uses it from then on. Nothing else may be done meanwhile.
   * @throws `run.signal.reason` once the signal aborts, and what the device fails with
   */
  async calibrate(run: Run): Promise<Calibration> {
    if (this.#ahead !== undefined) await orAborted(this.#ahead.done, run.signal)
    const found = await calibrate(this.gpu, run)
    this.gpu.tune(found.tuning)
    return found
  }

  rangePoints(group: 'g1' | 'g2'): number {
    return rangePoints(group, this.gpu.bindingBytes)
  }

  /** Device memory to count on; infinite where it was not set, until the driver refuses some. */
  get memoryBytes(): number {
    return this.gpu.plannedBytes
  }

  planMemory(shape: CircuitShape, besideBytes: number, made = false): MemoryPlan {
    const { bits, wide } = shape.root.totals
    const circuit = { ...shape, bits, wide }
    const { bindingBytes, memoryBytes } = this.gpu
    const planned = { memoryBytes: this.memoryBytes - besideBytes, bindingBytes }
    const fromSetup = made ? planMade(circuit, planned) : undefined
    const least = (fromSetup?.leastBytes ?? leastGpuBytes(circuit, bindingBytes)) + besideBytes
    if (least > memoryBytes) {
      const what = made ? 'with the set-up of its parameters' : 'parameters streamed'
      throw new GpuOutOfMemoryError(
        `a partition of ${shape.circuitId} needs ${least} bytes of device memory, ${what}; ${this.name} may use ${memoryBytes}`,
        { details: { field: 'gpu.memoryBytes', expected: `at least ${least}`, received: String(memoryBytes) } },
      )
    }
    const plan = fromSetup?.plan ?? planGpu(circuit, planned)
    this.#plans.set(shape, plan)
    return plan
  }

  async loadShape(shape: CircuitShape): Promise<DeviceShape> {
    // The assignment has about as many values as there are rows, and is read anywhere too.
    if (Math.max(2 ** shape.log2Domain, shape.inputs + shape.aux) > 2 ** this.maxLog2Domain) {
      throw new UnsupportedProofError(
        `${shape.circuitId} has a domain of 2^${shape.log2Domain}; ${this.name} serves up to 2^${this.maxLog2Domain}`,
        {
          details: {
            expected: `at most 2^${this.maxLog2Domain}`,
            received: `2^${shape.log2Domain}`,
            device: this.name,
          },
        },
      )
    }
    return await GpuShape.load(this.gpu, shape)
  }

  async settle(): Promise<void> {
    await this.gpu.returned()
  }

  async assign(shape: DeviceShape, witness: CompactWitness, run: Run): Promise<Assignment> {
    return await GpuAssignment.create(this.gpu, ownHandle(GpuShape, shape), witness, run)
  }

  async quotient(assignment: Assignment, run: Run): Promise<void> {
    const own = ownHandle(GpuAssignment, assignment)
    await own.quotient(run, this.#plans.get(own.shape.shape)?.keepsValues)
  }

  async loadPoints(
    group: 'g1' | 'g2',
    count: number,
    read: ReadPoints,
    run: Run,
    options?: LoadOptions,
  ): Promise<DevicePoints> {
    const buffer = await this.gpu.allocate(count * encodedBytes(group), 'points')
    try {
      const bad = await streamPoints(this.gpu, group, count, read, buffer, run, options)
      if (bad !== undefined) {
        throw new SrsUnavailableError(`Point ${bad} of a range of parameters is not a finite point on the curve.`, {
          details: { expected: 'a point on the curve', received: String(bad) },
        })
      }
      return new GpuPoints(this.gpu, group, count, buffer)
    } catch (error) {
      this.gpu.release(buffer)
      throw error
    }
  }

  async multiexp(
    points: DevicePoints,
    query: Query,
    first: number,
    assignments: readonly Assignment[],
    run: Run,
  ): Promise<Uint8Array[]> {
    const { buffer, group, count } = ownHandle(GpuPoints, points)
    const sums: Uint8Array[] = []
    for (const [i, assignment] of assignments.entries()) {
      run.signal.throwIfAborted()
      const own = ownHandle(GpuAssignment, assignment)
      const scalars = await own.scalars(query, first, count)
      try {
        const part: Run = { ...run, unit: (share) => run.unit((i + share) / assignments.length) }
        const range = { query, group, points: buffer, scalars, first, count }
        const memoryBytes = this.#plans.get(own.shape.shape)?.sumBytes[group]
        const work = [this.#ranged.sum(own, range, memoryBytes, part), scalars.ready] as const
        // Both have stopped before the scalars are released.
        await Promise.allSettled(work)
        sums.push((await Promise.all(work))[0])
      } finally {
        scalars.release()
      }
    }
    return sums
  }

  sumQueries(
    points: Readonly<Record<Query, DevicePoints>>,
    assignments: readonly Assignment[],
    run: Run,
  ): Promise<Readonly<Record<Query, Uint8Array>>[]> | undefined {
    const own = assignments.map((assignment) => ownHandle(GpuAssignment, assignment))
    const { shape } = (own[0] as GpuAssignment).shape
    const plan = this.#jointPlan(shape)
    return plan === undefined ? undefined : this.#sumQueries(plan, points, own, run)
  }

  #jointPlan(shape: CircuitShape): JointPlan | undefined {
    if (this.#plans.has(shape)) return this.#plans.get(shape)?.joint
    const { bits, wide } = shape.root.totals
    return jointPlan({ ...shape, bits, wide }, this.gpu.bindingBytes, Number.POSITIVE_INFINITY)
  }

  async #sumQueries(
    plan: JointPlan,
    points: Readonly<Record<Query, DevicePoints>>,
    assignments: readonly GpuAssignment[],
    run: Run,
  ): Promise<Readonly<Record<Query, Uint8Array>>[]> {
    const buffers = Object.fromEntries(
      Object.entries(points).map(([query, held]) => [query, ownHandle(GpuPoints, held).buffer]),
    ) as Record<Query, GPUBuffer>
    const sums = []
    for (const [i, assignment] of assignments.entries()) {
      run.signal.throwIfAborted()
      const part: Run = { ...run, unit: (share) => run.unit((i + share) / assignments.length) }
      sums.push(await sumJointly(this.gpu, plan, buffers, assignment, part))
    }
    return sums
  }

  fixedBaseMultiples(
    group: 'g1' | 'g2',
    base: Uint8Array,
    scalars: Uint8Array,
    out: Uint8Array,
    run: Run,
  ): Promise<void> {
    return fixedBaseMultiples(this.gpu, group, base, scalars, out, run)
  }

  async openSetup(shape: CircuitShape, toxic: ToxicWaste, run: Run): Promise<DeviceSetup> {
    const most = { g1: this.rangePoints('g1'), g2: this.rangePoints('g2') }
    const wrap: WrapPoints = (group, count, buffer) => new GpuPoints(this.gpu, group, count, buffer)
    return await GpuSetup.create(this.gpu, shape, toxic, most, wrap, run)
  }

  async selfTest(run: Run): Promise<void> {
    const answers = knownAnswers()
    answers.catch(() => {})
    // Asked for now they would be compiled here, two at a time, beside helpers that compile the same.
    if (this.#ahead !== undefined) await orAborted(this.#ahead.ready(SELF_TEST_KERNELS), run.signal)
    await runSelfTest(this.gpu, run, await answers)
  }

  async close(): Promise<void> {
    this.#ahead?.end()
    await Promise.all([this.gpu.close(), this.#ahead?.done, this.#remembering])
  }
}
