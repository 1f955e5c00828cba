/**
 * What a device's faults say of it: try again at once, after a while, or never.
 *
 * A worker that dies is started again. After more than {@link MOST_IN_A_ROW} faults without a finished batch in between
 * the device is quarantined and tried again later, each time after twice the time: a driver that is being reinstalled
 * comes back, and a broken card costs little. So many wrong proofs in a row do the same, since a card that computes
 * wrong rarely says so.
 */

/** Restarts in a row without a finished batch in between. A worker that dies this often would die again. */
const MOST_IN_A_ROW = 3

/** The first quarantine: longer than a driver's reset, shorter than anybody's patience. */
export const QUARANTINE_MS = 60_000

/** Doublings of it: at most 16 minutes, half of a proving deadline. */
const MOST_DOUBLINGS = 4

/** Counts the faults of one device, over its starts. */
export class DeviceHealth {
  #faultsInARow = 0
  #wrongInARow = 0
  #quarantines = 0
  /** All wrong proofs since the engine started. */
  verifyFailures = 0

  /** The worker died, the device was lost, or a unit stalled. @returns whether the device is to be quarantined */
  fault(): boolean {
    return ++this.#faultsInARow > MOST_IN_A_ROW
  }

  /** A finished proof does not hold. @returns whether the device is to be quarantined */
  wrong(): boolean {
    this.verifyFailures++
    return ++this.#wrongInARow >= MOST_IN_A_ROW
  }

  /** A batch came back. */
  succeeded(): void {
    this.#faultsInARow = 0
  }

  /** A proof was found to hold. */
  verified(): void {
    this.#wrongInARow = 0
    this.#quarantines = 0
  }

  /** @returns how long this quarantine lasts, ms */
  quarantine(): number {
    this.#faultsInARow = 0
    this.#wrongInARow = 0
    return QUARANTINE_MS * 2 ** Math.min(this.#quarantines++, MOST_DOUBLINGS)
  }
}
