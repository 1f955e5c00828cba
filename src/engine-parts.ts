/**
 * What an engine is made of: its budget, its queue, its threads and devices, put together once and taken apart again.
 * What is done with them, request by request, is in `engine.ts`.
 */
import { SMALLEST_CIRCUIT } from './budget/circuit-sizes.ts'
import { Circuits } from './budget/circuits.ts'
import { totalMemory } from './budget/detect-memory.ts'
import { Inputs } from './budget/inputs.ts'
import { MemoryBudget } from './budget/memory-budget.ts'
import type { CircuitId } from './circuit/circuit-id.ts'
import { GpuPool } from './device/gpu-pool.ts'
import { type DevicePlan, planDevices } from './device/open-devices.ts'
import { STALL_MS } from './device/stall-watch.ts'
import { BudgetExceededError, InvalidOptionsError } from './errors.ts'
import { GuardedEmitter } from './events.ts'
import type { Logger } from './logger.ts'
import type { ResolvedOptions } from './options.ts'
import type { ParametersLocation, ReadRun } from './params/parameters-location.ts'
import { type Clock, SYSTEM_CLOCK } from './queue/job.ts'
import { JobDesk } from './queue/job-desk.ts'
import { type PartitionSteps, retried } from './queue/partition-steps.ts'
import { reportedSteps } from './queue/reported-steps.ts'
import { SynthesisScheduler } from './queue/synthesis-scheduler.ts'
import { takeOver } from './request/partitions.ts'
import { type LocateParameters, locateParameters } from './srs/locate-parameters.ts'
import { unknownParameterFiles } from './srs/parameter-folder.ts'
import { ParametersPresent } from './srs/parameters-present.ts'
import type { StatusSources } from './status.ts'
import { SynthesisPool, type Synthesizer } from './synthesis/synthesis-pool.ts'

/** What of an engine reaches outside of it: replaced by fakes in tests of order, faults and abort. */
export interface EngineModules {
  readonly plan: (options: ResolvedOptions, signal?: AbortSignal) => DevicePlan | Promise<DevicePlan>
  readonly synthesizer: (options: ResolvedOptions, stallMs: number) => Synthesizer
  readonly locate: LocateParameters
  readonly takeOver: typeof takeOver
  readonly clock: Clock
  /** A device or worker that makes no progress for so long hangs, and is ended. */
  readonly stallMs: number
}

/** What an engine works with outside of tests. */
export const MODULES: EngineModules = {
  plan: planDevices,
  // One more than partitions at once: what is critical need not wait for a synthesis that runs.
  synthesizer: ({ synthesis }, stallMs) => new SynthesisPool(synthesis.concurrency + 1, { stallMs }),
  locate: locateParameters,
  takeOver,
  clock: SYSTEM_CLOCK,
  stallMs: STALL_MS,
}

/** The parts of one engine. Devices are there from {@link EngineParts.start} on. */
export class EngineParts {
  readonly options: ResolvedOptions
  readonly modules: EngineModules
  readonly plan: DevicePlan
  readonly logger: Logger
  readonly events: GuardedEmitter
  readonly budget: MemoryBudget
  readonly desk: JobDesk
  readonly scheduler: SynthesisScheduler
  readonly circuits: Circuits
  /** Of the folder of parameters. */
  readonly present: ParametersPresent
  readonly inputs: Inputs
  readonly synthesizer: Synthesizer
  readonly steps: PartitionSteps
  readonly #witnesses = { count: 0, bytes: 0 }
  #pool: GpuPool | undefined

  /** @param engine whom events name as their source */
  constructor(options: ResolvedOptions, modules: EngineModules, plan: DevicePlan, engine: object) {
    const { memory, logger, synthesis, parameterCache, allowDevelopmentParameters } = options
    const { clock } = modules
    this.options = options
    this.modules = modules
    this.logger = logger
    this.events = new GuardedEmitter(logger, engine)
    this.budget = new MemoryBudget(totalMemory(memory))
    this.plan = plan
    this.desk = new JobDesk({
      clock,
      events: this.events,
      logger,
      maxQueued: options.maxQueued,
      hasRoom: (circuitId, rank) =>
        this.desk.active === 0 || (this.scheduler.hasRoom(circuitId, rank) && this.circuits.fitsNow(circuitId)),
      devices: () => this.#pool?.serving ?? 1,
      onSettled: () => {
        // With nothing in flight any more, what is idle may be given up for whoever waits.
        this.budget.recheck()
        this.scheduler.wake()
      },
    })
    this.scheduler = new SynthesisScheduler({
      budget: this.budget,
      ...synthesis,
      freeDevices: (circuitId, rank) => {
        const { role } = this.circuits.placement.of(circuitId)
        return (
          this.#pool?.free({ rank: () => rank, ...this.circuits.placement.deviceTerms(circuitId, role) }, role) ?? 0
        )
      },
      now: () => clock.now(),
    })
    this.present = new ParametersPresent(parameterCache, modules.locate.made)
    this.circuits = new Circuits({
      budget: this.budget,
      threads: options.cpu.threads,
      evictionMinIdleMs: memory.evictionMinIdleMs,
      now: () => clock.now(),
      stallMs: modules.stallMs,
      busy: () => this.desk.active > 0,
      locate: (circuitId) =>
        modules.locate(circuitId, { directory: parameterCache, allowDevelopment: allowDevelopmentParameters }),
      gpuMemoryBytes: options.gpu.memoryBytes === 'auto' ? undefined : options.gpu.memoryBytes,
      devices: () => this.#pool?.devices ?? [],
      standIn: () => this.#pool?.standIn,
      noDevice: () => this.#pool?.noDevice('device'),
      clients: () => this.#pool?.clients ?? [],
      onEvent: (event) => this.events.emit('srs', event),
      onNote: (message) => logger.warn({}, message),
    })
    this.inputs = new Inputs({
      budget: this.budget,
      partitionBytes: (circuitId) => this.circuits.placement.largestNeed(circuitId),
      keptBytes: (but) => this.circuits.placement.keptBytes(but),
    })
    this.synthesizer = modules.synthesizer(options, modules.stallMs)
    this.steps = reportedSteps({
      scheduler: this.scheduler,
      circuits: this.circuits,
      synthesizer: this.synthesizer,
      budget: this.budget,
      events: this.events,
      logger,
      pool: () => this.#pool as GpuPool,
      desk: this.desk,
      stallMs: modules.stallMs,
      fallback: this.plan.fallback,
      witnesses: this.#witnesses,
    })
  }

