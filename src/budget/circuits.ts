/**
 * The circuits an engine has in hand: their shapes and parameters on the devices, loaded once for all who use them and
 * given up when memory is wanted. What each needs, and which devices can do it, is `placement.ts`.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { DeviceCircuit, DeviceClient, PointResidency } from '../device/device-client.ts'
import type { LocatedParameters, ParametersLocation, ReadRun } from '../params/parameters-location.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { type SrsEntryStatus, SrsStore, type SrsStoreEvent } from '../srs/srs-store.ts'
import { type CircuitSize, circuitSize } from './circuit-sizes.ts'
import { type CircuitUse, type Kept, type LoadedCircuit, PartitionUse } from './circuit-use.ts'
import { neededBytes, partitionBytes } from './estimates.ts'
import { type LoadWatch, loadOnto, loadOntoAll } from './load-circuit.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { PartitionMemory } from './partition-memory.ts'
import { Placement, type PlacementOptions } from './placement.ts'
import { Residency, type ResidentRow } from './residency.ts'

/** What the circuits of an engine are made with. */
export interface CircuitsOptions extends LoadWatch, PlacementOptions {
  readonly budget: MemoryBudget
  readonly evictionMinIdleMs: number
  /** Whether any partition is being worked on. */
  readonly busy: () => boolean
  /** Finds a circuit's parameter files. */
  readonly locate: (circuitId: CircuitId) => Promise<LocatedParameters>
  readonly clients: () => readonly DeviceClient[]
  readonly onEvent: (event: SrsStoreEvent) => void
}

/** What an engine has on its devices, by circuit. */
export class Circuits {
  readonly placement: Placement
  readonly #options: CircuitsOptions
  readonly #residency: Residency
  readonly #store: SrsStore<LoadedCircuit>
  readonly #kept = new Map<CircuitId, Kept>()
  /** Preloads that are about to keep a circuit. */
  readonly #keeping: CircuitId[] = []
  readonly #points = new Map<CircuitId, PointResidency>()
  /** Devices that have loaded a circuit since it was loaded first; one that dies and comes again is another. */
  readonly #loadedOnto = new Map<CircuitId, WeakSet<DeviceClient>>()
  /** Of set-ups whose points devices make: for these, and nobody who only has to know where parameters are. */
  readonly #secrets = new Map<CircuitId, ToxicWaste>()

