/** Where the points of an SRS come from: a file, or a device that made them. */
import type { ParamsLayout, Query } from './layout.ts'

export interface SrsSource {
  readonly layout: ParamsLayout
  /** For errors: the path of the file, or what made the points. */
  readonly name: string
  /**
   * Points `first` up to `first + count` of a query, in bellperson's uncompressed encoding.
   * @throws {SrsUnavailableError} they can't be had (any more)
   */
  read(query: Query, first: number, count: number): Promise<Uint8Array>
  /** Idempotent. */
  close(): Promise<void>
}
