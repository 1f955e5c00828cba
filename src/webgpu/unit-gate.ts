/**
 * Whose unit goes next, of several runs on one device. Work that was submitted can't be called back, so what is less
 * urgent is held here, on the host, and the queue of the device holds little more than what it works on.
 *
 * An urgent run goes ahead at once, and others wait until it has been silent for a while: between two of its units it
 * reads small results back, and a unit of another in each of these gaps would cost it many times its own time. Of the
 * others the one of smallest order goes first, and those behind it use the device only while it leaves it idle, or is
 * about to: a run that works has its next unit submitted long before the last one ends, so that one which has not is
 * waiting for something.
 */
import type { Run } from '../groth16/proving-device.ts'

/** Longer than a result takes to be read back and acted on, and nothing to what waits. */
const URGENT_GAP_MS = 20

/** Longer than it takes to record the next unit while one runs. */
const RECORDING_MS = 5

const URGENT: number = Number.NEGATIVE_INFINITY

type Turn = Pick<Run, 'signal' | 'urgent' | 'order'>

/** The order of units on one device. */
export class UnitGate {
  /** Units in flight: whose, in terms of order; urgent ones before all. */
  readonly #inFlight: number[] = []
  /** When the last unit of an urgent run ended. */
  #urgentAt = Number.NEGATIVE_INFINITY
  /** When a unit was submitted, or one was done. */
  #changedAt = Number.NEGATIVE_INFINITY
  readonly #waiting = new Set<() => void>()

  /**
   * Resolves when a run may submit its next unit.
   * @returns whether it waited: then the device has nothing to do, or will soon, and what is recorded should go there
   * at once
   * @throws `run.signal.reason` once the signal aborts
   */
  async turn(run: Turn): Promise<boolean> {
    const order = orderOf(run)
    let waited = false
    while (order > URGENT) {
      run.signal.throwIfAborted()
      const restMs = this.#restMs(order)
      if (restMs <= 0) return waited
      waited = true
      await this.#change(run.signal, restMs)
    }
    return waited
  }

  /** How long one of this order is to wait at most: until something has changed, if that is not known. */
  #restMs(order: number): number {
    const now = performance.now()
    const silentMs = this.#urgentAt + URGENT_GAP_MS - now
    const before = this.#inFlight.filter((other) => other < order)
    if (before.includes(URGENT) || before.length > 1) return Number.POSITIVE_INFINITY
    return Math.max(silentMs, before.length === 0 ? 0 : this.#changedAt + RECORDING_MS - now)
  }

  /** A unit was submitted. @returns to be called when it is done, or has failed */
  enter(run: Turn): () => void {
    const order = orderOf(run)
    this.#inFlight.push(order)
    this.#changedAt = performance.now()
    return () => {
      this.#inFlight.splice(this.#inFlight.indexOf(order), 1)
      this.#changedAt = performance.now()
      if (order === URGENT) this.#urgentAt = this.#changedAt
      for (const look of [...this.#waiting]) look()
    }
  }

  /** Waits until something has changed, or the time has passed, or the signal aborts. */
  #change(signal: AbortSignal, restMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = restMs < Number.POSITIVE_INFINITY ? setTimeout(() => look(), Math.ceil(restMs)) : undefined
      const look = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', look)
        this.#waiting.delete(look)
        resolve()
      }
      signal.addEventListener('abort', look, { once: true })
      this.#waiting.add(look)
    })
  }
}

function orderOf({ urgent, order = 0 }: Turn): number {
  return urgent === true ? URGENT : order
}
