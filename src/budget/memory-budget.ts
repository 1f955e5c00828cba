/**
 * One number that all memory is taken from before it is allocated.
 *
 * - A reservation is granted whole or not at all; who needs a working set and parameters asks for the sum. Nobody waits
 *   for one while holding the other, so two jobs can't block each other.
 * - Waiters are served by rank, first come first served within one. Nothing passes the first waiter, however small it
 *   is: otherwise a stream of small requests would starve a large one. Only inputs of jobs go ahead, since they are
 *   bounded (`inputs.ts`).
 * - What could not even fit into an empty budget is refused at once.
 * - A reservation shrinks when a phase ends and is released when the work has really stopped. Releasing more than is
 *   held throws: it is a bug that would let the machine run out of memory later.
 */
import { BudgetExceededError } from '../errors.ts'

export interface ReserveOptions {
  /** The waiter's place: greater is served first. Read anew at each grant, so that a rank may rise while it waits. */
  readonly rank?: (() => number) | undefined
  /**
   * Served before all that are not, whatever their rank: for what is bounded by other means, or it would starve the
   * rest.
   */
  readonly ahead?: boolean | undefined
  /** Gives the wait up: the call rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
  /**
   * Why the request can never be granted, if that came to be so; asked before it waits and by
   * {@link MemoryBudget.refuseHopeless}.
   */
  readonly hopeless?: (() => Error | undefined) | undefined
  /** Called once if the request has to wait. */
  readonly onWait?: (() => void) | undefined
  /** Called at the moment of the grant, before anybody else is served. */
  readonly onGrant?: ((reservation: Reservation) => void) | undefined
}

/** Bytes, or how to find out: a request that waits may need less once somebody else brought a part of it. */
export type Bytes = number | (() => number)

interface Waiter {
  readonly bytes: () => number
  readonly rank: () => number
  readonly ahead: boolean
  readonly hopeless: (() => Error | undefined) | undefined
  readonly grant: (reservation: Reservation) => void
  readonly refuse: (reason: unknown) => void
}

/** Makes caches give memory back, at once or later, by releasing it. */
export type Reclaim = (neededBytes: number, rank: number) => void

/** The one number of bytes that everything is reserved from, and who waits for some of it. */
export class MemoryBudget {
  readonly #totalBytes: number
  #usedBytes = 0
  readonly #waiters: Waiter[] = []
  #reclaim: Reclaim | undefined
  #granting = false

