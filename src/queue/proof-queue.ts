/** All jobs that are not settled, in order of service. */
import type { Job } from './job.ts'
import { compareJobs } from './rank.ts'
import { ServiceOrder } from './service-order.ts'

interface Waiting {
  readonly job: Job
  readonly index: 0
}

export class ProofQueue {
  readonly #waiting: ServiceOrder<Waiting>
  readonly #entries = new Map<Job, Waiting>()
  /** Their order hardly matters: they are few. */
  readonly #active = new Set<Job>()

  /** @param now the jobs' clock */
  constructor(now: () => number) {
    this.#waiting = new ServiceOrder(now)
  }

  add(job: Job): void {
    const entry: Waiting = { job, index: 0 }
    this.#entries.set(job, entry)
    this.#waiting.add(entry)
  }

  /** A job's first partition got its reservation. */
  activate(job: Job): void {
    this.#leave(job)
    this.#active.add(job)
  }

  remove(job: Job): void {
    this.#leave(job)
    this.#active.delete(job)
  }

  /** A job's place among those that wait, from 0. */
  position(job: Job): number {
    const entry = this.#entries.get(job)
    return entry === undefined ? -1 : this.#waiting.indexOf(entry)
  }

  inOrder(): Job[] {
    const waiting = this.#waiting.all.map(({ job }) => job)
    return this.#active.size === 0 ? waiting : [...this.#active, ...waiting].sort(compareJobs)
  }

  get queued(): number {
    return this.#waiting.size
  }

  get active(): number {
    return this.#active.size
  }

  get size(): number {
    return this.#waiting.size + this.#active.size
  }

  #leave(job: Job): void {
    const entry = this.#entries.get(job)
    if (entry === undefined) return
    this.#entries.delete(job)
    this.#waiting.delete(entry)
  }
}
