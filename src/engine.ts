/**
 * The engine: from a request to a verified proof.
 *
 *     request → validate → queue → reserve → synthesize → prove on a device → assemble → verify → result
 *
 * `#run` reads as this line; what each step does is in the folder of its name. Every promise settles, and what a job
 * held is free again when its work has really stopped.
 */
import { type CircuitCapability, capabilities } from './budget/capabilities.ts'
import type { Input } from './budget/inputs.ts'
import { type CircuitId, isCircuitId } from './circuit/circuit-id.ts'
import type { DevicePlan } from './device/open-devices.ts'
import { type EngineModules, EngineParts, MODULES } from './engine-parts.ts'
import { asError, asProverError, EngineClosedError, InvalidOptionsError } from './errors.ts'
import type { EngineEvents, EventName, JobProgress, ProofResult } from './events.ts'
import {
  type AbortOptions,
  type CloseOptions,
  type EngineOptions,
  type ResolvedOptions,
  resolveAbortOptions,
  resolveCloseOptions,
  resolveOptions,
  resolveProveOptions,
  resolveSignal,
} from './options.ts'
import type { ParametersLocation } from './params/parameters-location.ts'
import { orAborted } from './params/waiting.ts'
import type { Job } from './queue/job.ts'
import { jobResult } from './queue/job-result.ts'
import { JobStatement } from './queue/job-statement.ts'
import { proveJob } from './queue/prove-job.ts'
import type { ProvedPartition } from './queue/prove-partition.ts'
import { afterGrace, armDeadline, settledSoonAfterAbort, stopped } from './queue/stopping.ts'
import type { Ticket } from './queue/ticket.ts'
import { verifyJob } from './queue/verify-job.ts'
import { type CheckedRequest, checkRequest } from './request/check-request.ts'
import { inputBytes } from './request/input-bytes.ts'
import { withoutVanillaProofs } from './request/partitions.ts'
import type { ProofRequest } from './request/proof-request.ts'
import { deriveStatement } from './request/statement.ts'
import type { ValidatedRequest } from './request/validate.ts'
import { type EngineStatus, snapshot } from './status.ts'
import type { PartitionInput } from './synthesis/partition-input.ts'

/** A request that is right: what is left of it, and its vanilla proofs in the engine's own memory, by partition. */
interface TakenOver {
  readonly request: ValidatedRequest
  readonly inputs: readonly PartitionInput[]
}

/** Options of {@link Engine.prove}. */
export interface ProveOptions extends AbortOptions {
  onProgress?: ((progress: JobProgress) => void) | undefined
}

let construct: (options: ResolvedOptions, modules: EngineModules, plan: DevicePlan) => Engine

/** {@link Engine.create} with other modules. Not exported by the package. */
export async function createEngine(
  options: (EngineOptions & AbortOptions) | undefined,
  modules: Partial<EngineModules>,
): Promise<Engine> {
  const signal = resolveSignal(options)
  const resolved = resolveOptions(options)
  signal?.throwIfAborted()
  const all = { ...MODULES, ...modules }
  const engine = construct(resolved, all, await all.plan(resolved, signal))
  await start(engine, signal)
  return engine
}

let start: (engine: Engine, signal: AbortSignal | undefined) => Promise<void>

/** Clocks take half a second to rise, and vanilla proofs may have to be read before the request comes. */
const CLOCKS_UP_MS = 5_000

/**
 * Makes proofs. One engine owns its devices, threads and memory budget; a process needs one.
 *
 * @example
 * await using engine = await Engine.create()
 * const { proof } = await engine.prove(request, { signal: AbortSignal.timeout(60_000) })
 */
export class Engine implements AsyncDisposable {
  readonly #parts: EngineParts
  /** Jobs whose work goes on, those that were given up included. */
  readonly #conducting = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #createdAt: number
  #state: EngineStatus['state'] = 'starting'
  #closed: Promise<void> | undefined

  static {
    construct = (options, modules, plan) => new Engine(options, modules, plan)
    start = (engine, signal) => engine.#start(signal)
  }

  private constructor(options: ResolvedOptions, modules: EngineModules, plan: DevicePlan) {
    this.#parts = new EngineParts(options, modules, plan, this)
    this.#createdAt = modules.clock.now()
  }

  /**
   * Checks the options, starts the devices, and resolves once one is ready.
   * @throws {InvalidOptionsError}, also where the budget has no room for a proof on these devices
   * @throws {GpuUnavailableError} no device can be opened
   * @throws `signal.reason`
   */
  static create(options?: EngineOptions & AbortOptions): Promise<Engine> {
    return createEngine(options, {})
  }

