/** Which of several jobs goes first. */
import { PRIORITIES, type Priority } from '../request/proof-request.ts'

const HIGH = PRIORITIES.indexOf('high')

/**
 * A job rises by one priority each time it has waited this long, so that nothing waits for ever behind a steady stream
 * of more urgent work. Half an hour is the length of a proving deadline: work that is meant to be done within one is
 * not overtaken by what waited for less. It never rises to critical: a block's WinningPoSt has seconds.
 */
export const AGING_STEP_MS: number = 30 * 60_000

/** What a job's place follows from. */
export interface Placed {
  readonly priority: Priority
  /** Wall clock, ms since the epoch; absent: the job stays useful for ever. */
  readonly deadlineMs?: number | undefined
  /** Counts jobs in order of arrival. */
  readonly arrival: number
  /** How long it waits already. */
  readonly waitedMs: number
}

/** The number of a job's priority, raised by waiting: 0 (low) to 3 (critical). */
export function rankOf({ priority, waitedMs }: Pick<Placed, 'priority' | 'waitedMs'>): number {
  const rank = PRIORITIES.indexOf(priority)
  if (rank >= HIGH) return rank
  return Math.min(HIGH, rank + Math.floor(waitedMs / AGING_STEP_MS))
}

/** Until waiting raises this job's rank the next time. */
export function nextRiseMs({ priority, waitedMs }: Pick<Placed, 'priority' | 'waitedMs'>): number {
  if (rankOf({ priority, waitedMs }) >= HIGH) return Number.POSITIVE_INFINITY
  return AGING_STEP_MS - (waitedMs % AGING_STEP_MS)
}

/** Order of service: priority, then the earlier deadline, then arrival. Negative if `a` goes first. */
export function compareJobs(a: Placed, b: Placed): number {
  return rankOf(b) - rankOf(a) || deadline(a) - deadline(b) || a.arrival - b.arrival
}

/** The end of time that a `Date` can name stands for "none": the difference of two infinities would be no number. */
const deadline = ({ deadlineMs }: Placed): number => deadlineMs ?? 8.64e15
