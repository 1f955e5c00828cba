/**
 * An engine whose devices and workers are fakes in the same process: they take the time that a test says, and fail on
 * the n-th call the way it says. "Proofs" carry the first public input of their partition, so that order, mix-ups and
 * wrong ones are seen.
 */
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import type { CompactWitness } from '../../src/circuit/shape.ts'
import type { Batch, BatchResult, DeviceClient } from '../../src/device/device-client.ts'
import type { DeviceInfo } from '../../src/device/device-spec.ts'
import type { DeviceSlot } from '../../src/device/gpu-pool.ts'
import type { CallOptions } from '../../src/device/link.ts'
import { createEngine, type Engine } from '../../src/engine.ts'
import type { EngineModules } from '../../src/engine-parts.ts'
import { WorkerExitedError } from '../../src/errors.ts'
import type { EngineEvents, EventName } from '../../src/events.ts'
import type { PreparedInputs } from '../../src/groth16/verify.ts'
import type { EngineOptions } from '../../src/options.ts'
import type { ParametersLocation } from '../../src/params/parameters-location.ts'
import type { PostPartition } from '../../src/synthesis/post-partition.ts'
import type { Synthesizer } from '../../src/synthesis/synthesis-pool.ts'
import type { InputsTask, VerifyTask } from '../../src/synthesis/verify-functions.ts'

/** Of what is kept of a vanilla proof, the third scalar. */
const COMM_R_AT = 64

export type Operation =
  | 'start'
  | 'warm'
  | 'synthesize'
  | 'prove'
  | 'prepare'
  | 'verify'
  | 'locate'
  | 'digest'
  | 'forget'

/** What happens to one call. */
export type Fault =
  | { readonly kind: 'throw'; readonly error: unknown }
  /** Never ends by itself, and stops at once when aborted. */
  | { readonly kind: 'hang' }
  /** Goes on for so long before it notices an abort. */
  | { readonly kind: 'deaf'; readonly ms: number }
  /** The device's worker dies midway (its other calls too). */
  | { readonly kind: 'die' }
  /** A result that does not verify. */
  | { readonly kind: 'wrong' }
  /** A batch that comes back without proofs. */
  | { readonly kind: 'empty' }

export interface FakeOptions {
  readonly devices?: number
  readonly unitMs?: number
  readonly units?: number
  readonly maxLog2Domain?: number
  /** Of each device, where they differ. */
  readonly domains?: readonly number[]
  /** One more device for what the others can't do, as the CPU beside GPUs. */
  readonly standIn?: boolean
  readonly development?: boolean
  /** As what the devices' memory is counted. */
  readonly kind?: DeviceInfo['kind']
  /** What a batch's witness takes on its way to a device, which works on others meanwhile. */
  readonly transferMs?: number
}

export class FakeMachine {
  readonly #options: Required<FakeOptions>
  readonly #faults = new Map<string, Fault>()
  readonly #calls = new Map<Operation, number>()
  /** Every call in order of its begin: operation and partition. */
  readonly log: string[] = []
  /** Calls that run now, and the most at any time. */
  readonly running: Record<Operation, number> = zeroes()
  readonly most: Record<Operation, number> = zeroes()
  readonly clients: FakeDeviceClient[] = []
  /** Of each witness in the order in which they were made, whether its check was left to the device. */
  readonly unchecked: boolean[] = []
  /** Circuits that the synthesizer was warmed for, and what it then fails with. */
  readonly warmed: string[] = []
  warmingFails: Error | undefined
  open = 0
  /** For how long devices had nothing to do between two batches. */
  idleMs = 0

  constructor(options: FakeOptions = {}) {
    const { domains = [], devices = domains.length || 1 } = options
    const times = { unitMs: 1, units: 4, transferMs: 0 }
    const usual = { ...times, maxLog2Domain: 24, development: false, standIn: false, kind: 'cpu' as const }
    this.#options = { ...usual, ...options, devices, domains }
  }

