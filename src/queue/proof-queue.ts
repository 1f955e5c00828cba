/** All jobs that are not settled, in order of service. */
import type { Job } from './job.ts'
import { compareJobs } from './rank.ts'

/**
 * The order is recomputed when it is asked for: ranks rise while jobs wait, so a place that was right when a job came may not be
 * right now. Jobs are few (hundreds at most), partitions that wait for their turn a few more.
 */
export class ProofQueue {
  readonly #jobs = new Set<Job>()

  add(job: Job): void {
    this.#jobs.add(job)
  }

  /** A job's place among those that wait, from 0. */
  position(job: Job): number {
    return this.inOrder()
      .filter(({ state }) => state === 'queued')
      .indexOf(job)
  }

  remove(job: Job): void {
    this.#jobs.delete(job)
  }

  inOrder(): Job[] {
    return [...this.#jobs].sort(compareJobs)
  }

  get queued(): number {
    return this.#count('queued')
  }

  get active(): number {
    return this.#count('active')
  }

  get size(): number {
    return this.#jobs.size
  }

  [Symbol.iterator](): IterableIterator<Job> {
    return this.#jobs.values()
  }

  #count(state: Job['state']): number {
    let count = 0
    for (const job of this.#jobs) if (job.state === state) count++
    return count
  }
}
