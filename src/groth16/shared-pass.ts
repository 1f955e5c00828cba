/**
 * One pass over an SRS for all who need its points at the same time, for points that are not kept on the device:
 * reading and importing tens of gigabytes costs more than what one partition does with them.
 *
 * It goes round. Whoever comes on the way gets the ranges from there on, and those before in the next round; it ends
 * when nobody needs anything more. At a standstill it waits for all who have announced themselves, who assign their
 * witness meanwhile, so that partitions that begin together need one round. Each has its own end: an abort or a failure
 * of one is nobody else's.
 */

import type { PointRange, Query } from '../params/layout.ts'
import type { DevicePoints, Run } from './proving-device.ts'

/** What hands an SRS out range by range. */
export interface PointSource {
  readonly ranges: readonly PointRange[]
  /**
   * Calls `use` with the points of every range, in their order; `runOf` makes the run that importing a range reports
   * to.
   */
  pass(
    runOf: (range: PointRange) => Run,
    use: (range: PointRange, points: DevicePoints) => Promise<void>,
  ): Promise<void>
  /**
   * Calls `use` once instead, with the points of all queries, where all of them are there, each in one range. They stay
   * until what it returns settles.
   * @returns undefined, too, where `use` gives it
   */
  together?<T>(use: (points: Readonly<Record<Query, DevicePoints>>) => Promise<T> | undefined): Promise<T> | undefined
}

/** A place in the pass for one batch. To be disposed of, whether it was used or not. */
export interface SharedPassPlace extends PointSource, Disposable {}

interface Rider {
  readonly run: Run
  readonly runOf: (range: PointRange) => Run
  readonly use: (range: PointRange, points: DevicePoints) => Promise<void>
  readonly settle: (failure: { readonly reason: unknown } | undefined) => void
  /** What it still needs. */
  readonly left: Set<PointRange>
  /** What importing reports to, by range. */
  readonly imports: Map<PointRange, Run>
  using: boolean
}

/** Thrown at a pass that nobody needs the rest of. */
const OVER = Symbol('nobody needs more of this round')

/** One pass over the points for all batches of a circuit, which join and leave it at any range. */
export class SharedPass {
  readonly #points: PointSource
  /** Places that were not used yet. */
  readonly #announced = new Set<SharedPassPlace>()
  readonly #riders = new Set<Rider>()
  #rolling = false
  /** Ends the round when the last rider has left. */
  #stop = new AbortController()

  constructor(points: PointSource) {
    this.#points = points
  }

  /** @param run of the batch: its signal and its order count here, too */
  announce(run: Run): SharedPassPlace {
    const place: SharedPassPlace = {
      ranges: this.#points.ranges,
      pass: (runOf, use) => this.#board(place, run, runOf, use),
      [Symbol.dispose]: () => {
        if (this.#announced.delete(place)) this.#depart()
      },
    }
    this.#announced.add(place)
    return place
  }

  /** Resolves when a batch has had every range. What it works with is not used any more once this settles. */
  async #board(place: SharedPassPlace, run: Run, runOf: Rider['runOf'], use: Rider['use']): Promise<void> {
    run.signal.throwIfAborted()
    let abort = (): void => {}
    try {
      await new Promise<void>((resolve, reject) => {
        const rider: Rider = {
          run,
          runOf,
          use,
          settle: (failure) => (failure === undefined ? resolve() : reject(failure.reason)),
          left: new Set(this.#points.ranges),
          imports: new Map(),
          using: false,
        }
        // One whose units run stops between two of them, and leaves then.
        abort = () => {
          if (!rider.using) this.#leave(rider, { reason: run.signal.reason })
        }
        run.signal.addEventListener('abort', abort, { once: true })
        this.#riders.add(rider)
        this.#announced.delete(place)
        this.#depart()
      })
    } finally {
      run.signal.removeEventListener('abort', abort)
    }
  }

  #depart(): void {
    if (this.#rolling || this.#riders.size === 0 || this.#announced.size > 0) return
    this.#rolling = true
    void this.#roll()
  }

  /** Never rejects. */
  async #roll(): Promise<void> {
    while (this.#riders.size > 0) {
      this.#stop = new AbortController()
      const { signal } = this.#stop
      try {
        await this.#points.pass(
          (range) => this.#importing(range, signal),
          (range, points) => this.#serve(range, points),
        )
      } catch (error) {
        if (error !== OVER && !signal.aborted) for (const rider of this.#riders) this.#leave(rider, { reason: error })
      }
    }
    this.#rolling = false
  }

  async #serve(range: PointRange, points: DevicePoints): Promise<void> {
    // Asked anew each time: who boards while one is served gets the range, too.
    for (let rider = this.#needing(range); rider !== undefined; rider = this.#needing(range)) {
      rider.using = true
      try {
        await rider.use(range, points)
        rider.left.delete(range)
        if (rider.left.size === 0) this.#leave(rider)
      } catch (error) {
        this.#leave(rider, { reason: error })
      }
      rider.using = false
      // Aborted by its last unit, which did not see it.
      if (rider.run.signal.aborted) this.#leave(rider, { reason: rider.run.signal.reason })
    }
    const later = this.#points.ranges.slice(this.#points.ranges.indexOf(range) + 1)
    if (!later.some((next) => this.#needing(next) !== undefined)) throw OVER
  }

  /** Importing a range is a step of all who need it. */
  #importing(range: PointRange, signal: AbortSignal): Run {
    const unit = (share: number): void => {
      for (const { left, imports, runOf } of this.#riders) {
        if (!left.has(range)) continue
        const run = imports.get(range) ?? runOf(range)
        imports.set(range, run)
        run.unit(share)
      }
    }
    return { ...this.#inOrder()[0]?.run, signal, unit }
  }

  #needing(range: PointRange): Rider | undefined {
    return this.#inOrder().find(({ left }) => left.has(range))
  }

  #inOrder(): Rider[] {
    return [...this.#riders].sort((a, b) => (a.run.order ?? 0) - (b.run.order ?? 0))
  }

  #leave(rider: Rider, failure?: { readonly reason: unknown }): void {
    if (!this.#riders.delete(rider)) return
    if (this.#riders.size === 0) this.#stop.abort()
    rider.settle(failure)
  }
}
