/** A set-up that a device makes in its own memory. */
import type { Query } from '../params/layout.ts'
import type { DevicePoints, Run } from './proving-device.ts'

/** Consecutive points of one query. */
export interface SetupRange {
  readonly query: Query
  readonly first: number
  readonly count: number
}

/** Columns of a circuit at τ and tables of the generators' multiples, on a device. What they come from is secret: nothing else of it leaves. */
export interface DeviceSetup {
  /** As in a `.vk` file. */
  readonly verifyingKey: Uint8Array

  /**
   * Makes points of a range, to be used as imported ones.
   * @throws {Error} one would be infinity (the chance is below 2^−220): draw other secrets
   * @throws `run.signal.reason` once the signal aborts
   */
  points(range: SetupRange, run: Run): Promise<DevicePoints>

  /** The same points in bellperson's uncompressed encoding, for a file. */
  encoded(range: SetupRange, run: Run): Promise<Uint8Array>

  /** Points stay: they are the caller's. Idempotent. */
  release(): void
}
