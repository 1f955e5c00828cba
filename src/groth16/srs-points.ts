/**
 * The points of one SRS on one device, handed out range by range. They are imported once and kept, or, where memory is
 * short, imported anew in every pass and freed after use; the next range is read and imported while the device works on
 * the present one.
 */
import { SrsUnavailableError } from '../errors.ts'
import { type PointRange, QUERIES, QUERY_GROUP, type Query } from '../params/layout.ts'
import type { SrsSource } from '../params/srs-source.ts'
import { answered } from '../params/waiting.ts'
import type { DevicePoints, ProvingDevice, Run } from './proving-device.ts'

/** How points are held. */
export interface SrsPointsOptions {
  /** Keep points on the device after the first pass: all of them, or those of some queries. */
  readonly keep: boolean | ReadonlySet<Query>
  /** Points of a range at most. @default what the device would have */
  readonly rangePoints?: Readonly<Record<'g1' | 'g2', number>> | undefined
  /** Parts of a range that are read at once. @default what the device takes at the least */
  readonly partsAtOnce?: number | undefined
  /** Makes the points of a range on the device, where the source has none to read. */
  readonly make?: ((range: PointRange, run: Run) => Promise<DevicePoints>) | undefined
}

/** What a pass has of a range. */
interface Held {
  readonly points: DevicePoints
  /** Others have it, too. */
  readonly shared: boolean
}

/** The points of a circuit's parameters on one device, range by range: kept there, or loaded anew in each pass. */
export class SrsPoints {
  readonly ranges: readonly PointRange[]
  readonly #device: ProvingDevice
  readonly #source: SrsSource
  readonly #make: SrsPointsOptions['make']
  readonly #partsAtOnce: number | undefined
  readonly #kept = new Map<PointRange, DevicePoints>()
  /** Whose points a device has found to be on the curve. */
  readonly #checked = new Set<PointRange>()
  #keep: ReadonlySet<Query>
  #passes = 0
  #released = false

  constructor(device: ProvingDevice, source: SrsSource, { keep, make, rangePoints, partsAtOnce }: SrsPointsOptions) {
    this.#device = device
    this.#source = source
    this.#make = make
    this.#partsAtOnce = partsAtOnce
    this.#keep = typeof keep === 'boolean' ? new Set(keep ? QUERIES : []) : keep
    this.ranges = QUERIES.flatMap((query) => {
      const { points } = source.layout.queries[query]
      const most = rangePoints?.[QUERY_GROUP[query]] ?? device.rangePoints(QUERY_GROUP[query])
      const count = Math.ceil(points / most)
      // Ranges of equal length: a short last one would use the device badly.
      return Array.from({ length: count }, (_, k): PointRange => {
        const first = Math.floor((points * k) / count)
        return { query, first, count: Math.floor((points * (k + 1)) / count) - first }
      })
    })
  }