  async #start(signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#parts.start(signal)
      this.#state = 'running'
    } catch (error) {
      this.#state = 'closed'
      throw error
    }
  }

  /**
   * Makes one proof: queues it, and resolves with its verified bytes.
   * @throws {InvalidRequestError} the request is wrong; `details` says where
   * @throws {UnsupportedProofError} it can't be proved by this version or on this machine
   * @throws {BudgetExceededError}, {QueueFullError}, {RequestConflictError}, {DeadlineExceededError},
   *   {EngineClosedError}
   * @throws {SrsUnavailableError}, {DevelopmentParametersError} its parameters
   * @throws {ProofInvalidError}, {SynthesisError}, {WorkerExitedError} and the errors of devices, after retries
   * @throws `signal.reason` at most 250 ms after the signal aborts
   */
  prove<R extends ProofRequest>(request: R, options: ProveOptions = {}): Promise<ProofResult<R['kind']>> {
    // Not awaited here: a call that waits for its proof must not keep the caller's buffers from being collected.
    return this.#begin(request, options).then(({ proof }) => proof as Promise<ProofResult<R['kind']>>)
  }

  async #begin(request: ProofRequest, options: ProveOptions): Promise<{ readonly proof: Promise<ProofResult> }> {
    const { signal, onProgress } = resolveProveOptions(options)
    signal?.throwIfAborted()
    this.#refuseIfClosing()
    const checking = checkRequest(request, signal)
    const checked = checking instanceof Promise ? await checking : checking
    this.#refuseIfClosing()
    const ticket = this.#parts.desk.joined(checked.request, checked.fingerprint) ?? this.#accept(checked)
    return { proof: ticket.wait({ signal, onProgress }) }
  }

  /**
   * Loads a circuit's parameters onto the devices, as its first proof would. A WinningPoSt circuit then stays loaded,
   * and the memory of one of its partitions reserved, until the engine is closed; and idle GPUs work on nothing in
   * particular for five seconds. Called again when a WinningPoSt is about to be asked for, that is all it does: clocks
   * that idleness has lowered are up when the request comes.
   * @throws {InvalidOptionsError} no circuit has that name, or an option is misspelt or of the wrong kind
   * @throws {UnsupportedProofError}, {BudgetExceededError} it can't be proved by this version or on this machine
   * @throws {QueueFullError} the inputs of jobs in hand leave it no room for now
   * @throws {SrsUnavailableError}, {DevelopmentParametersError} its parameters
   * @throws {GpuUnavailableError} no device is left for it; call it again once one is ready
   * @throws {WorkerExitedError} and the errors of devices: they failed each of three tries
   * @throws {EngineClosedError}, or `signal.reason` at most 250 ms after the signal aborts
   */
  async preload(circuitId: CircuitId, options: AbortOptions = {}): Promise<void> {
    const signal = resolveAbortOptions(options)
    if (!isCircuitId(circuitId)) {
      const received = asError(circuitId).message
      throw new InvalidOptionsError(`circuitId: expected a circuit id such as winning-32g, got ${received}`, {
        details: { field: 'circuitId', expected: 'a circuit id such as winning-32g', received },
      })
    }
    signal?.throwIfAborted()
    this.#refuseIfClosing()
    const admitKept = (): void => this.#parts.inputs.admitKept(circuitId)
    const keep = circuitId.startsWith('winning-')
    if (keep) admitKept()
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    const loading = this.#parts.preload(circuitId, keep ? admitKept : undefined, {
      signal: stop,
      unit: () => {},
      stalled: (silentMs, file) =>
        this.#parts.logger.error({ circuitId, silentMs, file }, 'the parameters do not load'),
    })
    const ready = keep ? loading.then((location) => this.#getReady(location, stop)) : loading.then(() => {})
    this.#conduct(ready)
    await settledSoonAfterAbort(ready, stop)
  }

  /** A failure is no reason to refuse a preload: it shows again, and better, with the first proof. */
  async #getReady(location: ParametersLocation, signal: AbortSignal): Promise<void> {
    this.#parts.warmUp(AbortSignal.any([signal, AbortSignal.timeout(CLOCKS_UP_MS)]))
    await this.#parts.synthesizer.warm(location, { priority: 0, signal }).catch(() => signal.throwIfAborted())
  }

  /**
   * Which circuits this machine can prove now, on what device, warm or cold, and if not, why. Parameters are those that
   * the folder had when it was looked at last: when the engine began, and after each call, for the next one.
   */
  capabilities(): readonly CircuitCapability[] {
    if (this.#state !== 'running') return []
    const { circuits, present, options } = this.#parts
    void present.look()
    return capabilities(circuits, present, options)
  }

  /** A plain snapshot of everything in hand; cheap enough to poll twice a second. */
  status(): EngineStatus {
    const sources = this.#parts.sources()
    return snapshot({ ...sources, state: this.#state, uptimeMs: sources.now - this.#createdAt })
  }

  /**
   * Adds a listener to an event; `EngineEvents` says when each is told.
   * @throws {InvalidOptionsError} no event has that name, or the listener is no function
   */
  on<E extends EventName>(event: E, listener: EngineEvents[E]): this {
    this.#parts.events.on(event, listener)
    return this
  }

  /** As {@link on}, for the next time only. */
  once<E extends EventName>(event: E, listener: EngineEvents[E]): this {
    this.#parts.events.once(event, listener)
    return this
  }

  /** Removes a listener that {@link on} or {@link once} added; one that is not there is no fault. */
  off<E extends EventName>(event: E, listener: EngineEvents[E]): this {
    this.#parts.events.off(event, listener)
    return this
  }

  /**
   * New and queued jobs reject with `EngineClosedError`, running ones finish, then every device, thread and byte is
   * freed. With `force`, or after `timeoutMs`, running jobs are aborted at their next unit of work. A second call
   * returns the same promise, and may add `force` or a time.
   */
  close(options: CloseOptions = {}): Promise<void> {
    try {
      const { force, timeoutMs } = resolveCloseOptions(options)
      this.#closed ??= this.#close()
      if (force) this.#stopAll()
      if (timeoutMs !== undefined) {
        const timer = setTimeout(() => this.#stopAll(), timeoutMs)
        void this.#closed.then(() => clearTimeout(timer))
      }
      return this.#closed
    } catch (error) {
      return Promise.reject(error)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Never rejects: what can't be closed is told of as an `error` event. */
  async #close(): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'closing'
    const closed = new EngineClosedError('the engine was closed before the job began')
    this.#parts.desk.cancel('queued', closed)
    this.#closing.abort(new EngineClosedError('the engine is closed'))
    while (this.#conducting.size > 0) await Promise.all(this.#conducting)
    const failures = await this.#parts.close()
    this.#state = 'closed'
    for (const failure of failures) this.#parts.events.emit('error', asError(failure))
    this.#parts.logger.info('engine closed')
  }

  #stopAll(): void {
    this.#parts.desk.cancel('all', new EngineClosedError('the engine was closed while the job ran'))
  }

  #refuseIfClosing(): void {
    if (this.#state !== 'running') throw new EngineClosedError('the engine is closed')
  }

  #accept({ request, fingerprint }: CheckedRequest): Ticket {
    const { circuits, inputs, desk } = this.#parts
    circuits.placement.require(request.circuitId)
    const input = inputs.admit(request.circuitId, inputBytes(request))
    let ticket: Ticket
    try {
      ticket = desk.accept(request, fingerprint)
    } catch (error) {
      input[Symbol.dispose]()
      throw error
    }
    // A WinningPoSt has seconds: the clocks of idle cards rise while its witness is made.
    const warming = new AbortController()
    const { priority, signal } = ticket.job
    if (priority === 'critical') this.#parts.warmUp(AbortSignal.any([signal, warming.signal]))
    const validating = this.#validate(ticket.job, request, input)
    this.#conduct(this.#settleWhenDone(ticket, validating, input).finally(() => warming.abort()))
    return ticket
  }

  /** Runs a job to its end, whatever that is. Never rejects. */
  async #settleWhenDone(ticket: Ticket, validating: Promise<TakenOver>, input: Input): Promise<void> {
    const { job } = ticket
    const disarm = armDeadline(job)
    const ended = afterGrace(job.signal, () => this.#parts.desk.settle(ticket, stopped(ticket)))
    try {
      this.#parts.desk.settle(ticket, { kind: 'completed', result: await this.#run(ticket, validating, input) })
    } catch (error) {
      this.#parts.desk.settle(
        ticket,
        job.signal.aborted ? stopped(ticket) : { kind: 'failed', error: asProverError(error) },
      )
    } finally {
      ended()
      disarm()
    }
  }

  /** The way of one job. */
  async #run(ticket: Ticket, validating: Promise<TakenOver>, input: Input): Promise<ProofResult> {
    const { job } = ticket
    using _held = input
    const { request, inputs } = await validating
    this.#parts.desk.announce(ticket)
    const { steps, desk } = this.#parts
    await using statement = new JobStatement(steps, job, async () => {
      const { publicInputs } = await deriveStatement(request, { signal: job.signal, inputs })
      return publicInputs
    })
    // Each partition: reserve → synthesize → prove on a device → assemble.
    const prove = (which?: Job['partitions']): Promise<ProvedPartition[]> =>
      proveJob(steps, job, inputs, (location) => statement.begin(location), which)
    const proved = await prove()
    const verifyMs = await verifyJob(steps, job, statement, proved, prove)
    return jobResult(job, proved, verifyMs, desk.rates)
  }

  /**
   * What `validateRequest` could not know at once: the content of the vanilla proofs, and whether there are parameters.
   */
  async #validate(job: Job, request: ValidatedRequest, input: Input): Promise<TakenOver> {
    const { signal } = job
    await orAborted(this.#parts.circuits.find(request.circuitId), signal)
    await input.take(() => job.rank, signal)
    const inputs = await this.#parts.modules.takeOver(request, {
      signal,
      readSeal: (seal) => this.#parts.synthesizer.readSeal(seal, { priority: job.rank, signal }),
    })
    signal.throwIfAborted()
    input.read()
    return { request: withoutVanillaProofs(request), inputs }
  }

  /** Work that `close()` waits for. */
  #conduct(work: Promise<void>): void {
    const settled = work.catch(() => {}).finally(() => this.#conducting.delete(settled))
    this.#conducting.add(settled)
  }
}
