/** Where the points of an SRS come from: a file, or a device that made them. */
import type { ParamsLayout, Query } from './layout.ts'

/** Reads points of one circuit's parameters. */
export interface SrsSource {
  readonly layout: ParamsLayout
  /** For errors: the path of the file, or what made the points. */
  readonly name: string
  /**
   * Writes point `first` of a query and those that follow, as many as `target` holds, in bellperson's uncompressed
   * encoding. The target may be a device's memory: nothing is written to it any more once the promise has settled, and
   * so it does not settle before.
   * @throws {SrsUnavailableError} they can't be had (any more)
   * @throws {RangeError} the query has no such points, or the target holds no whole number of them
   */
  readInto(query: Query, first: number, target: Uint8Array): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}
