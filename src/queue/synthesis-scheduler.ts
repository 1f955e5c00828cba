/**
 * Which partition is synthesized next.
 *
 * Order: the job's place (priority, deadline, arrival), then the partition's index; so jobs complete one after another
 * instead of all crawling. A partition starts when
 * - fewer than `concurrency` are being synthesized,
 * - at most `lookahead` would wait for a device: a witness costs memory, and devices consume them one by one,
 * - its memory is granted.
 *
 * The first in order asks the budget, and nothing behind it starts before it was granted. A partition of higher rank
 * than all that asked before asks at once, beside them, and counts only lanes of its own rank: a WinningPoSt waits
 * neither for the memory nor for the synthesis of something less urgent.
 */
import type { MemoryBudget, Reservation } from '../budget/memory-budget.ts'
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { Partition } from './job.ts'
import { ServiceOrder } from './service-order.ts'

/** What a partition needs before it may start. */
export interface TurnRequest {
  readonly partition: Partition
  /** Working set and parameters at once. */
  readonly bytes: () => number
  readonly signal: AbortSignal
  /** Why it can never have that, if so. */
  readonly hopeless?: (() => Error | undefined) | undefined
  /** Its turn has come, but memory is lacking. */
  readonly onWait: () => void
  /** Called at the moment of the grant, before anybody else is served. */
  readonly onGrant: (memory: Reservation) => void
}

interface Entry extends TurnRequest {
  readonly job: Partition['job']
  readonly index: number
  readonly resolve: (turn: Turn) => void
  readonly reject: (reason: unknown) => void
}

/** A partition's permission to be synthesized, with its memory. */
export interface Turn {
  readonly memory: Reservation
  /** Synthesis has ended: another may begin. */
  synthesized(): void
  /**
   * A device took the partition, or it failed: another witness may be made ahead. Idempotent; implies
   * {@link synthesized}.
   */
  leave(): void
}

export interface SchedulerOptions {
  readonly budget: MemoryBudget
  readonly concurrency: number
  readonly lookahead: number
  /** Partitions of this circuit and rank that devices would take now. */
  readonly freeDevices: (circuitId: CircuitId, rank: number) => number
  /** The clock of the jobs. */
  readonly now: () => number
}

type Lane = 'synthesizing' | 'waiting'

/** Partitions that wait for their synthesis, and those that have begun it. */
export class SynthesisScheduler {
  readonly #options: SchedulerOptions
  readonly #entries: ServiceOrder<Entry>
  /** Entries that asked the budget and were not answered yet. */
  readonly #asking = new Set<Entry>()
  readonly #lanes = new Map<Partition, Lane>()

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#entries = new ServiceOrder(options.now)
  }

  /**
   * Resolves when it is the partition's turn and its memory is there.
   * @throws {BudgetExceededError} it can never fit
   * @throws `signal.reason`
   */
  turn(request: TurnRequest): Promise<Turn> {
    return new Promise((resolve, reject) => {
      const { signal } = request
      if (signal.aborted) return reject(signal.reason)
      const ended = (): void => signal.removeEventListener('abort', giveUp)
      const entry: Entry = {
        ...request,
        job: request.partition.job,
        index: request.partition.index,
        resolve: (turn) => {
          ended()
          resolve(turn)
        },
        reject: (reason) => {
          ended()
          reject(reason)
        },
      }
      const giveUp = (): void => {
        // Once it asks the budget, the budget answers the abort.
        if (!this.#entries.delete(entry)) return
        entry.reject(signal.reason)
        this.wake()
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#entries.add(entry)
      this.wake()
    })
  }

  /** To be called when a device has a free seat. */
  wake(): void {
    for (;;) {
      const next = this.#entries.first
      if (next === undefined || !this.#hasLane(next.job.circuitId, next.job.rank)) return
      this.#entries.delete(next)
      this.#asking.add(next)
      void this.#ask(next)
    }
  }

  /** Whether a partition of this circuit and rank that came now would ask for its memory at once. */
  hasRoom(circuitId: CircuitId, rank: number): boolean {
    const { first } = this.#entries
    return (first === undefined || first.partition.job.rank < rank) && this.#hasLane(circuitId, rank)
  }

  #hasLane(circuitId: CircuitId, rank: number): boolean {
    let asking = 0
    for (const other of this.#asking) {
      if (other.partition.job.rank >= rank) asking++
    }
    if (asking > 0) return false
    const synthesizing = this.#count('synthesizing', rank)
    const ahead = synthesizing + this.#count('waiting', rank)
    const { concurrency, lookahead, freeDevices } = this.#options
    return synthesizing < concurrency && ahead < freeDevices(circuitId, rank) + lookahead
  }

  async #ask(entry: Entry): Promise<void> {
    const { partition, bytes, signal, hopeless, onWait, onGrant } = entry
    try {
      const rank = (): number => partition.job.rank
      const memory = await this.#options.budget.reserve(bytes, { rank, signal, hopeless, onWait, onGrant })
      this.#lanes.set(partition, 'synthesizing')
      const leave = (): void => {
        if (this.#lanes.delete(partition)) this.wake()
      }
      const synthesized = (): void => {
        if (this.#lanes.get(partition) !== 'synthesizing') return
        this.#lanes.set(partition, 'waiting')
        this.wake()
      }
      entry.resolve({ memory, synthesized, leave })
    } catch (error) {
      entry.reject(error)
    } finally {
      this.#asking.delete(entry)
      this.wake()
    }
  }

  /** Lanes in use by partitions of at least this rank. */
  #count(lane: Lane, rank: number): number {
    let count = 0
    for (const [partition, used] of this.#lanes) if (used === lane && partition.job.rank >= rank) count++
    return count
  }
}
