/**
 * Which circuits' parameters are loaded, and who uses them. The store counts references and remembers when each entry
 * was last used; what loading means is the caller's affair (a device that opens a file, or one that made the points
 * itself), and so is when to evict: the memory budget asks for idle entries when it is short.
 *
 * An entry is `loading`, then `loaded` until it is evicted; a load that fails or is given up leaves none.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { ReadRun } from '../params/parameters-location.ts'
import { orAborted } from '../params/waiting.ts'

/** What a load gives. */
export interface SrsResource {
  /** Memory that it holds. */
  readonly bytes: number
  readonly development: boolean
  release(): void | Promise<void>
}

/** The parameters of a circuit were asked for, are there, or were given up: also because they could not be loaded. */
export interface SrsStoreEvent {
  readonly circuitId: CircuitId
  readonly state: 'loading' | 'loaded' | 'evicted'
  readonly bytes: number
}

/** What a store is given to work with. */
export interface SrsStoreOptions<R extends SrsResource> {
  /** Loads the parameters of a circuit. Its signal aborts when nobody waits for them any more. */
  readonly load: (circuitId: CircuitId, run: ReadRun) => Promise<R>
  readonly onEvent?: ((event: SrsStoreEvent) => void) | undefined
  /** Milliseconds of a clock that never goes back. @default performance.now */
  readonly now?: (() => number) | undefined
}

/** One use of loaded parameters. */
export interface SrsLease<R extends SrsResource> {
  readonly resource: R
  /** Idempotent. */
  release(): void
}

/** Parameters that are loaded. */
export interface SrsEntryStatus {
  readonly circuitId: CircuitId
  readonly bytes: number
  readonly development: boolean
  readonly references: number
  /** Since the last reference was given back; 0 while there is one. */
  readonly idleMs: number
}

interface Entry<R> {
  readonly loading: Promise<R>
  readonly controller: AbortController
  readonly listeners: Set<ReadRun>
  resource: R | undefined
  references: number
  lastUsed: number
}

/**
 * Loaded parameters by circuit: loaded once for all who want them, and dropped when nobody does and memory is wanted.
 */
export class SrsStore<R extends SrsResource> {
  readonly #options: SrsStoreOptions<R>
  readonly #entries = new Map<CircuitId, Entry<R>>()
  readonly #now: () => number

  constructor(options: SrsStoreOptions<R>) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Loads parameters, or shares those that are loaded or loading. A load goes on as long as one caller waits for it.
   * @throws what the load threw; `run.signal.reason` once the signal aborts
   */
  async acquire(circuitId: CircuitId, run: ReadRun): Promise<SrsLease<R>> {
    run.signal.throwIfAborted()
    const entry = this.#entries.get(circuitId) ?? this.#load(circuitId)
    entry.references++
    const listener: ReadRun = { ...run }
    entry.listeners.add(listener)
    try {
      const resource = await orAborted(entry.loading, run.signal)
      let released = false
      return {
        resource,
        release: () => {
          if (released) return
          released = true
          this.#unreference(entry)
        },
      }
    } catch (error) {
      this.#unreference(entry)
      throw error
    } finally {
      entry.listeners.delete(listener)
    }
  }

  #load(circuitId: CircuitId): Entry<R> {
    this.#emit(circuitId, 'loading', 0)
    const controller = new AbortController()
    const listeners = new Set<ReadRun>()
    const run: ReadRun = {
      signal: controller.signal,
      unit: (share) => {
        for (const listener of listeners) listener.unit(share)
      },
      stalled: (silentMs, file) => {
        for (const listener of listeners) listener.stalled?.(silentMs, file)
      },
    }
    const load = async (): Promise<R> => {
      try {
        const resource = await this.#options.load(circuitId, run)
        if (controller.signal.aborted) {
          await resource.release()
          throw controller.signal.reason
        }
        entry.resource = resource
        this.#emit(circuitId, 'loaded', resource.bytes)
        return resource
      } catch (error) {
        this.#drop(circuitId, entry)
        throw error
      }
    }
    // The load begins a turn later, when `entry` is there for it.
    const loading = Promise.resolve().then(load)
    loading.catch(() => {})
    const entry: Entry<R> = {
      loading,
      controller,
      listeners,
      resource: undefined,
      references: 0,
      lastUsed: this.#now(),
    }
    this.#entries.set(circuitId, entry)
    return entry
  }

  #unreference(entry: Entry<R>): void {
    entry.references--
    entry.lastUsed = this.#now()
    if (entry.references > 0 || entry.resource !== undefined) return
    // Nobody waits for this load: who comes later starts a new one.
    entry.controller.abort()
    for (const [circuitId, other] of this.#entries) if (other === entry) this.#drop(circuitId, entry)
  }

  /** Ends an entry that has come to nothing, unless that is done already. */
  #drop(circuitId: CircuitId, entry: Entry<R>): void {
    if (this.#entries.get(circuitId) !== entry) return
    this.#entries.delete(circuitId)
    this.#emit(circuitId, 'evicted', 0)
  }

  /** Loaded entries, least recently used first. */
  status(): SrsEntryStatus[] {
    return [...this.#entries]
      .filter(([, entry]) => entry.resource !== undefined)
      .sort(([, a], [, b]) => a.lastUsed - b.lastUsed)
      .map(([circuitId, { resource, references, lastUsed }]) => ({
        circuitId,
        bytes: resource?.bytes ?? 0,
        development: resource?.development ?? false,
        references,
        idleMs: references > 0 ? 0 : this.#now() - lastUsed,
      }))
  }

  /**
   * Drops an entry that nobody uses.
   * @returns bytes freed; 0 if the entry is not loaded or in use
   */
  async evict(circuitId: CircuitId): Promise<number> {
    const entry = this.#entries.get(circuitId)
    if (entry?.resource === undefined || entry.references > 0) return 0
    this.#entries.delete(circuitId)
    const { bytes } = entry.resource
    await entry.resource.release()
    this.#emit(circuitId, 'evicted', bytes)
    return bytes
  }

  /** Aborts loads and drops all entries, also those in use: call it when the work has stopped. */
  async close(): Promise<void> {
    const entries = [...this.#entries]
    this.#entries.clear()
    for (const [circuitId, { controller, resource }] of entries) {
      controller.abort()
      await resource?.release()
      this.#emit(circuitId, 'evicted', resource?.bytes ?? 0)
    }
  }

  #emit(circuitId: CircuitId, state: SrsStoreEvent['state'], bytes: number): void {
    this.#options.onEvent?.({ circuitId, state, bytes })
  }
}
