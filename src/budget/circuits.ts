/**
 * The circuits an engine has in hand: what each needs, whether the devices can do it, and its shape and parameters on the devices,
 * loaded once for all who use them and given up when memory is wanted.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { ClaimKind } from '../device/device-claims.ts'
import type { DeviceCircuit, DeviceClient, PointResidency } from '../device/device-client.ts'
import type { DeviceInfo } from '../device/device-spec.ts'
import type { DeviceRole } from '../device/gpu-pool.ts'
import { BudgetExceededError, type ProverError, UnsupportedProofError } from '../errors.ts'
import type { LocatedParameters, ParametersLocation, ReadRun } from '../params/parameters-location.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { type SrsEntryStatus, SrsStore, type SrsStoreEvent } from '../srs/srs-store.ts'
import { type CircuitSize, circuitSize } from './circuit-sizes.ts'
import { type CircuitUse, type Kept, type LoadedCircuit, PartitionUse } from './circuit-use.ts'
import { deviceRoom } from './device-room.ts'
import { type CircuitEstimate, estimateCircuit, type Machine, neededBytes, partitionBytes } from './estimates.ts'
import type { gpuMemoryRefusal } from './gpu-memory.ts'
import { type LoadWatch, loadOnto, loadOntoAll } from './load-circuit.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { PartitionMemory } from './partition-memory.ts'
import { Residency, type ResidentRow } from './residency.ts'

export interface CircuitsOptions extends LoadWatch {
  readonly budget: MemoryBudget
  /** Of the CPU device. */
  readonly threads: number
  readonly evictionMinIdleMs: number
  /** Whether any partition is being worked on. */
  readonly busy: () => boolean
  /** Finds a circuit's parameter files. */
  readonly locate: (circuitId: CircuitId) => Promise<LocatedParameters>
  /** Of each GPU, where it was set. */
  readonly gpuMemoryBytes?: number | undefined
  readonly devices: () => readonly DeviceInfo[]
  /** Why there is no device, once there is none. */
  readonly noDevice?: (() => ProverError | undefined) | undefined
  /** What does the work that no device can do. */
  readonly standIn?: (() => DeviceInfo | undefined) | undefined
  readonly clients: () => readonly DeviceClient[]
  readonly onEvent: (event: SrsStoreEvent) => void
}

export class Circuits {
  readonly #options: CircuitsOptions
  readonly #residency: Residency
  readonly #store: SrsStore<LoadedCircuit>
  readonly #kept = new Map<CircuitId, Kept>()
  /** Preloads that are about to keep a circuit. */
  readonly #keeping: CircuitId[] = []
  readonly #points = new Map<CircuitId, PointResidency>()
  /** Of set-ups whose points devices make: for these, and nobody who only has to know where parameters are. */
  readonly #secrets = new Map<CircuitId, ToxicWaste>()
  readonly #estimates = new Map<string, CircuitEstimate>()
  #gpuRefusal: typeof gpuMemoryRefusal | undefined

