/**
 * A device's own memory as its worker gives it out: circuits hold their shapes and what is kept of their points, batches what they work
 * with. What can't be had now is waited for: circuits that nobody uses are given up first, then batches in hand are let finish.
 *
 * A preloaded circuit's working set is set aside for good, so that its next batch waits for nobody.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { Run } from '../groth16/proving-device.ts'

/** Who waits tells that it lives. */
const HEARTBEAT_MS = 1_000

interface Waiter {
  readonly bytes: number
  readonly urgent: boolean
  readonly grant: () => void
}

interface SetAside {
  readonly bytes: number
  inUse: boolean
  givenUp: boolean
}

export class DeviceMemory {
  readonly #limitBytes: () => number
  readonly #makeRoom: () => Promise<void>
  readonly #setAside = new Map<CircuitId, SetAside>()
  readonly #waiters: Waiter[] = []
  #usedBytes = 0
  #batches = 0

  /**
   * @param limitBytes what there is in all; infinite where it is not known
   * @param makeRoom gives circuits up that nobody uses; what they hold is released by then
   */
  constructor(limitBytes: () => number, makeRoom: () => Promise<void>) {
    this.#limitBytes = limitBytes
    this.#makeRoom = makeRoom
  }

  /** Given out to nobody, and set aside for nobody. */
  get freeBytes(): number {
    return this.#limitBytes() - this.#usedBytes
  }

  /** Ends what {@link setAside} began, once no batch uses it. */
  giveUp(circuitId: CircuitId): void {
    const own = this.#setAside.get(circuitId)
    if (own === undefined) return
    this.#setAside.delete(circuitId)
    own.givenUp = true
    if (!own.inUse) this.#return(own.bytes)
  }

  /** Set aside for other circuits than this one. */
  setAsideBytes(but: CircuitId): number {
    return [...this.#setAside].reduce((sum, [circuitId, { bytes }]) => sum + (circuitId === but ? 0 : bytes), 0)
  }

  /** Counts what a circuit holds, until it is disposed of. It is not waited for: a batch that was admitted asked for it. */
  hold(bytes: number): Disposable {
    this.#usedBytes += bytes
    return this.#release(bytes)
  }

  /** Sets a circuit's working set aside, if there is room for it beside what is given out now. */
  setAside(circuitId: CircuitId, bytes: number): void {
    if (this.#setAside.has(circuitId) || bytes > this.freeBytes) return
    this.#setAside.set(circuitId, { bytes, inUse: false, givenUp: false })
    this.#usedBytes += bytes
  }

  /**
   * Waits for the memory of a batch. With nothing else in hand it is given in any case: that it fits was found out before.
   * @throws `run.signal.reason` once the signal aborts
   */
  async admit(circuitId: CircuitId, bytes: number, run: Run): Promise<Disposable> {
    const own = this.#setAside.get(circuitId)
    if (own !== undefined && !own.inUse && bytes <= own.bytes) {
      own.inUse = true
      return {
        [Symbol.dispose]: () => {
          if (!own.inUse) return
          own.inUse = false
          if (own.givenUp) this.#return(own.bytes)
        },
      }
    }
    if (bytes > this.freeBytes) await this.#makeRoom()
    run.signal.throwIfAborted()
    const mustWait = bytes > this.freeBytes || (this.#waiters.length > 0 && run.urgent !== true)
    if (!mustWait || this.#batches === 0) this.#take(bytes)
    else {
      await this.#wait(bytes, run)
      // Circuits of the batches that it waited for may be used by nobody any more.
      if (this.freeBytes < 0) await this.#makeRoom()
    }
    return this.#release(bytes, true)
  }

  #take(bytes: number): void {
    this.#usedBytes += bytes
    this.#batches++
  }

  #wait(bytes: number, run: Run): Promise<void> {
    return new Promise((resolve, reject) => {
      const alive = setInterval(() => run.unit(0), HEARTBEAT_MS)
      const left = (): void => {
        clearInterval(alive)
        run.signal.removeEventListener('abort', giveUp)
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      }
      const waiter: Waiter = {
        bytes,
        urgent: run.urgent === true,
        grant: () => {
          left()
          this.#take(bytes)
          resolve()
        },
      }
      const giveUp = (): void => {
        left()
        reject(run.signal.reason)
        this.#serve()
      }
      run.signal.addEventListener('abort', giveUp, { once: true })
      this.#waiters.push(waiter)
    })
  }

  #release(bytes: number, batch = false): Disposable {
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        if (batch) this.#batches--
        this.#return(bytes)
      },
    }
  }

  #return(bytes: number): void {
    this.#usedBytes -= bytes
    this.#serve()
  }

  /** Serves who waits, urgent ones first, then in the order in which they came; nothing passes the first. */
  #serve(): void {
    for (;;) {
      const first = this.#waiters.find(({ urgent }) => urgent) ?? this.#waiters[0]
      if (first === undefined || (first.bytes > this.freeBytes && this.#batches > 0)) return
      first.grant()
    }
  }
}