  /**
   * Calls `use` with the points of every range, one after the other. Settles when nothing is being read any more,
   * unless that never ends.
   * @param run made for each range by `runOf`, for importing its points
   */
  async pass(
    runOf: (range: PointRange) => Run,
    use: (range: PointRange, points: DevicePoints) => Promise<void>,
  ): Promise<void> {
    const stop = new AbortController()
    let ahead: Promise<Held> | undefined
    this.#passes++
    try {
      for (const [k, range] of this.ranges.entries()) {
        const held = await (ahead ?? this.#take(range, runOf, stop.signal))
        const next = this.ranges[k + 1]
        ahead = next === undefined ? undefined : this.#take(next, runOf, stop.signal)
        // Awaited in the next round; a failure before that must not count as unhandled.
        ahead?.catch(() => {})
        try {
          await use(range, held.points)
        } finally {
          this.#give(range, held)
        }
      }
    } catch (error) {
      stop.abort(error)
      const left = await ahead?.catch(() => undefined)
      if (left?.shared === false) left.points.release()
      throw error
    } finally {
      this.#passes--
    }
  }

  /** Imports what is not there yet, where all points are kept: the next pass finds them. */
  async load(run: Run): Promise<void> {
    if (this.streamedBytes > 0 || this.kept.length === QUERIES.length) return
    let begun = 0
    const { length } = this.ranges
    const runOf = (): Run => {
      const before = begun++
      return { ...run, unit: (share) => run.unit((before + share) / length) }
    }
    await this.pass(runOf, async () => run.signal.throwIfAborted())
  }

  together<T>(use: (points: Readonly<Record<Query, DevicePoints>>) => Promise<T> | undefined): Promise<T> | undefined {
    if (this.ranges.length !== QUERIES.length || this.#released) return undefined
    const kept = this.ranges.flatMap((range) => {
      const points = this.#kept.get(range)
      return points === undefined ? [] : [[range.query, points] as const]
    })
    if (kept.length !== QUERIES.length) return undefined
    const using = use(Object.fromEntries(kept) as Record<Query, DevicePoints>)
    if (using === undefined) return undefined
    this.#passes++
    return using.finally(() => this.#passes--)
  }

  async #take(range: PointRange, runOf: (range: PointRange) => Run, stop: AbortSignal): Promise<Held> {
    const kept = this.#kept.get(range)
    if (kept !== undefined) return { points: kept, shared: true }
    const run = runOf(range)
    const load = this.#make ?? ((...args) => this.#load(...args))
    const points = await load(range, { ...run, signal: AbortSignal.any([run.signal, stop]) })
    return { points, shared: false }
  }

  #give(range: PointRange, { points, shared }: Held): void {
    if (shared) return
    if (this.#keep.has(range.query) && !this.#released && !this.#kept.has(range)) this.#kept.set(range, points)
    else points.release()
  }

  /** Imports points; a bad one is named by its place in the file. */
  async #load(range: PointRange, run: Run): Promise<DevicePoints> {
    const { query, first, count } = range
    let silent: (error: unknown) => void = () => {}
    const hung = new Promise<never>((_, reject) => {
      silent = reject
    })
    const read = (at: number, target: Uint8Array): Promise<void> => {
      const reading = this.#source.readInto(query, first + at, target)
      answered(
        this.#source.name,
        reading.catch(() => {}),
      ).catch(silent)
      return reading
    }
    try {
      const options = { checked: this.#checked.has(range), partsAtOnce: this.#partsAtOnce }
      const loading = this.#device.loadPoints(QUERY_GROUP[query], count, read, run, options)
      const points = await Promise.race([loading, hung]).catch((error: unknown) => {
        // Of a file that never answers the device keeps what is read into; should it answer after all, nobody wants the
        // points.
        loading.then((points) => points.release()).catch(() => {})
        throw error
      })
      this.#checked.add(range)
      return points
    } catch (error) {
      // What reading throws names the file already.
      if (!(error instanceof SrsUnavailableError) || error.details.file !== undefined) throw error
      const received = `${query}[${first + Number(error.details.received)}]: ${error.message}`
      throw new SrsUnavailableError(`parameters ${this.#source.name}: ${received}`, {
        details: { file: this.#source.name, expected: 'a point of the curve other than infinity', received },
        cause: error,
      })
    }
  }

  /** Encoded bytes of the points that stay on the device, from the first pass on. */
  get keptBytes(): number {
    return this.#bytes((query) => this.#keep.has(query))
  }

  /** Encoded bytes of the points that are read in every pass. */
  get streamedBytes(): number {
    return this.#bytes((query) => !this.#keep.has(query))
  }

  /** Queries whose points are on the device, all of them. */
  get kept(): readonly Query[] {
    return QUERIES.filter((query) => this.ranges.every((range) => range.query !== query || this.#kept.has(range)))
  }

  /**
   * Sets the queries whose points stay on the device from now on, and frees those of others.
   * @throws {Error} a pass is running, which may be using them
   */
  keep(queries: ReadonlySet<Query>): void {
    if (this.#passes > 0) throw new Error('What is kept of an SRS can not change while a pass uses it.')
    this.#keep = queries
    for (const [range, points] of this.#kept) {
      if (queries.has(range.query)) continue
      points.release()
      this.#kept.delete(range)
    }
  }

  #bytes(which: (query: Query) => boolean): number {
    const { queries } = this.#source.layout
    return QUERIES.filter(which).reduce((sum, query) => sum + queries[query].points * queries[query].pointBytes, 0)
  }

  /** Frees what is kept; a pass that still runs frees the rest itself. */
  release(): void {
    this.#released = true
    for (const points of this.#kept.values()) points.release()
    this.#kept.clear()
  }
}