  /** The n-th call (from 1) of an operation gets this fault. */
  fail(operation: Operation, nth: number, fault: Fault): this {
    this.#faults.set(`${operation} ${nth}`, fault)
    return this
  }

  get transferMs(): number {
    return this.#options.transferMs
  }

  /** Whether the next call of an operation gets a fault. */
  isDue(operation: Operation): boolean {
    return this.#faults.has(`${operation} ${this.calls(operation) + 1}`)
  }

  calls(operation: Operation): number {
    return this.#calls.get(operation) ?? 0
  }

  modules(): Partial<EngineModules> {
    return {
      // So that tests which move the time move all of it.
      clock: { now: () => Date.now() },
      plan: () => {
        const { devices, maxLog2Domain, standIn } = this.#options
        return {
          slots: Array.from({ length: devices }, (_, device) => this.#slot(`fake ${device}`, device)),
          ...(standIn && { standIn: { ...this.#slot('fake stand-in', devices), kind: 'cpu' as const, maxLog2Domain } }),
        }
      },
      synthesizer: () => new FakeSynthesizer(this),
      locate: async (circuitId) => {
        await this.work('locate', circuitId, {})
        return this.#location(circuitId)
      },
    }
  }

  engine(options: EngineOptions = {}, modules: Partial<EngineModules> = {}): Promise<Engine> {
    return createEngine({ memory: { totalBytes: 2 ** 32 }, ...options }, { ...this.modules(), ...modules })
  }

  #slot(name: string, device: number): DeviceSlot {
    const { domains, maxLog2Domain, kind } = this.#options
    return {
      name,
      start: async (signal) => {
        await this.work('start', '', { signal })
        const info: DeviceInfo = { kind, name, maxLog2Domain: domains[device] ?? maxLog2Domain }
        const client = new FakeDeviceClient(this, info)
        this.clients.push(client)
        this.open++
        return client
      },
    }
  }

  #location(circuitId: CircuitId): ParametersLocation {
    const { development } = this.#options
    const files = { paramsFile: `${circuitId}.params`, vkFile: `${circuitId}.vk` }
    return { circuitId, development, ...files, paramsDigest: '0'.repeat(32), vkDigest: '1'.repeat(32) }
  }

  /** Takes `units` units of time, reports each, obeys the signal between two, and suffers the fault that is due. */
  async work(operation: Operation, what: string, options: CallOptions, die?: () => Error): Promise<Fault | undefined> {
    const nth = this.calls(operation) + 1
    this.#calls.set(operation, nth)
    const fault = this.#faults.get(`${operation} ${nth}`)
    this.log.push(`${operation} ${what}`)
    this.running[operation]++
    this.most[operation] = Math.max(this.most[operation], this.running[operation])
    const { signal, onProgress } = options
    try {
      for (let unit = 1; unit <= this.#options.units; unit++) {
        if (fault?.kind !== 'deaf' || unit > 1) signal?.throwIfAborted()
        await delay(fault?.kind === 'deaf' && unit === 1 ? fault.ms : this.#options.unitMs)
        if (fault?.kind === 'hang') await aborted(signal)
        if (fault?.kind === 'throw' && unit === 2) throw fault.error
        if (fault?.kind === 'die' && unit === 2) throw die?.() ?? new WorkerExitedError(`${operation} worker died`)
        onProgress?.(unit / this.#options.units)
      }
      signal?.throwIfAborted()
      return fault
    } finally {
      this.running[operation]--
    }
  }
}

export class FakeDeviceClient implements DeviceClient {
  readonly info: DeviceInfo
  readonly exited: Promise<WorkerExitedError>
  readonly #machine: FakeMachine
  readonly #pending = new Set<(error: WorkerExitedError) => void>()
  #exit!: (error: WorkerExitedError) => void
  #gone: WorkerExitedError | undefined
  #always: Fault | undefined
  /**
   * Resolves when those that came before have left the device: it works on one after the other, but for what is urgent.
   */
  #before: Promise<void> = Promise.resolve()
  #proving = 0
  /** Batches that it worked on at the same time. */
  mostProving = 0
  #held = 0
  /** Batches that it had at the same time, those included that only got ready. */
  mostHeld = 0
  #idleSince: number | undefined

  constructor(machine: FakeMachine, info: DeviceInfo) {
    this.#machine = machine
    this.info = info
    this.exited = new Promise((resolve) => {
      this.#exit = resolve
    })
  }

  /** From now on every batch of this device suffers the fault. */
  failAlways(fault: Fault): void {
    this.#always = fault
  }

  async proveBatch(batch: Batch, options: CallOptions): Promise<BatchResult> {
    if (this.#gone !== undefined) throw this.#gone
    this.mostHeld = Math.max(this.mostHeld, ++this.#held)
    const due = await this.#race(this.#prove(batch, options)).finally(() => this.#held--)
    const fault = this.#always ?? due
    if (fault?.kind === 'empty') return { proofs: [], loadMs: 0 }
    const proofs = batch.witnesses.map(({ inputs }) => {
      const proof = new Uint8Array(192)
      proof.set(inputs)
      if (fault?.kind === 'wrong') proof[0] = (proof[0] as number) ^ 1
      return proof
    })
    return { proofs, loadMs: 0 }
  }

  async #prove(batch: Batch, options: CallOptions): Promise<Fault | undefined> {
    if (this.#machine.transferMs > 0) await delay(this.#machine.transferMs)
    // Memory of its own takes the witness, and some units run in the gaps of what is worked on.
    if (this.info.kind === 'webgpu') options.onProgress?.(0.01)
    const { signal } = options
    const before = this.#before
    let left = (): void => {}
    if (!batch.urgent) {
      const leaving = new Promise<void>((resolve) => {
        left = resolve
      })
      this.#before = before.then(() => leaving)
    }
    try {
      if (!batch.urgent) await Promise.race([before, ...(signal === undefined ? [] : [aborted(signal)])])
      if (this.#gone !== undefined) throw this.#gone
      if (this.#idleSince !== undefined) this.#machine.idleMs += Date.now() - this.#idleSince
      this.#idleSince = undefined
      this.mostProving = Math.max(this.mostProving, ++this.#proving)
      try {
        let units = 0
        const onProgress = (share: number): void => {
          // The first unit takes the witness over, the second ends with the quotient.
          units++
          if (units <= 2) options.onPassed?.(units === 1 ? 'taken' : 'divided')
          options.onProgress?.(share)
        }
        const die = (): Error => this.die('it was told to die')
        return await this.#machine.work('prove', batch.circuitId, { ...options, onProgress }, die)
      } finally {
        if (--this.#proving === 0) this.#idleSince = Date.now()
      }
    } finally {
      left()
    }
  }

  async warm({ circuitId }: { circuitId: CircuitId }, options: CallOptions): Promise<undefined> {
    if (this.#gone !== undefined) throw this.#gone
    await this.#race(this.#machine.work('warm', circuitId, options, () => this.die('it was told to die')))
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    this.#machine.log.push('warm-up')
    await aborted(signal).catch(() => this.#machine.log.push('warm-up ends'))
  }

  async forget(circuitId: CircuitId): Promise<void> {
    if (this.#machine.isDue('forget')) await this.#machine.work('forget', circuitId, {})
    else this.#machine.log.push(`forget ${circuitId}`)
  }

  async returnAside(circuitId: CircuitId): Promise<void> {
    this.#machine.log.push(`return aside ${circuitId}`)
  }

  async close(): Promise<void> {
    this.die('closed')
  }

  /** As a worker that exits. */
  die(why: string): WorkerExitedError {
    if (this.#gone === undefined) {
      this.#gone = new WorkerExitedError(`fake worker exited: ${why}`)
      this.#machine.open--
      this.#exit(this.#gone)
      for (const fail of this.#pending) fail(this.#gone)
    }
    return this.#gone
  }

  async #race<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {})
    let fail: (error: WorkerExitedError) => void = () => {}
    const gone = new Promise<never>((_, reject) => {
      fail = reject
    })
    this.#pending.add(fail)
    try {
      return await Promise.race([work, gone])
    } finally {
      this.#pending.delete(fail)
    }
  }
}

class FakeSynthesizer implements Synthesizer {
  readonly #machine: FakeMachine

  constructor(machine: FakeMachine) {
    this.#machine = machine
    machine.open++
  }

  async synthesize(partition: PostPartition, options: CallOptions): Promise<CompactWitness> {
    await this.#machine.work('synthesize', `${partition.randomness[0]}.${partition.partition}`, options)
    const inputs = partition.scalars.slice(COMM_R_AT, COMM_R_AT + 32)
    const { unchecked, scalars, places, circuitId } = partition
    this.#machine.unchecked.push(unchecked === true)
    // As the real one does, with what fills the circuit.
    const full = unchecked && circuitId === 'wpost-2k' && places.length === 2
    return { inputs, bits: new Uint8Array(8), wide: full ? scalars : new Uint8Array(32), unchecked }
  }

  async readSeal(): Promise<never> {
    throw new Error('fakes read no seals')
  }

  /** Of each partition the first input, which a fake proof begins with. */
  async prepareInputs({ publicInputs }: InputsTask, options: CallOptions): Promise<PreparedInputs> {
    const fault = await this.#machine.work('prepare', `${publicInputs.length}`, options)
    const first = publicInputs.map(([input]) => input as Uint8Array)
    const sum = Buffer.concat(first)
    if (fault?.kind === 'wrong') sum[0] = (sum[0] as number) ^ 1
    return { weights: first.map(() => 1n), sum }
  }

  async verify({ inputs, proof }: VerifyTask, options: CallOptions): Promise<boolean> {
    const first = 'sum' in inputs ? inputs.sum : Buffer.concat(inputs.map(([input]) => input as Uint8Array))
    const partitions = first.length / 32
    await this.#machine.work('verify', `${partitions}${'sum' in inputs ? ' prepared' : ''}`, options)
    if (proof.length !== 192 * partitions) return false
    const heads = Array.from({ length: partitions }, (_, k) => proof.subarray(192 * k, 192 * k + 32))
    return Buffer.concat(heads).equals(first)
  }

  async warm({ circuitId }: ParametersLocation): Promise<void> {
    this.#machine.warmed.push(circuitId)
    if (this.#machine.warmingFails !== undefined) throw this.#machine.warmingFails
  }

  async digestOf({ circuitId, paramsDigest }: ParametersLocation, options: CallOptions): Promise<string> {
    const fault = await this.#machine.work('digest', circuitId, options)
    return fault?.kind === 'wrong' ? 'f'.repeat(32) : paramsDigest
  }

  async close(): Promise<void> {
    this.#machine.open--
  }
}

/** Every event of an engine, in order, as `name` or `name detail`. */
export function recordEvents(engine: Engine): string[] {
  const seen: string[] = []
  const detail: { readonly [E in EventName]?: (event: Parameters<EngineEvents[E]>[0]) => string } = {
    partition: (event) => `${event?.index} ${event?.state}`,
    srs: (event) => String(event?.state),
    retry: (event) => `${event?.index} ${event?.attempt}`,
    verifyFailed: (event) => String(event?.index),
    diagnosed: (event) => `${event?.gpu} ${event?.parameters} ${event?.again}`,
    memory: (event) => String(event?.state),
  }
  const names: EventName[] = [
    'queued',
    'active',
    'partition',
    'completed',
    'failed',
    'cancelled',
    'srs',
    'memory',
    'retry',
    'fallback',
    'verifyFailed',
    'diagnosed',
    'gpu',
    'drained',
    'error',
  ]
  for (const name of names) {
    engine.on(name, ((event: never) => {
      const describe = detail[name] as ((event: never) => string) | undefined
      seen.push(describe === undefined ? name : `${name} ${describe(event)}`)
    }) as never)
  }
  return seen
}

export const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function zeroes(): Record<Operation, number> {
  return { start: 0, warm: 0, synthesize: 0, prove: 0, prepare: 0, verify: 0, locate: 0, digest: 0, forget: 0 }
}
