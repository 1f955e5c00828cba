/**
 * What devices keep of a circuit between jobs (its shape, imported points), as the budget sees it.
 *
 * An entry's bytes are reserved together with the first partition's working set and stay reserved when that ends. When
 * the first waiter lacks memory, entries that nobody uses are given up, the least recently used first; one that was
 * idle for less than `minIdleMs` only if the waiter outranks its last user or nothing is in flight. Kept entries (a
 * preloaded WinningPoSt's) stay.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { MemoryBudget, Reservation } from './memory-budget.ts'

export interface ResidencyOptions {
  readonly budget: MemoryBudget
  readonly minIdleMs: number
  readonly now: () => number
  /** Whether any partition is being worked on. */
  readonly busy: () => boolean
  /** Whether the circuit is on the devices: what failed to load is not kept. */
  readonly loaded: (circuitId: CircuitId) => boolean
  /** Makes the devices drop a circuit; its bytes are released when this resolves. */
  readonly evict: (circuitId: CircuitId) => Promise<void>
}

interface Entry {
  readonly circuitId: CircuitId
  memory: Reservation | undefined
  users: number
  kept: boolean
  evicting: boolean
  lastUsedAt: number
  lastRank: number
}

/** What is reserved for a circuit between jobs. */
export interface ResidentRow {
  readonly circuitId: CircuitId
  readonly bytes: number
  readonly idleMs: number
  readonly evictable: boolean
}

/** A use of a circuit's entry: from `settle` until it is disposed of, the entry is not given up. */
export interface ResidentUse extends Disposable {
  /** What is missing at this moment, to be reserved with the working set: 0 if the entry is there. */
  readonly missingBytes: () => number
  /**
   * Begins the use; takes the missing bytes out of the reservation. To be called at the moment of the grant, or two may
   * bring them.
   */
  settle(memory: Reservation): void
}

/** The reservations of circuits, and which of them goes first. */
export class Residency {
  readonly #options: ResidencyOptions
  readonly #entries = new Map<CircuitId, Entry>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: ResidencyOptions) {
    this.#options = options
    options.budget.onShortage((neededBytes, rank) => this.#reclaim(neededBytes, rank))
  }

  /**
   * Prepares a use of a circuit's entry. Who merely waits does not hold it: else an entry could be kept from being
   * given up by those who wait behind the one that needs its memory.
   * @param bytes of the whole entry, where it has to be made
   */
  use(circuitId: CircuitId, bytes: number, rank: () => number): ResidentUse {
    let used: Entry | undefined
    return {
      missingBytes: () => (this.#usable(circuitId)?.memory === undefined ? bytes : 0),
      settle: (memory) => {
        used = this.#usable(circuitId) ?? this.#make(circuitId)
        used.users++
        used.memory ??= memory.split(bytes)
      },
      [Symbol.dispose]: () => {
        if (used !== undefined) this.#leave(used, rank())
        used = undefined
      },
    }
  }

  #usable(circuitId: CircuitId): Entry | undefined {
    const entry = this.#entries.get(circuitId)
    return entry?.evicting === true ? undefined : entry
  }

  #make(circuitId: CircuitId): Entry {
    const lastUsedAt = this.#options.now()
    const entry: Entry = {
      circuitId,
      memory: undefined,
      users: 0,
      kept: false,
      evicting: false,
      lastUsedAt,
      lastRank: 0,
    }
    this.#entries.set(circuitId, entry)
    return entry
  }

  #leave(entry: Entry, rank: number): void {
    entry.users--
    entry.lastUsedAt = this.#options.now()
    entry.lastRank = rank
    if (entry.users > 0) return
    if (!this.#options.loaded(entry.circuitId) && !entry.kept) this.#drop(entry)
    else if (this.#options.budget.waiting > 0) this.#options.budget.recheck()
  }

  /**
   * Forgets a circuit that is not on the devices any more, unless somebody uses it, or it is kept: then its memory is
   * for the next load.
   */
  forget(circuitId: CircuitId): void {
    const entry = this.#entries.get(circuitId)
    if (entry !== undefined && entry.users === 0 && !entry.kept && !entry.evicting) this.#drop(entry)
  }

  /** Never gives this circuit's entry up. */
  keep(circuitId: CircuitId): void {
    const entry = this.#entries.get(circuitId)
    if (entry !== undefined) entry.kept = true
  }

  rows(): ResidentRow[] {
    const now = this.#options.now()
    return [...this.#entries.values()].flatMap(({ circuitId, memory, users, kept, lastUsedAt }) =>
      memory === undefined
        ? []
        : [
            {
              circuitId,
              bytes: memory.bytes,
              idleMs: users > 0 ? 0 : now - lastUsedAt,
              evictable: users === 0 && !kept,
            },
          ],
    )
  }

  /** Releases everything: the devices are gone. */
  close(): void {
    clearTimeout(this.#timer)
    for (const entry of this.#entries.values()) entry.memory?.[Symbol.dispose]()
    this.#entries.clear()
  }

  #reclaim(neededBytes: number, rank: number): void {
    const { now, busy, minIdleMs } = this.#options
    const idle = [...this.#entries.values()]
      .filter(({ users, kept, memory, evicting }) => users === 0 && !kept && !evicting && memory !== undefined)
      .sort((a, b) => a.lastUsedAt - b.lastUsedAt)
    let missing = neededBytes
    let nextMs = Number.POSITIVE_INFINITY
    for (const { evicting, memory } of this.#entries.values()) if (evicting) missing -= memory?.bytes ?? 0
    for (const entry of idle) {
      if (missing <= 0) return
      const waitMs = entry.lastUsedAt + minIdleMs - now()
      if (waitMs <= 0 || rank > entry.lastRank || !busy()) {
        missing -= entry.memory?.bytes ?? 0
        void this.#evict(entry)
      } else nextMs = Math.min(nextMs, waitMs)
    }
    if (missing <= 0 || nextMs === Number.POSITIVE_INFINITY) return
    // Nothing else need happen until the first of them has been idle for long enough.
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#options.budget.recheck(), nextMs)
  }

  async #evict(entry: Entry): Promise<void> {
    entry.evicting = true
    try {
      await this.#options.evict(entry.circuitId)
    } finally {
      this.#drop(entry)
    }
  }

  #drop(entry: Entry): void {
    // A new entry of the same circuit may have taken its place while it was given up.
    if (this.#entries.get(entry.circuitId) === entry) this.#entries.delete(entry.circuitId)
    entry.memory?.[Symbol.dispose]()
  }
}
