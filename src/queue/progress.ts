/** How far a job is, and how long it will take, from what its circuit took before. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { JobProgress } from '../events.ts'
import type { Job } from './job.ts'

/** What one partition of a circuit takes, ms. */
export interface PhaseTimes {
  readonly synthesisMs: number
  readonly gpuMs: number
  /** Verification of a whole job, divided by its partitions. */
  readonly verifyMs: number
}

/**
 * Shares of the phases until a circuit was measured: those of a 32 GiB WinningPoSt on two cores (about 1 s, 12 s and
 * 0.1 s), the smallest real circuit, so that the device's share is rather too small than too large for the others.
 */
const ASSUMED: PhaseTimes = { synthesisMs: 8, gpuMs: 91, verifyMs: 1 }

/**
 * Weight of the newest measurement: rates follow a change of load within a few jobs, and one slow job does not upset
 * them.
 */
const NEWEST_WEIGHT = 0.3

/** Measured times by circuit. */
export class Rates {
  readonly #times = new Map<CircuitId, PhaseTimes>()

  add(circuitId: CircuitId, times: PhaseTimes): void {
    const known = this.#times.get(circuitId)
    const blend = (phase: keyof PhaseTimes): number =>
      known === undefined ? times[phase] : known[phase] + NEWEST_WEIGHT * (times[phase] - known[phase])
    this.#times.set(circuitId, {
      synthesisMs: blend('synthesisMs'),
      gpuMs: blend('gpuMs'),
      verifyMs: blend('verifyMs'),
    })
  }

  get(circuitId: CircuitId): PhaseTimes | undefined {
    return this.#times.get(circuitId)
  }
}

/** The progress of one job: a fraction that never falls, also when a partition is tried again. */
export class JobMeter {
  readonly #job: Job
  readonly #measured: PhaseTimes | undefined
  readonly #report: (progress: JobProgress) => void
  #fraction = 0
  #verifyShare = 0

  constructor(job: Job, rates: Rates, report: (progress: JobProgress) => void) {
    this.#job = job
    // Taken once: weights that change midway would make the fraction jump.
    this.#measured = rates.get(job.circuitId)
    this.#report = report
  }

  get fraction(): number {
    return this.#fraction
  }

  verified(share: number): void {
    this.#verifyShare = share
    this.update()
  }

  /** Reports if the fraction grew since the last time. */
  update(): void {
    const fraction = Math.min(1, this.#current())
    if (fraction <= this.#fraction) return
    this.#fraction = fraction
    const { partitions, ref } = this.#job
    const remainingMs = this.#remainingMs()
    this.#report({
      job: ref,
      fraction,
      done: partitions.filter(({ state }) => state === 'done').length,
      total: partitions.length,
      ...(remainingMs !== undefined && { remainingMs }),
    })
  }

  #current(): number {
    const { synthesisMs, gpuMs, verifyMs } = this.#measured ?? ASSUMED
    const { partitions } = this.#job
    const total = partitions.length * (synthesisMs + gpuMs + verifyMs)
    if (this.#verifyShare === 1) return 1
    let done = this.#verifyShare * verifyMs * partitions.length
    for (const { state, synthesisShare, gpuShare } of partitions) {
      done += state === 'done' ? synthesisMs + gpuMs : synthesisShare * synthesisMs + gpuShare * gpuMs
    }
    return done / total
  }

  #remainingMs(): number | undefined {
    if (this.#measured === undefined) return undefined
    const { synthesisMs, gpuMs, verifyMs } = this.#measured
    return (1 - this.#fraction) * this.#job.partitions.length * (synthesisMs + gpuMs + verifyMs)
  }
}
