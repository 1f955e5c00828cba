/** Deadlines and aborts: when a job stops, and how long those who wait for it are kept waiting then. */
import { asProverError, DeadlineExceededError } from '../errors.ts'
import type { Job } from './job.ts'
import type { Outcome, Ticket } from './ticket.ts'

/**
 * After an abort a call waits for its work to stop, so that memory and device are free when it rejects; a unit of work
 * takes up to 200 ms, and no caller is kept waiting longer than this. What still runs then is stopped in the
 * background.
 */
export const ABORT_GRACE_MS = 120

/**
 * Timers run by a clock that nobody sets, and that stands still while a machine sleeps; deadlines are of the one on the
 * wall.
 */
const CLOCK_CHECK_MS = 10_000

/** How a job ends that was stopped: by a partition's failure or its deadline, or by those who wanted it. */
export function stopped({ job, cancelled }: Ticket): Outcome {
  const { reason } = job.signal
  return cancelled ? { kind: 'cancelled', reason } : { kind: 'failed', error: asProverError(reason) }
}

/** Aborts the job when its deadline passes. @returns what takes the timer back */
export function armDeadline(job: Job): () => void {
  const { deadlineMs } = job
  if (deadlineMs === undefined) return () => {}
  let timer: NodeJS.Timeout | undefined
  const arm = (): void => {
    const leftMs = deadlineMs - Date.now()
    if (leftMs > 0) {
      timer = setTimeout(arm, Math.min(leftMs, CLOCK_CHECK_MS))
      return
    }
    const deadline = new Date(deadlineMs).toISOString()
    job.abort(
      new DeadlineExceededError(`the deadline ${deadline} has passed`, {
        details: { field: 'deadline', received: deadline },
        jobId: job.id,
      }),
    )
  }
  arm()
  return () => clearTimeout(timer)
}

/** Calls back if a signal aborts and the work has not stopped soon after. @returns what ends the watch */
export function afterGrace(signal: AbortSignal, late: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const aborted = (): void => {
    timer = setTimeout(late, ABORT_GRACE_MS)
  }
  if (signal.aborted) aborted()
  else signal.addEventListener('abort', aborted, { once: true })
  return () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', aborted)
  }
}

/** Waits for work that a signal stops, but not much longer than until the signal aborts. */
export function settledSoonAfterAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = afterGrace(signal, () => reject(signal.reason))
    work.then(resolve, reject).finally(ended)
  })
}
