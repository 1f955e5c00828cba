/**
 * The vanilla proofs of jobs in hand. A job holds one copy of its input from its checks to its end, and that copy is
 * counted like everything else.
 *
 * An input is served ahead of all that waits for memory: a job must not wait for others' partitions before it is even
 * looked at. What keeps inputs from filling the budget is the bound at the door. A job is taken on only if the inputs
 * of all in hand, with what is preloaded, leave room for the largest partition that any of them needs; so the first in
 * line always gets its memory in the end.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { BudgetExceededError, QueueFullError } from '../errors.ts'
import type { MemoryBudget, Reservation } from './memory-budget.ts'

export interface InputsOptions {
  readonly budget: MemoryBudget
  /** Bytes of one partition of a circuit beside what is preloaded, the circuit included. */
  readonly partitionBytes: (circuitId: CircuitId) => number
  /** Bytes that are reserved for good, but for this circuit's own. */
  readonly keptBytes: (but?: CircuitId) => number
}

/** Bytes of one job's input. */
export interface InputBytes {
  /** From its checks to the end of the job. */
  readonly held: number
  /** Beside it while it is read: the form in which it came. */
  readonly reading: number
}

/** The reservations of jobs for their inputs, and who may still come. */
export class Inputs {
  readonly #options: InputsOptions
  readonly #admitted = new Set<Input>()
  /** How many jobs in hand are of a circuit. */
  readonly #jobs = new Map<CircuitId, number>()
  #admittedBytes = 0

  constructor(options: InputsOptions) {
    this.#options = options
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return [...this.#admitted].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /**
   * Makes room on paper for a job's input; {@link Input.take} takes the memory.
   * @throws {BudgetExceededError} beside it no partition of the job would ever fit
   * @throws {QueueFullError} beside the inputs of the jobs in hand there is no room for it now
   */
  admit(circuitId: CircuitId, bytes: InputBytes): Input {
    const { budget, partitionBytes, keptBytes } = this.#options
    const { totalBytes } = budget
    const own = bytes.held + bytes.reading
    const alone = own + partitionBytes(circuitId) + keptBytes(circuitId)
    if (alone > totalBytes) {
      throw new BudgetExceededError(
        `the input of ${own} bytes and a partition of ${circuitId} need ${alone} bytes together with what is preloaded; ` +
          `the whole budget is ${totalBytes} bytes`,
        { details: { field: 'memory.totalBytes', expected: `at least ${alone}`, received: String(totalBytes) } },
      )
    }
    const free = totalBytes - this.#neededBytes(circuitId)
    if (own > free) {
      throw new QueueFullError(
        `the inputs of jobs in hand leave ${Math.max(0, free)} bytes of the budget, and this one has ${own}`,
        { details: { field: 'memory.totalBytes', expected: `at most ${Math.max(0, free)}`, received: String(own) } },
      )
    }
    const input = new Input(bytes, budget, {
      released: (released) => {
        this.#admittedBytes -= released
      },
      ended: () => {
        this.#admitted.delete(input)
        this.#countJob(circuitId, -1)
      },
    })
    this.#admitted.add(input)
    this.#admittedBytes += own
    this.#countJob(circuitId, 1)
    return input
  }

  /**
   * To be asked before a circuit is preloaded for good: the inputs of jobs in hand were let in when less was kept.
   * @throws {QueueFullError} who of them would fit beside what is kept, but for the inputs, would wait for ever
   */
  admitKept(circuitId: CircuitId): void {
    const { budget, partitionBytes, keptBytes } = this.#options
    const kept = keptBytes() + partitionBytes(circuitId)
    const needs = [...this.#jobs.keys()]
      .filter((other) => other !== circuitId)
      .map((other) => kept + partitionBytes(other))
      .filter((needed) => needed <= budget.totalBytes)
    const needed = this.#admittedBytes + Math.max(kept, ...needs)
    if (needed <= budget.totalBytes) return
    const received = `${budget.totalBytes - this.#admittedBytes} beside the inputs of jobs in hand`
    throw new QueueFullError(`${circuitId} can't be kept ready now: that would take ${needed} bytes of ${received}`, {
      details: { field: 'memory.totalBytes', expected: `at least ${needed}`, received },
    })
  }

  #countJob(circuitId: CircuitId, change: 1 | -1): void {
    const count = (this.#jobs.get(circuitId) ?? 0) + change
    if (count === 0) this.#jobs.delete(circuitId)
    else this.#jobs.set(circuitId, count)
  }

  /** All inputs in hand, what is preloaded, and the largest partition of these jobs and of one more circuit. */
  #neededBytes(circuitId: CircuitId): number {
    const { partitionBytes, keptBytes } = this.#options
    const largest = Math.max(...[circuitId, ...this.#jobs.keys()].map(partitionBytes))
    return this.#admittedBytes + keptBytes() + largest
  }
}

interface InputObserver {
  /** Bytes that it will not take, or not again. */
  readonly released: (bytes: number) => void
  readonly ended: () => void
}

/** One job's input. To be disposed of, once, when the job has really ended. */
export class Input implements Disposable {
  readonly #bytes: InputBytes
  readonly #budget: MemoryBudget
  readonly #observer: InputObserver
  #readingBytes: number
  #memory: Reservation | undefined

  constructor(bytes: InputBytes, budget: MemoryBudget, observer: InputObserver) {
    this.#bytes = bytes
    this.#readingBytes = bytes.reading
    this.#budget = budget
    this.#observer = observer
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#memory?.bytes ?? 0
  }

  /**
   * Takes the memory, as soon as what runs leaves enough.
   * @throws `signal.reason`
   */
  async take(rank: () => number, signal: AbortSignal): Promise<void> {
    const { held, reading } = this.#bytes
    this.#memory = await this.#budget.reserve(held + reading, { rank, signal, ahead: true })
  }

  /** The input was read: the form in which it came is dropped. */
  read(): void {
    this.#memory?.release(this.#readingBytes)
    this.#observer.released(this.#readingBytes)
    this.#readingBytes = 0
  }

  [Symbol.dispose](): void {
    this.#memory?.[Symbol.dispose]()
    this.#memory = undefined
    this.#observer.released(this.#bytes.held + this.#readingBytes)
    this.#observer.ended()
  }
}