  /**
   * Opens the devices; closes what was open if none can be, or if nothing can be proved on them.
   * @throws {InvalidOptionsError} `memory` or `gpu.memoryBytes` leaves no room for the smallest circuit
   */
  async start(signal: AbortSignal | undefined): Promise<void> {
    const { slots, standIn } = this.plan
    const looked = this.present.look()
    try {
      await this.circuits.placement.prepare()
      this.#pool = await GpuPool.start(
        slots,
        {
          deviceChanged: (ordinal, state, reason) => {
            this.events.emit('gpu', { ordinal, state, ...(reason !== undefined && { reason }) })
            if (state !== 'ready' && state !== 'closed') this.logger.warn({ ordinal, reason }, `device ${state}`)
          },
          deviceStarted: (client, again) => void this.circuits.equip(client, again),
          availabilityChanged: () => this.scheduler.wake(),
        },
        { signal, standIn, now: () => this.modules.clock.now() },
      )
      this.#refuseHopelessBudget()
    } catch (error) {
      await this.close()
      throw error
    }
    const devices = this.#pool.devices.map(({ name }) => name)
    await looked
    const { gpuUnavailable } = this
    this.logger.info({ devices, gpuUnavailable, memoryBytes: this.budget.totalBytes }, 'engine ready')
    const { fallback } = this.plan
    if (fallback !== undefined) this.logger.warn({ err: fallback }, 'using the CPU device instead')
    void this.#tellOfParameters()
  }

  /** Known only now: what a partition takes of the host depends on the device. */
  #refuseHopelessBudget(): void {
    const cause = this.circuits.placement.refusal(SMALLEST_CIRCUIT)
    if (!(cause instanceof BudgetExceededError)) return
    const { details } = cause
    throw new InvalidOptionsError(`option ${details.field}: nothing can be proved: ${cause.message}`, {
      details,
      cause,
    })
  }

  /** Which folder is read, and what lies there that no circuit of this version needs. */
  async #tellOfParameters(): Promise<void> {
    const { parameterCache } = this.options
    const unknownFiles = await unknownParameterFiles(parameterCache)
    this.logger.info({ parameterCache, unknownFiles }, 'folder of parameters')
  }

  /** Frees everything, whatever fails on the way. @returns what could not be freed */
  async close(): Promise<unknown[]> {
    this.present.close()
    const ends = await Promise.allSettled([this.synthesizer.close(), this.circuits.close()])
    ends.push(...(await Promise.allSettled([this.#pool?.close()])))
    return ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
  }

  /**
   * As `circuits.preload`, and again if a device dies of it: with those that serve then.
   * @throws {GpuUnavailableError} no device is left to load it onto
   * @throws what the last try failed with; `run.signal.reason`
   */
  preload(circuitId: CircuitId, admitKept: (() => void) | undefined, run: ReadRun): Promise<ParametersLocation> {
    const { placement } = this.circuits
    const load = async (): Promise<ParametersLocation> => {
      placement.require(circuitId)
      const { role } = placement.of(circuitId)
      // What the stand-in does it loads with each partition.
      if (role === 'device') await this.#pool?.untilServing(placement.deviceTerms(circuitId, role), run.signal)
      return await this.circuits.preload(circuitId, admitKept, run)
    }
    return retried(load, run.signal, (attempt, err) => {
      this.logger.warn(
        { circuitId, attempt, err },
        'a device failed while the circuit was loaded onto it: trying again',
      )
    })
  }

  /** Keeps idle devices awake until the signal aborts. */
  warmUp(signal: AbortSignal): void {
    this.#pool?.warmUp(signal)
  }

  /** Why there is no GPU, if there is none. */
  get gpuUnavailable(): string | undefined {
    const { gpuUnavailable, standIn } = this.plan
    if (gpuUnavailable !== undefined || standIn === undefined || this.#pool === undefined) return gpuUnavailable
    return this.#pool.hasDevices ? undefined : this.#pool.noDevice('device').message
  }

  /** What a snapshot of the status is made of. */
  sources(): Omit<StatusSources, 'state' | 'uptimeMs'> {
    const { budget, inputs, desk, circuits, options, modules, gpuUnavailable } = this
    return {
      budget,
      inputBytes: inputs.bytes,
      maxConcurrentSyntheses: options.synthesis.concurrency,
      jobs: desk.rows(),
      ended: desk.ended,
      now: modules.clock.now(),
      devices: this.#pool?.rows() ?? [],
      residents: circuits.residents(),
      parameters: circuits.parameters(),
      witnesses: this.#witnesses,
      pointBytes: (circuitId) => circuits.placement.pointBytes(circuitId),
      residency: (circuitId) => circuits.residency(circuitId),
      stagingBytes: (this.#pool?.clients ?? []).reduce((sum, client) => sum + (client.stagingBytes ?? 0), 0),
      gpuUnavailable,
    }
  }
}