  constructor(options: CircuitsOptions) {
    const { budget, evictionMinIdleMs, now, busy, onEvent } = options
    this.#options = options
    this.#store = new SrsStore<LoadedCircuit>({
      load: (circuitId, run) => this.#load(circuitId, run),
      onEvent,
      now,
    })
    this.#residency = new Residency({
      budget,
      minIdleMs: evictionMinIdleMs,
      now,
      busy,
      loaded: (circuitId) => this.isWarm(circuitId),
      evict: async (circuitId) => void (await this.#store.evict(circuitId)),
    })
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
    const served = this.#infos(this.placement(circuitId).role)
    return served.map(({ name }) => name).join(', ')
  }

  /**
   * Whether a circuit goes to the devices or to their stand-in, and then what keeps it from the devices.
   */
  placement(circuitId: CircuitId): { readonly role: DeviceRole; readonly why?: ProverError } {
    const why = this.#refusalOn('device', circuitId)
    return why !== undefined && this.standsIn(circuitId) ? { role: 'standIn', why } : { role: 'device' }
  }

  /** Whether there is a stand-in that can do a circuit. */
  standsIn(circuitId: CircuitId): boolean {
    return this.#infos('standIn').length > 0 && this.#refusalOn('standIn', circuitId) === undefined
  }

  /** Why a circuit can never be proved here, if that is so: unknown, larger than every device, or than the whole budget. */
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
    return this.#estimate(circuitId, this.placement(circuitId).role)
  }

  /** Which devices can do a circuit, and what of one a partition takes. On the stand-in each has the device to itself. */
  deviceTerms(circuitId: CircuitId, role: DeviceRole): Pick<ClaimKind, 'circuitId' | 'log2Domain' | 'room'> {
    const size = circuitSize(circuitId)
    if (size === undefined) return { circuitId, log2Domain: 0 }
    const { log2Domain } = size
    if (role === 'standIn') return { circuitId, log2Domain }
    const machine = this.#machine('device')
    // Until a device has told what it had to leave out, what it was asked to keep counts as kept.
    const streamed =
      (this.#points.get(circuitId)?.streamedBytes ?? 0) > 0 || !this.#estimate(circuitId, 'device').keepPoints
    return { circuitId, log2Domain, room: deviceRoom(size, machine, streamed) }
  }

  /**
   * Finds the parameter files, so that a job whose parameters are missing is not even queued.
   * @throws {SrsUnavailableError}, {DevelopmentParametersError}
   */
  async find(circuitId: CircuitId): Promise<void> {
    if (!this.isWarm(circuitId)) await this.#locate(circuitId)
  }

  /** Shape and parameters are on the devices. */
  isWarm(circuitId: CircuitId): boolean {
    return this.#store.status().some((entry) => entry.circuitId === circuitId)
  }

  use(circuitId: CircuitId, rank: () => number): CircuitUse {
    const estimate = this.require(circuitId)
    const resident = this.#residency.use(circuitId, estimate.residentBytes, rank)
    return new PartitionUse(
      estimate,
      resident,
      () => this.#kept.get(circuitId),
      this.#options.budget,
      (run) => this.#store.acquire(circuitId, run),
    )
  }

  /**
   * As {@link use}, for one partition on the stand-in. Everything is reserved with the working set, points are streamed, and nothing
   * stays on the device.
   */
  useStandIn(circuitId: CircuitId): CircuitUse {
    const estimate = this.estimateStandIn(circuitId)
    return {
      neededBytes: () => neededBytes(estimate),
      granted: () => {},
      hold: (memory) => new PartitionMemory(this.#options.budget, memory, estimate),
      load: async () => {
        const location = await this.#locate(circuitId)
        return { location, bytes: estimate.residentBytes, development: location.development, release: async () => {} }
      },
      [Symbol.dispose]: () => {},
    }
  }

  /** Whether a partition would get its memory now, without anything being given up for it. */
  fitsNow(circuitId: CircuitId): boolean {
    const { budget } = this.#options
    using use = this.placement(circuitId).role === 'device' ? this.use(circuitId, () => 0) : this.useStandIn(circuitId)
    return budget.waiting === 0 && use.neededBytes() <= budget.availableBytes
  }

  /** What a partition needs on the stand-in. */
  estimateStandIn(circuitId: CircuitId): CircuitEstimate {
    return this.#estimate(circuitId, 'standIn')
  }

  /**
   * Loads a circuit, and tells where its parameters are. With `admitKept` it also keeps a partition's working set reserved, and never gives the circuit up.
   * @param admitKept throws if there is no room to keep it; asked at that moment, since inputs and other preloads come meanwhile
   */
  async preload(circuitId: CircuitId, admitKept: (() => void) | undefined, run: ReadRun): Promise<ParametersLocation> {
    const { budget } = this.#options
    const estimate = this.require(circuitId)
    const isToKeep = (): boolean => admitKept !== undefined && !this.#kept.has(circuitId)
    using resident = this.#residency.use(circuitId, estimate.residentBytes, () => 0)
    // Who asks for the same waits for less once the other has kept it, and who finds no room beside what others keep, for nothing.
    using memory = await budget.reserve(() => (isToKeep() ? partitionBytes(estimate) : 0) + resident.missingBytes(), {
      signal: run.signal,
      hopeless: () => this.refusal(circuitId),
      onGrant: (granted) => resident.settle(granted),
    })
    const lease = await this.#store.acquire(circuitId, run)
    this.#keeping.push(circuitId)
    const settled = (): unknown => this.#keeping.splice(this.#keeping.indexOf(circuitId), 1)
    try {
      const told = isToKeep() ? await this.#setAside(circuitId, lease.resource, run) : []
      if (isToKeep()) {
        admitKept?.()
        this.#kept.set(circuitId, { memory: memory.split(memory.bytes), inUse: false })
        this.#residency.keep(circuitId)
        for (const client of this.#options.clients()) if (!told.includes(client)) void this.equip(client)
        // Who waits already and fits no more beside it would wait for ever.
        budget.refuseHopeless()
      }
    } catch (error) {
      settled()
      lease.release()
      await this.#returnAside(circuitId)
      throw error
    }
    settled()
    lease.release()
    return lease.resource.location
  }

  /** After a preload that failed: devices are not to keep aside what nobody keeps here, or is about to. */
  async #returnAside(circuitId: CircuitId): Promise<void> {
    if (this.#kept.has(circuitId) || this.#keeping.includes(circuitId)) return
    await this.forget(circuitId)
    if (this.isWarm(circuitId)) {
      await Promise.allSettled(this.#options.clients().map((client) => client.returnAside(circuitId)))
    }
  }

  /**
   * Has devices set memory aside for a circuit that they have loaded. A device that fails here shows when it is used.
   * @returns the devices that were told
   * @throws `run.signal.reason`
   */
  async #setAside(circuitId: CircuitId, { location }: LoadedCircuit, run: ReadRun): Promise<readonly DeviceClient[]> {
    const circuit = { ...this.deviceCircuit(circuitId, location), setAside: true }
    const clients = this.#options.clients()
    const aside: ReadRun = { signal: run.signal, unit: () => {} }
    await Promise.allSettled(clients.map((client) => this.#warm(client, circuit, aside)))
    run.signal.throwIfAborted()
    return clients
  }

  /**
   * Drops parameters that turned out bad (a file that changed while in use), so that the next job reads them anew. What is kept keeps
   * its memory meanwhile.
   */
  async forget(circuitId: CircuitId): Promise<void> {
    if ((await this.#store.evict(circuitId)) > 0) this.#residency.forget(circuitId)
  }

  /**
   * Loads what is kept onto a device that was started late, or again: what was preloaded is to be ready on whichever device takes it.
   * Never rejects: what can't be loaded now is told of by the proof that needs it.
   */
  async equip(client: DeviceClient): Promise<void> {
    for (const circuitId of this.#kept.keys()) {
      try {
        if (!this.isWarm(circuitId)) continue
        await this.#warm(client, this.deviceCircuit(circuitId, await this.#locate(circuitId)), ALONG)
      } catch {
        // Nobody waits for it.
      }
    }
  }

  /** Bytes of a circuit's kept points in the host's memory; 0 if they are elsewhere. */
  pointBytes(circuitId: CircuitId): number {
    const size = circuitSize(circuitId)
    return size === undefined ? 0 : this.#estimate(circuitId, 'device').pointBytes
  }

  /** Where GPUs have a circuit's points; absent for devices that have no memory of their own. */
  residency(circuitId: CircuitId): PointResidency | undefined {
    return this.#points.get(circuitId)
  }

  /** What a device said of it last. */
  located(circuitId: CircuitId, points: PointResidency | undefined): void {
    if (points !== undefined && this.isWarm(circuitId)) this.#points.set(circuitId, points)
  }

  /** What devices are told of a circuit. */
  deviceCircuit(circuitId: CircuitId, parameters: ParametersLocation): DeviceCircuit {
    const { keepPoints } = this.require(circuitId)
    const secrets = this.#secrets.get(circuitId)
    return { circuitId, parameters, secrets, keepPoints, setAside: this.#kept.has(circuitId) }
  }

  residents(): ResidentRow[] {
    return this.#residency.rows()
  }

  parameters(): SrsEntryStatus[] {
    return this.#store.status()
  }

  async close(): Promise<void> {
    await this.#store.close()
    for (const { memory } of this.#kept.values()) memory[Symbol.dispose]()
    this.#kept.clear()
    this.#residency.close()
  }

  async #locate(circuitId: CircuitId): Promise<ParametersLocation> {
    const { secrets, ...location } = await this.#options.locate(circuitId)
    if (secrets !== undefined) this.#secrets.set(circuitId, secrets)
    return location
  }

  async #load(circuitId: CircuitId, run: ReadRun): Promise<LoadedCircuit> {
    const location = await this.#locate(circuitId)
    const { residentBytes } = this.require(circuitId)
    const circuit = this.deviceCircuit(circuitId, location)
    const release = async (): Promise<void> => {
      this.#points.delete(circuitId)
      // A device that died meanwhile holds nothing any more.
      await Promise.allSettled(this.#options.clients().map((client) => client.forget(circuitId)))
    }
    const { log2Domain } = circuitSize(circuitId) as CircuitSize
    const clients = this.#options.clients().filter(({ info }) => info.maxLog2Domain >= log2Domain)
    try {
      await loadOntoAll(clients, run, (client, own) => this.#warm(client, circuit, own))
    } catch (error) {
      await release()
      throw error
    }
    return { location, bytes: residentBytes, development: location.development, release }
  }

  async #warm(client: DeviceClient, circuit: DeviceCircuit, run: ReadRun): Promise<void> {
    const points = await loadOnto(client, circuit, run, this.#options)
    if (points !== undefined) this.#points.set(circuit.circuitId, points)
  }
}

/** For loading what nobody waits for. */
const ALONG: ReadRun = { signal: new AbortController().signal, unit: () => {} }