  constructor(options: CircuitsOptions) {
    const { budget, evictionMinIdleMs, now, busy, onEvent } = options
    this.#options = options
    const streamed = (circuitId: CircuitId): boolean => (this.#points.get(circuitId)?.streamedBytes ?? 0) > 0
    this.placement = new Placement(options, this.#kept, streamed)
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
    const estimate = this.placement.require(circuitId)
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
   * As {@link use}, for one partition on the stand-in. Everything is reserved with the working set, points are
   * streamed, and nothing stays on the device.
   */
  useStandIn(circuitId: CircuitId): CircuitUse {
    const estimate = this.placement.estimateStandIn(circuitId)
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
    using use =
      this.placement.of(circuitId).role === 'device' ? this.use(circuitId, () => 0) : this.useStandIn(circuitId)
    return budget.waiting === 0 && use.neededBytes() <= budget.availableBytes
  }

  /**
   * Loads a circuit, and tells where its parameters are. With `admitKept` it also keeps a partition's working set
   * reserved, and never gives the circuit up.
   * @param admitKept throws if there is no room to keep it; asked at that moment, since inputs and other preloads come
   * meanwhile
   */
  async preload(circuitId: CircuitId, admitKept: (() => void) | undefined, run: ReadRun): Promise<ParametersLocation> {
    const { budget } = this.#options
    const estimate = this.placement.require(circuitId)
    const isToKeep = (): boolean => admitKept !== undefined && !this.#kept.has(circuitId)
    using resident = this.#residency.use(circuitId, estimate.residentBytes, () => 0)
    // Who asks for the same waits for less once the other has kept it, and who finds no room beside what others keep,
    // for nothing.
    using memory = await budget.reserve(() => (isToKeep() ? partitionBytes(estimate) : 0) + resident.missingBytes(), {
      signal: run.signal,
      hopeless: () => this.placement.refusal(circuitId),
      onGrant: (granted) => resident.settle(granted),
    })
    const wasWarm = this.isWarm(circuitId)
    const lease = await this.#store.acquire(circuitId, run)
    if (wasWarm && admitKept === undefined) {
      // A device that died and came again since has only what is kept.
      try {
        await this.#loadOntoDevices(circuitId, lease.resource.location, run)
      } finally {
        lease.release()
      }
      return lease.resource.location
    }
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
   * Drops parameters that turned out bad (a file that changed while in use), so that the next job reads them anew. What
   * is kept keeps its memory meanwhile.
   */
  async forget(circuitId: CircuitId): Promise<void> {
    if ((await this.#store.evict(circuitId)) > 0) this.#residency.forget(circuitId)
  }

  /**
   * Loads what the others have onto a device that comes late, what is kept first: it is to be ready on whichever device
   * takes it. Never rejects: what can't be loaded now is told of by the proof that needs it.
   * @param again it was there before, and died: only what is kept, since it may have died of what else there is
   */
  async equip(client: DeviceClient, again = false): Promise<void> {
    const loaded = again ? [] : this.#store.status().map(({ circuitId }) => circuitId)
    for (const circuitId of new Set([...this.#kept.keys(), ...loaded])) {
      try {
        if (!this.isWarm(circuitId) || !reaches(client, circuitId)) continue
        await this.#warm(client, this.deviceCircuit(circuitId, await this.#locate(circuitId)), ALONG)
      } catch {
        // Nobody waits for it.
      }
    }
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
    const { keepPoints } = this.placement.require(circuitId)
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
    const { residentBytes } = this.placement.require(circuitId)
    const release = async (): Promise<void> => {
      this.#points.delete(circuitId)
      // A device that died meanwhile holds nothing any more.
      await Promise.allSettled(this.#options.clients().map((client) => client.forget(circuitId)))
    }
    this.#loadedOnto.delete(circuitId)
    try {
      await this.#loadOntoDevices(circuitId, location, run)
    } catch (error) {
      await release()
      throw error
    }
    return { location, bytes: residentBytes, development: location.development, release }
  }

  /** Loads a circuit onto the devices that lack it, and without waiting onto those that come meanwhile. */
  async #loadOntoDevices(circuitId: CircuitId, location: ParametersLocation, run: ReadRun): Promise<void> {
    const circuit = this.deviceCircuit(circuitId, location)
    const lacks = (client: DeviceClient): boolean =>
      reaches(client, circuitId) && this.#loadedOnto.get(circuitId)?.has(client) !== true
    const clients = this.#options.clients().filter(lacks)
    await loadOntoAll(clients, run, (client, own) => this.#warm(client, circuit, own))
    for (const late of this.#options.clients()) {
      if (lacks(late)) void this.#warm(late, circuit, ALONG).catch(() => {})
    }
  }

  async #warm(client: DeviceClient, circuit: DeviceCircuit, run: ReadRun): Promise<void> {
    const points = await loadOnto(client, circuit, run, this.#options)
    if (points !== undefined) this.#points.set(circuit.circuitId, points)
    const loadedOnto = this.#loadedOnto.get(circuit.circuitId) ?? new WeakSet()
    this.#loadedOnto.set(circuit.circuitId, loadedOnto.add(client))
  }
}

const reaches = ({ info }: DeviceClient, circuitId: CircuitId): boolean =>
  info.maxLog2Domain >= (circuitSize(circuitId) as CircuitSize).log2Domain

/** For loading what nobody waits for. */
const ALONG: ReadRun = { signal: new AbortController().signal, unit: () => {} }
