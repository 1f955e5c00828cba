/**
 * A list that is always in order of service, cheap to add to and to take the first of, also with ten thousand entries.
 *
 * Places change by themselves only when waiting raises a rank ({@link AGING_STEP_MS}), which is known ahead: until then
 * the list is sorted once and for all, and an entry is found by halving.
 */
import { AGING_STEP_MS, compareJobs, nextRiseMs, type Placed } from './rank.ts'

/** Something that a job's place belongs to: the job itself, or one of its partitions. */
export interface Served {
  readonly job: Placed
  /** Order among entries of one job. */
  readonly index: number
}

export class ServiceOrder<T extends Served> {
  readonly #entries: T[] = []
  readonly #now: () => number
  /** When the first of the entries rises. */
  #staleAt = Number.POSITIVE_INFINITY

  /** @param now the clock that the entries' `waitedMs` runs by */
  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#entries.length
  }

  get first(): T | undefined {
    this.#refresh()
    return this.#entries[0]
  }

  /** In order; not to be kept. */
  get all(): readonly T[] {
    this.#refresh()
    return this.#entries
  }

  add(entry: T): void {
    this.#refresh()
    this.#entries.splice(this.#place(entry), 0, entry)
    this.#staleAt = Math.min(this.#staleAt, this.#now() + nextRiseMs(entry.job))
  }

  /** @returns whether it was in the list */
  delete(entry: T): boolean {
    const index = this.indexOf(entry)
    if (index < 0) return false
    this.#entries.splice(index, 1)
    return true
  }

  /** An entry's place from 0, or −1. */
  indexOf(entry: T): number {
    this.#refresh()
    const index = this.#place(entry)
    return this.#entries[index] === entry ? index : this.#entries.indexOf(entry)
  }

  /** How many entries go before this one. */
  #place(entry: T): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareServed(this.#entries[middle] as T, entry) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #refresh(): void {
    const now = this.#now()
    if (now < this.#staleAt) return
    this.#entries.sort(compareServed)
    const rises = this.#entries.map(({ job }) => nextRiseMs(job))
    this.#staleAt = now + rises.reduce((least, ms) => Math.min(least, ms), AGING_STEP_MS)
  }
}

export function compareServed(a: Served, b: Served): number {
  return compareJobs(a.job, b.job) || a.index - b.index
}
