/**
 * What one partition holds of the budget, released part by part as the work gets on:
 *
 *     granted → synthesized (scratch of the worker, and what of the witness is the job's input itself)
 *             → taken by a device (the copy that was sent) → divided (vectors of the rows)
 *             → proof is there, or given up (the rest: the witness, what else the device had)
 */
import type { CircuitEstimate } from './estimates.ts'
import type { MemoryBudget, Reservation } from './memory-budget.ts'

/** A part that goes before the proof is there. */
export type EarlyPart = 'synthesis' | 'sent' | 'quotient'

/** One partition's reservation, in its parts. */
export class PartitionMemory implements Disposable {
  readonly #budget: MemoryBudget
  readonly #rest: Reservation
  readonly #bytes: Readonly<Record<EarlyPart, number>>
  readonly #parts = new Map<EarlyPart, Reservation>()

  /**
   * @param memory of the partition; empty where a preload keeps its memory, which then stays whole
   * @param estimate what it is made of
   */
  constructor(budget: MemoryBudget, memory: Reservation, estimate: CircuitEstimate) {
    this.#budget = budget
    this.#rest = memory
    const { synthesisBytes, sentBytes, quotientBytes } = estimate
    const own = memory.bytes > 0
    this.#bytes = {
      synthesis: own ? synthesisBytes : 0,
      sent: own ? sentBytes : 0,
      quotient: own ? quotientBytes : 0,
    }
    for (const part of ['synthesis', 'sent', 'quotient'] as const)
      this.#parts.set(part, memory.split(this.#bytes[part]))
  }

  /** What a part stands for was freed. Only the first call counts. */
  freed(part: EarlyPart): void {
    this.#parts.get(part)?.release()
    this.#parts.delete(part)
  }

  /** So much of the witness is the job's input itself, which is counted apart. To be told once. */
  isInput(bytes: number): void {
    if (this.#rest.bytes > 0) this.#rest.release(bytes)
  }

  /**
   * For another try on a device, which needs again what the first one freed. It is not waited for: who waits for memory
   * while holding some can block others that do the same.
   * @returns whether it was there
   */
  takeBack(): boolean {
    for (const part of ['sent', 'quotient'] as const) {
      if (this.#parts.has(part)) continue
      const memory = this.#budget.tryReserve(this.#bytes[part])
      if (memory === undefined) return false
      this.#parts.set(part, memory)
    }
    return true
  }

  [Symbol.dispose](): void {
    for (const part of this.#parts.values()) part.release()
    this.#parts.clear()
    this.#rest[Symbol.dispose]()
  }
}
