/**
 * What a device's worker does: opens the device, keeps the circuits that it was told of (shape, parameters, points),
 * and proves batches on it. The calls come from `WorkerDeviceClient`; what is not released there is released here by
 * `forget` and `close`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { circuitShape } from '../circuit/circuit-shape.ts'
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import { GpuUnavailableError, ProverError, toErrorObject } from '../errors.ts'
import type { Blinding } from '../groth16/blinding.ts'
import { measureRates } from '../groth16/device-rates.ts'
import { proveBatch } from '../groth16/prove-batch.ts'
import type { MemoryPlan, Milestone, ProvingDevice, Run } from '../groth16/proving-device.ts'
import { SrsPoints, type SrsPointsOptions } from '../groth16/srs-points.ts'
import { QUERIES, type Query } from '../params/layout.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { SrsFile } from '../params/srs-file.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { freePiped } from './byte-pipe.ts'
import type { BatchResult, DeviceCircuit, DeviceFunctions, PointResidency, WorkerBatch } from './device-client.ts'
import { DeviceMemory } from './device-memory.ts'
import type { DeviceInfo, DeviceSpec } from './device-spec.ts'
import { IdleWork } from './idle-work.ts'
import { keptPoints } from './kept-points.ts'
import { makeParameters } from './made-parameters.ts'
import { type OpenCircuit, OpenCircuits } from './open-circuits.ts'
import { type OpenDevice, openDevice } from './open-device.ts'

/** A circuit's part of the device's memory. */
interface HeldMemory {
  readonly keep: ReadonlySet<Query>
  readonly rangePoints?: MemoryPlan['rangePoints']
  readonly partsAtOnce?: MemoryPlan['partsAtOnce']
  readonly release: () => void
}

/** Calls in flight get their replies before a worker whose device was lost ends. */
const LAST_REPLIES_MS = 100

/** More batches than a worker gets in its life: whatever has a higher rank goes before what has a lower one. */
const RANK_STEP = 2 ** 40

/** A request whose witness does not come is not waited for any longer. */
const WARM_UP_LIMIT_MS = 10_000

/**
 * The functions of one worker, and their state.
 * @param end ends the worker, with the error it ends of if it has one
 * @param blinding a test seam: of every proof. Left out, as it must be for real proofs, each draws its own
 */
export function deviceFunctions(end: (error?: Error) => void, blinding?: Blinding): DeviceFunctions {
  return new DeviceHost(end, blinding).functions
}

