/**
 * Whose unit goes next, of several runs on one device. Work that was submitted can't be called back, so what is less urgent is held
 * here, on the host, and the queue of the device holds little more than what it works on.
 *
 * An urgent run goes ahead at once, and others wait until it has been silent for a while: between two of its units it reads small
 * results back, and a unit of another in each of these gaps would cost it many times its own time. Of the others the one of smallest
 * order goes first, and those behind it use the device only while it leaves it idle.
 */
import type { Run } from '../groth16/proving-device.ts'

/** Longer than a result takes to be read back and acted on, and nothing to what waits. */
const URGENT_GAP_MS = 20

const URGENT: number = Number.NEGATIVE_INFINITY

type Turn = Pick<Run, 'signal' | 'urgent' | 'order'>

export class UnitGate {
  /** Units in flight: whose, in terms of order; urgent ones before all. */
  readonly #inFlight: number[] = []
  /** When the last unit of an urgent run ended. */
  #urgentAt = Number.NEGATIVE_INFINITY
  readonly #waiting = new Set<() => void>()

  /**
   * Resolves when a run may submit its next unit.
   * @throws `run.signal.reason` once the signal aborts
   */
  async turn(run: Turn): Promise<void> {
    const order = orderOf(run)
    while (order > URGENT) {
      run.signal.throwIfAborted()
      const restMs = this.#urgentAt + URGENT_GAP_MS - performance.now()
      if (restMs <= 0 && !this.#inFlight.some((other) => other < order)) return
      await this.#change(run.signal, restMs)
    }
  }

  /** A unit was submitted. @returns to be called when it is done, or has failed */
  enter(run: Turn): () => void {
    const order = orderOf(run)
    this.#inFlight.push(order)
    return () => {
      this.#inFlight.splice(this.#inFlight.indexOf(order), 1)
      if (order === URGENT) this.#urgentAt = performance.now()
      for (const look of [...this.#waiting]) look()
    }
  }

  /** Waits until something has changed, or the time has passed, or the signal aborts. */
  #change(signal: AbortSignal, restMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = restMs > 0 ? setTimeout(() => look(), restMs) : undefined
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
