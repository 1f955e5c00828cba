/**
 * What circuits need, and where they can be proved: on the engine's devices, on their stand-in, or nowhere here, and
 * why.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { ClaimKind } from '../device/device-claims.ts'
import type { DeviceInfo } from '../device/device-spec.ts'
import type { DeviceRole } from '../device/gpu-pool.ts'
import { BudgetExceededError, type ProverError, UnsupportedProofError } from '../errors.ts'
import { type CircuitSize, circuitSize } from './circuit-sizes.ts'
import { deviceRoom } from './device-room.ts'
import { type CircuitEstimate, estimateCircuit, type Machine, neededBytes } from './estimates.ts'
import type { gpuMemoryRefusal } from './gpu-memory.ts'

/** The machine, as it is at the moment of each question. */
export interface PlacementOptions {
  readonly budget: { readonly totalBytes: number }
  /** Of the CPU device. */
  readonly threads: number
  /** Of each GPU, where it was set. */
  readonly gpuMemoryBytes?: number | undefined
  readonly devices: () => readonly DeviceInfo[]
  /** Why there is no device, once there is none. */
  readonly noDevice?: (() => ProverError | undefined) | undefined
  /** What does the work that no device can do. */
  readonly standIn?: (() => DeviceInfo | undefined) | undefined
}

/** Where circuits go. */
export class Placement {
  readonly #options: PlacementOptions
  readonly #kept: ReadonlyMap<CircuitId, unknown>
  readonly #streamed: (circuitId: CircuitId) => boolean
  readonly #estimates = new Map<string, CircuitEstimate>()
  #gpuRefusal: typeof gpuMemoryRefusal | undefined

  /**
   * @param kept preloaded circuits, whose memory nobody else can have
   * @param streamed whether a device told that it reads some of a circuit's points in each pass
   */
  constructor(
    options: PlacementOptions,
    kept: ReadonlyMap<CircuitId, unknown>,
    streamed: (circuitId: CircuitId) => boolean,
  ) {
    this.#options = options
    this.#kept = kept
    this.#streamed = streamed
  }

  /** Loads what only a limit to the memory of GPUs needs. To be awaited before the first request. */
  async prepare(): Promise<void> {
    if (this.#options.gpuMemoryBytes === undefined) return
    this.#gpuRefusal = (await import('./gpu-memory.ts')).gpuMemoryRefusal
  }

  #machine(role: DeviceRole): Machine {
    const { budget, threads } = this.#options
    const device = this.#infos(role)[0]?.kind
    return { totalBytes: budget.totalBytes, threads, device }
  }

