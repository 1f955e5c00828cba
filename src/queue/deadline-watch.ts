/**
 * Tells ahead, by measured times, that a job will miss its deadline.
 *
 * The estimate of a job is what is left of it and of all jobs that go before it, divided by the devices: those are what
 * work waits for. A circuit that was never proved counts as nothing, so that a warning is never made up. Each job is
 * warned of once.
 */
import type { Clock, Job } from './job.ts'
import type { Rates } from './progress.ts'

export interface DeadlineWatchOptions {
  readonly rates: Rates
  /** All in hand, in order of service. */
  readonly jobs: () => readonly Job[]
  readonly clock: Clock
  readonly devices: () => number
  /** The share of a job that is done. */
  readonly fraction: (job: Job) => number
  readonly onRisk: (job: Job, deadline: Date, estimate: Date) => void
}

/** Rates change slowly: looking at each job that has a deadline more often than this tells nothing new. */
const CHECK_INTERVAL_MS = 500

export class DeadlineWatch {
  readonly #options: DeadlineWatchOptions
  /** Jobs with a deadline that are not at risk so far. */
  readonly #watched = new Set<Job>()
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(options: DeadlineWatchOptions) {
    this.#options = options
  }

  add(job: Job): void {
    if (job.deadline === undefined) return
    this.#watched.add(job)
    this.#checkAll()
  }

  remove(job: Job): void {
    this.#watched.delete(job)
  }

  /** Looks again when a job got on. */
  check(job: Job): void {
    if (this.#watched.size === 0 || job.ended) return
    if (this.#options.clock.now() - this.#checkedAt < CHECK_INTERVAL_MS) return
    this.#checkAll()
  }

  #checkAll(): void {
    const { clock, jobs, devices, onRisk } = this.#options
    this.#checkedAt = clock.now()
    const now = Date.now()
    let workMs = 0
    for (const job of jobs()) {
      const ownMs = this.#remainingMs(job)
      workMs += ownMs ?? 0
      const { deadline } = job
      if (ownMs === undefined || deadline === undefined || !this.#watched.has(job)) continue
      const estimate = new Date(now + workMs / Math.max(1, devices()))
      if (estimate <= deadline) continue
      this.#watched.delete(job)
      onRisk(job, deadline, estimate)
    }
  }

  #remainingMs(job: Job): number | undefined {
    const times = this.#options.rates.get(job.circuitId)
    if (times === undefined) return undefined
    const { synthesisMs, gpuMs, verifyMs } = times
    // Only a job's first synthesis is waited for: the next witness is made while a device works.
    const ahead = job.state === 'queued' ? synthesisMs : 0
    return ahead + (1 - this.#options.fraction(job)) * job.partitions.length * (gpuMs + verifyMs)
  }
}
