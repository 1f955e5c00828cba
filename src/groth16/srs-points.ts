/**
 * The points of one SRS on one device, handed out range by range. They are imported once and kept, or, where memory is short,
 * imported anew in every pass and freed after use; the next range is read while the device works on the present one.
 */
import { SrsUnavailableError } from '../errors.ts'
import { QUERIES, QUERY_GROUP, type Query } from '../params/layout.ts'
import type { SrsSource } from '../params/srs-source.ts'
import type { DevicePoints, ProvingDevice, Run } from './proving-device.ts'

/** Consecutive points of one query. */
export interface PointRange {
  readonly query: Query
  readonly first: number
  readonly count: number
}

export interface SrsPointsOptions {
  /** Keep points on the device after the first pass. */
  readonly keep: boolean
}

export class SrsPoints {
  readonly ranges: readonly PointRange[]
  readonly #device: ProvingDevice
  readonly #source: SrsSource
  readonly #keep: boolean
  readonly #kept = new Map<PointRange, DevicePoints>()
  #released = false

  constructor(device: ProvingDevice, source: SrsSource, options: SrsPointsOptions) {
    this.#device = device
    this.#source = source
    this.#keep = options.keep
    this.ranges = QUERIES.flatMap((query) => {
      const { points } = source.layout.queries[query]
      const most = device.rangePoints(QUERY_GROUP[query])
      const count = Math.ceil(points / most)
      // Ranges of equal length: a short last one would use the device badly.
      return Array.from({ length: count }, (_, k): PointRange => {
        const first = Math.floor((points * k) / count)
        return { query, first, count: Math.floor((points * (k + 1)) / count) - first }
      })
    })
  }

  /**
   * Calls `use` with the points of every range, one after the other.
   * @param run made for each range by `runOf`, for importing its points
   */
  async pass(
    runOf: (range: PointRange) => Run,
    use: (range: PointRange, points: DevicePoints) => Promise<void>,
  ): Promise<void> {
    let ahead: Promise<Uint8Array> | undefined
    for (const [k, range] of this.ranges.entries()) {
      const kept = this.#kept.get(range)
      const reading = kept === undefined ? (ahead ?? this.#read(range)) : undefined
      const next = this.ranges[k + 1]
      let points = kept
      try {
        const bytes = await reading
        ahead = next !== undefined && !this.#kept.has(next) ? this.#read(next) : undefined
        // Awaited in the next round; a failure before that must not count as unhandled.
        ahead?.catch(() => {})
        if (bytes !== undefined) points = await this.#import(range, bytes, runOf(range))
        await use(range, points as DevicePoints)
      } finally {
        if (kept === undefined && points !== undefined) {
          if (this.#keep && !this.#released && !this.#kept.has(range)) this.#kept.set(range, points)
          else points.release()
        }
      }
    }
  }

  #read({ query, first, count }: PointRange): Promise<Uint8Array> {
    return this.#source.read(query, first, count)
  }

  /** Imports points; a bad one is named by its place in the file. */
  async #import(range: PointRange, bytes: Uint8Array, run: Run): Promise<DevicePoints> {
    try {
      return await this.#device.loadPoints(QUERY_GROUP[range.query], bytes, run)
    } catch (error) {
      if (!(error instanceof SrsUnavailableError)) throw error
      const received = `${range.query}[${range.first + Number(error.details.received)}]: ${error.message}`
      throw new SrsUnavailableError(`parameters ${this.#source.name}: ${received}`, {
        details: { file: this.#source.name, expected: 'a point of the curve other than infinity', received },
        cause: error,
      })
    }
  }

  /** Frees what is kept; a pass that still runs frees the rest itself. */
  release(): void {
    this.#released = true
    for (const points of this.#kept.values()) points.release()
    this.#kept.clear()
  }
}
