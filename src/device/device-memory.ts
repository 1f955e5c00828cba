/**
 * A device's own memory as its worker gives it out: circuits hold their shapes and what is kept of their points,
 * batches what they work with. What can't be had now is waited for: circuits that nobody uses are given up first, those
 * that fall idle meanwhile too, then batches in hand are let finish.
 *
 * A preloaded circuit's working set is set aside for good, so that its next batch waits for nobody. It stays itself
 * where waiting helps as well.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { Run } from '../groth16/proving-device.ts'

/** Who waits tells that it lives. */
const HEARTBEAT_MS = 1_000

interface Waiter {
  readonly circuitId: CircuitId
  readonly bytes: number
  readonly urgent: boolean
  readonly grant: () => void
}

interface Held {
  readonly circuitId: CircuitId
  /** What would be free if the circuit were given up and opened anew. */
  readonly spareBytes: number
}

interface SetAside {
  readonly bytes: number
  inUse: boolean
  givenUp: boolean
}

/** One device's memory, in bytes: what circuits and batches hold of it, and who waits for some. */
export class DeviceMemory {
  readonly #limitBytes: () => number
  readonly #giveIdleUp: (may: (circuitId: CircuitId) => boolean) => Promise<void>
  readonly #setAside = new Map<CircuitId, SetAside>()
  readonly #held = new Set<Held>()
  readonly #waiters: Waiter[] = []
  #usedBytes = 0
  #batches = 0

  /**
   * @param limitBytes what there is in all; infinite where it is not known
   * @param giveIdleUp gives circuits up that nobody uses, of those that may go; what they hold is released by then.
   *   Never rejects
   */
  constructor(limitBytes: () => number, giveIdleUp: (may: (circuitId: CircuitId) => boolean) => Promise<void>) {
    this.#limitBytes = limitBytes
    this.#giveIdleUp = giveIdleUp
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

  /**
   * Counts what a circuit holds, until it is disposed of. It is not waited for: a batch that was admitted asked for it.
   * @param leastBytes what it holds wherever memory is short
   */
  hold(circuitId: CircuitId, bytes: number, leastBytes: number): Disposable {
    const held: Held = { circuitId, spareBytes: Math.max(0, bytes - leastBytes) }
    this.#held.add(held)
    this.#usedBytes += bytes
    return this.#release(bytes, () => void this.#held.delete(held))
  }

  /** Sets a circuit's working set aside, if there is room for it beside what is given out now. */
  setAside(circuitId: CircuitId, bytes: number): void {
    if (this.#setAside.has(circuitId) || bytes > this.freeBytes) return
    this.#setAside.set(circuitId, { bytes, inUse: false, givenUp: false })
    this.#usedBytes += bytes
  }

  /**
   * Waits for the memory of a batch. With nothing else in hand it is given in any case: that it fits was found out
   * before.
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
    if (bytes > this.freeBytes) await this.#makeRoom(circuitId, bytes, this.#batches)
    run.signal.throwIfAborted()
    const mustWait = bytes > this.freeBytes || (this.#waiters.length > 0 && run.urgent !== true)
    if (!mustWait || this.#batches === 0) this.#take(bytes)
    else {
      await this.#wait(circuitId, bytes, run)
      // Circuits of the batches that it waited for may be used by nobody any more.
      if (this.freeBytes < 0) await this.#makeRoom(circuitId, 0, this.#batches - 1)
    }
    return this.#release(bytes, () => void this.#batches--)
  }

  /**
   * What is preloaded goes only if there is no batch whose end would do. What the batch itself is about to use goes
   * only if other circuits are not enough and it is: who waits looks again and again, and would load it again for
   * nothing.
   * @param own the batch's circuit
   * @param others batches in hand beside the one that asks
   */
  async #makeRoom(own: CircuitId, bytes: number, others: number): Promise<void> {
    await this.#giveIdleUp((circuitId) => circuitId !== own && !this.#setAside.has(circuitId))
    const lacking = bytes - this.freeBytes
    if (lacking > 0 && lacking <= this.#spareBytes(own)) {
      await this.#giveIdleUp((circuitId) => !this.#setAside.has(circuitId))
    }
    if (bytes > this.freeBytes && others === 0) await this.#giveIdleUp(() => true)
  }

  #spareBytes(of: CircuitId): number {
    return [...this.#held].reduce((sum, { circuitId, spareBytes }) => sum + (circuitId === of ? spareBytes : 0), 0)
  }

  #take(bytes: number): void {
    this.#usedBytes += bytes
    this.#batches++
  }

  #wait(circuitId: CircuitId, bytes: number, run: Run): Promise<void> {
    return new Promise((resolve, reject) => {
      const alive = setInterval(() => run.unit(0), HEARTBEAT_MS)
      const left = (): void => {
        clearInterval(alive)
        run.signal.removeEventListener('abort', giveUp)
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      }
      const waiter: Waiter = {
        circuitId,
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

  #release(bytes: number, released: () => void): Disposable {
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        released()
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
      if (first === undefined) return
      if (first.bytes > this.freeBytes && this.#batches > 0) {
        // What a circuit held that fell idle is given out when it is released.
        void this.#makeRoom(first.circuitId, first.bytes, this.#batches)
        return
      }
      first.grant()
    }
  }
}