  constructor(totalBytes: number) {
    if (!Number.isSafeInteger(totalBytes) || totalBytes < 1) throw new RangeError(`a budget of ${totalBytes} bytes`)
    this.#totalBytes = totalBytes
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Never negative, also after the budget shrank below what is in use. */
  get availableBytes(): number {
    return Math.max(0, this.#totalBytes - this.#usedBytes)
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiters.length
  }

  /** Sets who is asked to give memory back when the first waiter does not fit. */
  onShortage(reclaim: Reclaim): void {
    this.#reclaim = reclaim
  }

  /**
   * @throws {BudgetExceededError} more than the whole budget.
   * @throws `signal.reason` once the signal aborts.
   */
  async reserve(bytes: Bytes, options: ReserveOptions = {}): Promise<Reservation> {
    const { signal, rank = () => 0 } = options
    signal?.throwIfAborted()
    const needed = typeof bytes === 'number' ? () => bytes : bytes
    this.#refuseImpossible(needed())
    const reason = options.hopeless?.()
    if (reason !== undefined) throw reason
    const { promise, waiter } = enqueue(needed, rank, options)
    this.#waiters.push(waiter)
    const stopWaiting = (): void => {
      const index = this.#waiters.indexOf(waiter)
      if (index < 0) return
      this.#waiters.splice(index, 1)
      waiter.refuse(signal?.reason)
      // The one that left may have been what the others waited behind.
      this.#grant()
    }
    signal?.addEventListener('abort', stopWaiting, { once: true })
    try {
      this.#grant()
      if (this.#waiters.includes(waiter)) options.onWait?.()
      return await promise
    } finally {
      signal?.removeEventListener('abort', stopWaiting)
    }
  }

  /** Takes the bytes if they are free now and nobody waits for memory. */
  tryReserve(bytes: number): Reservation | undefined {
    if (bytes > 0 && (this.#waiters.length > 0 || bytes > this.availableBytes)) return undefined
    return this.#take(bytes)
  }

  /** To be called when memory came to be taken for good: refuses the waiters for whom there will never be enough. */
  refuseHopeless(): void {
    for (const waiter of [...this.#waiters]) {
      const reason = waiter.hopeless?.()
      if (reason === undefined) continue
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      waiter.refuse(reason)
    }
    this.#grant()
  }

  /** Serves waiters again: to be called when something that `onShortage` could free became idle. */
  recheck(): void {
    this.#grant()
  }

  #refuseImpossible(bytes: number): void {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RangeError(`a reservation of ${bytes} bytes`)
    if (bytes > this.#totalBytes) throw exceeded(bytes, this.#totalBytes)
  }

  #grant(): void {
    // Reclaiming releases, and releasing grants: the outer call's loop sees whatever became free.
    if (this.#granting) return
    this.#granting = true
    try {
      for (;;) {
        const first = firstOf(this.#waiters)
        if (first === undefined) return
        const missing = first.bytes() - this.availableBytes
        if (missing > 0) {
          this.#reclaim?.(missing, first.rank())
          if (first.bytes() > this.availableBytes) return
        }
        this.#waiters.splice(this.#waiters.indexOf(first), 1)
        first.grant(this.#take(first.bytes()))
      }
    } finally {
      this.#granting = false
    }
  }

  #take(bytes: number): Reservation {
    this.#usedBytes += bytes
    return new Reservation(bytes, (released) => {
      this.#usedBytes -= released
      this.#grant()
    })
  }
}

/** Bytes held. `using` releases what is left at the end of a block. */
export class Reservation implements Disposable {
  #bytes: number
  #ended = false
  readonly #give: (bytes: number) => void

  constructor(bytes: number, give: (bytes: number) => void) {
    this.#bytes = bytes
    this.#give = give
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Gives back a part, or without an argument the rest; then the reservation has ended.
   * @throws {RangeError} more than is held, or the reservation has ended.
   */
  release(bytes?: number): void {
    const released = bytes ?? this.#bytes
    this.#subtract(released)
    if (bytes === undefined) this.#ended = true
    if (released > 0) this.#give(released)
  }

  /** Hands a part over to another holder, e.g. a cache: nothing becomes free. */
  split(bytes: number): Reservation {
    this.#subtract(bytes)
    return new Reservation(bytes, this.#give)
  }

  /** Releases the rest; does nothing after {@link release}. */
  [Symbol.dispose](): void {
    if (!this.#ended) this.release()
  }

  #subtract(bytes: number): void {
    if (this.#ended) throw new RangeError('the reservation was released already')
    if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > this.#bytes) {
      throw new RangeError(`release of ${bytes} bytes from a reservation of ${this.#bytes}`)
    }
    this.#bytes -= bytes
  }
}

function exceeded(bytes: number, totalBytes: number): BudgetExceededError {
  return new BudgetExceededError(`${bytes} bytes are needed at once, the whole budget is ${totalBytes} bytes`, {
    details: { field: 'memory.totalBytes', expected: `at least ${bytes}`, received: String(totalBytes) },
  })
}

/** Who goes ahead, then greatest rank, then longest wait. */
function firstOf(waiters: readonly Waiter[]): Waiter | undefined {
  let first: Waiter | undefined
  let best = Number.NEGATIVE_INFINITY
  for (const waiter of waiters) {
    if (waiter.ahead) return waiter
    const rank = waiter.rank()
    if (rank > best) {
      first = waiter
      best = rank
    }
  }
  return first
}

function enqueue(
  bytes: () => number,
  rank: () => number,
  { ahead = false, onGrant, hopeless }: ReserveOptions,
): { promise: Promise<Reservation>; waiter: Waiter } {
  let resolve!: Waiter['grant']
  let refuse!: Waiter['refuse']
  const promise = new Promise<Reservation>((onResolve, onReject) => {
    resolve = onResolve
    refuse = onReject
  })
  const grant = (reservation: Reservation): void => {
    onGrant?.(reservation)
    resolve(reservation)
  }
  return { promise, waiter: { bytes, rank, ahead, hopeless, grant, refuse } }
}