  /** Asked for at each step of each job, and the same as long as the machine is. */
  #estimate(circuitId: CircuitId, role: DeviceRole): CircuitEstimate {
    const machine = this.#machine(role)
    const key = `${circuitId} ${machine.device}`
    const known = this.#estimates.get(key) ?? estimateCircuit(circuitSize(circuitId) as CircuitSize, machine)
    this.#estimates.set(key, known)
    return known
  }

  #infos(role: DeviceRole): readonly DeviceInfo[] {
    const standIn = this.#options.standIn?.()
    return role === 'device' ? this.#options.devices() : standIn === undefined ? [] : [standIn]
  }

  /** Names of the devices that a circuit is proved on. */
  deviceNames(circuitId: CircuitId): string {
    const served = this.#infos(this.of(circuitId).role)
    return served.map(({ name }) => name).join(', ')
  }

  /**
   * Whether a circuit goes to the devices or to their stand-in, and then what keeps it from the devices.
   */
  of(circuitId: CircuitId): { readonly role: DeviceRole; readonly why?: ProverError } {
    const why = this.#refusalOn('device', circuitId)
    return why !== undefined && this.standsIn(circuitId) ? { role: 'standIn', why } : { role: 'device' }
  }

  /** Whether there is a stand-in that can do a circuit. */
  standsIn(circuitId: CircuitId): boolean {
    return this.#infos('standIn').length > 0 && this.#refusalOn('standIn', circuitId) === undefined
  }

  /**
   * Why a circuit can never be proved here, if that is so: unknown, larger than every device, or than the whole budget.
   */
  refusal(circuitId: CircuitId): ProverError | undefined {
    const refusal = this.#refusalOn('device', circuitId)
    return refusal !== undefined && this.standsIn(circuitId) ? undefined : refusal
  }

  #refusalOn(role: DeviceRole, circuitId: CircuitId): ProverError | undefined {
    const size = circuitSize(circuitId)
    if (size === undefined) {
      return new UnsupportedProofError(`circuit ${circuitId} can't be proved by this version`, {
        details: { field: 'registeredProof', received: circuitId },
      })
    }
    const infos = this.#infos(role)
    const none = role === 'device' && infos.length === 0 ? this.#options.noDevice?.() : undefined
    if (none !== undefined) return none
    const most = Math.max(0, ...infos.map(({ maxLog2Domain }) => maxLog2Domain))
    if (size.log2Domain > most) {
      const names = infos.map(({ name }) => name).join(', ')
      const domain = `an evaluation domain of 2^${size.log2Domain}`
      return new UnsupportedProofError(
        `circuit ${circuitId} (${size.constraints} constraints) needs ${domain}; the devices of this machine (${names}) reach 2^${most}`,
        { details: { device: names, expected: `at most 2^${most}`, received: `2^${size.log2Domain}` } },
      )
    }
    const tooLarge = this.#gpuRefusal?.(circuitId, infos, this.#options.gpuMemoryBytes, this.#kept.keys())
    if (tooLarge !== undefined) return tooLarge
    const { totalBytes } = this.#options.budget
    const bytes = neededBytes(this.#estimate(circuitId, role))
    const keptBytes = this.keptBytes(circuitId)
    if (bytes + keptBytes <= totalBytes) return undefined
    const kept = keptBytes === 0 ? '' : `, of which ${keptBytes} stay reserved for what was preloaded`
    return new BudgetExceededError(
      `a partition of ${circuitId} needs ${bytes} bytes, parameters included; the whole budget is ${totalBytes} bytes${kept}`,
      {
        details: {
          field: 'memory.totalBytes',
          expected: `at least ${bytes + keptBytes}`,
          received: String(totalBytes),
        },
      },
    )
  }

  /** What stays reserved for preloaded circuits, and so can never be had by others. */
  keptBytes(but?: CircuitId): number {
    return [...this.#kept.keys()]
      .filter((kept) => kept !== but)
      .reduce((sum, kept) => sum + neededBytes(this.#estimate(kept, 'device')), 0)
  }

  /** Bytes of one partition and its circuit, wherever it may be proved, beside what is kept for preloaded ones. */
  largestNeed(circuitId: CircuitId): number {
    if (this.#kept.has(circuitId)) return 0
    const needs = (['device', 'standIn'] as const)
      .filter((role) => this.#infos(role).length > 0 && this.#refusalOn(role, circuitId) === undefined)
      .map((role) => neededBytes(this.#estimate(circuitId, role)))
    return Math.max(0, ...needs)
  }

  /** Whether the devices of a role check a witness that they take over: GPUs do so in milliseconds. */
  checksWitness(role: DeviceRole): boolean {
    const infos = this.#infos(role)
    return infos.length > 0 && infos.every(({ kind }) => kind === 'webgpu')
  }

  /**
   * What a circuit needs.
   * @throws {UnsupportedProofError}, {BudgetExceededError} it can never be proved here
   */
  require(circuitId: CircuitId): CircuitEstimate {
    const refusal = this.refusal(circuitId)
    if (refusal !== undefined) throw refusal
    return this.#estimate(circuitId, this.of(circuitId).role)
  }

  /**
   * Which devices can do a circuit, and what of one a partition takes. On the stand-in each has the device to itself.
   */
  deviceTerms(circuitId: CircuitId, role: DeviceRole): Pick<ClaimKind, 'circuitId' | 'log2Domain' | 'room'> {
    const size = circuitSize(circuitId)
    if (size === undefined) return { circuitId, log2Domain: 0 }
    const { log2Domain } = size
    if (role === 'standIn') return { circuitId, log2Domain }
    const machine = this.#machine('device')
    // Until a device has told what it had to leave out, what it was asked to keep counts as kept.
    const streamed = this.#streamed(circuitId) || !this.#estimate(circuitId, 'device').keepPoints
    return { circuitId, log2Domain, room: deviceRoom(size, machine, streamed) }
  }

  /** What a partition needs on the stand-in. */
  estimateStandIn(circuitId: CircuitId): CircuitEstimate {
    return this.#estimate(circuitId, 'standIn')
  }

  /** Bytes of a circuit's kept points in the host's memory; 0 if they are elsewhere. */
  pointBytes(circuitId: CircuitId): number {
    const size = circuitSize(circuitId)
    return size === undefined ? 0 : this.#estimate(circuitId, 'device').pointBytes
  }
}