class DeviceHost {
  readonly #end: (error?: Error) => void
  readonly #blinding: Blinding | undefined
  readonly #circuits = new OpenCircuits((circuit, run) => this.#openCircuit(circuit, run))
  readonly #memory = new DeviceMemory(
    () => this.#open?.memoryBytes?.() ?? Number.POSITIVE_INFINITY,
    (may) => this.#circuits.forgetIdle(may),
  )
  /** Of the circuits that are open. */
  readonly #plans = new Map<CircuitId, MemoryPlan>()
  #warming: AbortController | undefined
  #open: OpenDevice | undefined
  #idleWork: IdleWork | undefined
  /** Batches so far: earlier ones go first. */
  #batches = 0
  #closing = false

  constructor(end: (error?: Error) => void, blinding: Blinding | undefined) {
    this.#end = end
    this.#blinding = blinding
  }

  readonly functions: DeviceFunctions = {
    start: (spec, run) => this.#start(spec, run),
    selfTest: async (_, run) => {
      using _busy = await this.#idleWork?.giveWay()
      await this.#device.selfTest(run)
    },
    measure: async (options, run) => {
      using _busy = await this.#idleWork?.giveWay()
      return await measureRates(this.#device, options, run)
    },
    calibrate: async (_, run) => {
      using _busy = await this.#idleWork?.giveWay()
      if (this.#open?.calibrate === undefined) {
        const device = this.#device.name
        throw new GpuUnavailableError(`${device} is not calibrated`, { details: { device } })
      }
      return await this.#open.calibrate(run)
    },
    proveBatch: async (batch, run) => {
      using _busy = await this.#idleWork?.giveWay()
      try {
        const result = await this.#proveBatch(batch, run)
        this.#setAside(batch)
        return result
      } finally {
        drop(batch.witnesses)
      }
    },
    warm: async (circuit, run) => {
      using _busy = await this.#idleWork?.giveWay()
      const points = await this.#warm(circuit, run)
      this.#setAside(circuit)
      return points
    },
    warmUp: async (_, run) => {
      using _busy = await this.#idleWork?.giveWay()
      await this.#warmUp(run)
    },
    forget: async (circuitId) => {
      this.#memory.giveUp(circuitId)
      await this.#circuits.forget(circuitId)
    },
    returnAside: (circuitId) => this.#memory.giveUp(circuitId),
    close: () => this.#close(),
  }

  get #device(): ProvingDevice {
    if (this.#open === undefined) throw new Error('the device was not started')
    return this.#open.device
  }

  async #start(spec: DeviceSpec, run: Run): Promise<DeviceInfo> {
    try {
      this.#open = await openDevice(spec, run.signal)
      run.signal.throwIfAborted()
      if (spec.kind === 'cpu' || spec.selfTest !== false) await this.#device.selfTest(run)
      await this.#open.measured
      run.signal.throwIfAborted()
    } catch (error) {
      this.#closing = true
      await this.#open?.device.close()
      if (ProverError.is(error) && error.code === 'ERR_GPU_UNAVAILABLE') throw error
      const name = this.#open?.info.name ?? (spec.kind === 'cpu' ? 'the CPU device' : (spec.adapter ?? 'the GPU'))
      throw new GpuUnavailableError(`${name} can't be used: ${toErrorObject(error).message}`, {
        details: { device: name },
        cause: error,
      })
    }
    void this.#open.lost?.then((error) => this.#lost(error))
    const { whenIdle } = this.#open
    if (whenIdle !== undefined) this.#idleWork = new IdleWork(whenIdle.work, whenIdle.options)
    return this.#open.info
  }

  /** The driver took the device away: whoever waits has been told by then, and a new worker is to open it anew. */
  async #lost(error: Error): Promise<void> {
    if (this.#closing) return
    await delay(LAST_REPLIES_MS)
    if (this.#closing) return
    this.#closing = true
    await this.#idleWork?.end()
    await this.#device.close()
    this.#end(error)
  }

  async #proveBatch(batch: WorkerBatch, run: Run): Promise<BatchResult> {
    this.#warming?.abort()
    const from = performance.now()
    const { witnesses } = batch
    using _memory = await this.#admit(batch, { ...run, urgent: batch.urgent })
    using circuit = await this.#circuits.use(batch, run)
    const loadMs = performance.now() - from
    try {
      const { shape, points, shared, file } = circuit
      const passed = (milestone: Milestone): void => {
        // Copies go: whoever called has the original for another try.
        if (milestone === 'taken') drop(witnesses)
        run.passed?.(milestone)
      }
      const order = this.#batches++ - RANK_STEP * (batch.rank ?? 0)
      const ordered = { ...run, urgent: batch.urgent, order, passed }
      // What is urgent goes alone: it would wait for the sums of others. Points that are there need no sharing.
      using place = batch.urgent || points.streamedBytes === 0 ? undefined : shared.announce(ordered)
      const input = { device: this.#device, shape, witnesses, points: place ?? points, key: file.key }
      const given = this.#blinding
      const blindings = given === undefined ? undefined : witnesses.map(() => given)
      const proofs = await proveBatch(input, ordered, blindings)
      return { proofs, loadMs, points: residencyOf(points), stagingBytes: this.#open?.stagingBytes?.() }
    } catch (error) {
      if (ProverError.is(error)) {
        // The file changed or holds a bad point: whoever comes next reads it anew.
        if (error.code === 'ERR_SRS_UNAVAILABLE') await this.#circuits.forget(batch.circuitId)
        // Circuits that nobody uses now can be given up for the next try, and this one is planned anew for what the
        // device gave.
        if (error.code === 'ERR_GPU_OUT_OF_MEMORY') {
          await this.#circuits.forgetIdle()
          if (this.#plans.has(batch.circuitId)) await this.#circuits.forget(batch.circuitId)
        }
      }
      throw error
    }
  }

  async #warmUp(run: Run): Promise<void> {
    if (this.#open?.warmUp === undefined) return
    this.#warming?.abort()
    const warming = new AbortController()
    this.#warming = warming
    await this.#open.warmUp(AbortSignal.any([warming.signal, run.signal, AbortSignal.timeout(WARM_UP_LIMIT_MS)]))
  }

  async #warm(circuit: DeviceCircuit, run: Run): Promise<PointResidency> {
    using _memory = await this.#admit(circuit, run)
    using opened = await this.#circuits.use(circuit, run)
    await opened.points.load(run)
    // What loading took and gave up is not to hold the first batch up.
    await this.#device.settle?.()
    return residencyOf(opened.points)
  }

  async #openCircuit(circuit: DeviceCircuit, run: Run): Promise<OpenCircuit> {
    const recorded = circuitShape(circuit.circuitId)
    const held = this.#hold(circuit, recorded)
    try {
      const opened = await this.#load(circuit, recorded, held, run)
      const { key } = opened.file
      const close = async (): Promise<void> => {
        held.release()
        await opened.file.close()
      }
      return { ...opened, file: { key, close } }
    } catch (error) {
      held.release()
      throw error
    }
  }

  /** The device's memory of a circuit: which points there is room to keep, and what they take with its shape. */
  #hold({ circuitId, keepPoints, parameters }: DeviceCircuit, recorded: CircuitShape): HeldMemory {
    const plan = this.#device.planMemory?.(recorded, this.#memory.setAsideBytes(circuitId), parameters.made)
    if (plan === undefined) return { keep: new Set(keepPoints ? QUERIES : []), release: () => {} }
    const { keep, bytes } = keptPoints(plan, keepPoints, this.#memory.freeBytes)
    const held = this.#memory.hold(circuitId, bytes, keptPoints(plan, false, 0).bytes)
    this.#plans.set(circuitId, plan)
    return {
      keep,
      rangePoints: plan.rangePoints,
      partsAtOnce: plan.partsAtOnce,
      release: () => {
        held[Symbol.dispose]()
        if (this.#plans.get(circuitId) === plan) this.#plans.delete(circuitId)
      },
    }
  }

  async #load(
    { parameters, secrets }: DeviceCircuit,
    recorded: CircuitShape,
    { keep, rangePoints, partsAtOnce }: HeldMemory,
    run: Run,
  ): Promise<OpenCircuit> {
    if (parameters.made === true) {
      return await this.#makeCircuit(recorded, parameters, secrets, { keep, rangePoints }, run)
    }
    const file = await SrsFile.open(parameters, recorded, run)
    try {
      const shape = await this.#device.loadShape(recorded)
      return { shape, file, points: new SrsPoints(this.#device, file, { keep, rangePoints, partsAtOnce }) }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** The memory of a batch of a circuit, and of its shape and set-up where these are not there yet. */
  async #admit({ circuitId, parameters }: DeviceCircuit, run: Run): Promise<Disposable> {
    const known = this.#plans.get(circuitId)
    if (known !== undefined) return await this.#memory.admit(circuitId, known.workingBytes, run)
    const beside = this.#memory.setAsideBytes(circuitId)
    const plan = this.#device.planMemory?.(circuitShape(circuitId), beside, parameters.made)
    if (plan === undefined) return { [Symbol.dispose]: () => {} }
    // A set-up is begun before the batch is.
    const bytes = plan.shapeBytes + Math.max(plan.workingBytes, plan.setup?.mostBytes ?? 0)
    return await this.#memory.admit(circuitId, bytes, run)
  }

  /** Once what it was loaded or proved with is free again. */
  #setAside({ circuitId, setAside }: DeviceCircuit): void {
    const plan = this.#plans.get(circuitId)
    if (setAside === true && plan !== undefined) this.#memory.setAside(circuitId, plan.workingBytes)
  }

  /** As {@link #openCircuit}, with parameters that the device makes. */
  async #makeCircuit(
    recorded: CircuitShape,
    parameters: ParametersLocation,
    secrets: ToxicWaste | undefined,
    options: Omit<SrsPointsOptions, 'make'>,
    run: Run,
  ): Promise<OpenCircuit> {
    const shape = await this.#device.loadShape(recorded)
    try {
      return { shape, ...(await makeParameters(this.#device, recorded, parameters, secrets, options, run)) }
    } catch (error) {
      shape.release()
      throw error
    }
  }

  async #close(): Promise<void> {
    this.#closing = true
    this.#warming?.abort()
    await this.#idleWork?.end()
    await this.#circuits.close(0)
    await this.#open?.device.close()
    // Batches that the device's end has stopped close their files.
    await this.#circuits.close(LAST_REPLIES_MS)
    // Nothing may hold the driver's instance any more.
    this.#open = undefined
    // After the reply has left.
    setImmediate(this.#end)
  }
}

/** Empties a list of witnesses, and frees what came through a pipe. */
function drop(witnesses: CompactWitness[]): void {
  for (const { inputs, bits, wide } of witnesses.splice(0)) for (const bytes of [inputs, bits, wide]) freePiped(bytes)
}

function residencyOf({ keptBytes, streamedBytes }: SrsPoints): PointResidency {
  return { keptBytes, streamedBytes }
}
