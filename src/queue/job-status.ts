/** Rows of the status page: a job in hand, and jobs that ended a short time ago. */
import type { ProofKind } from '../circuit/circuit-id.ts'
import { ProverError, type ProverErrorCode } from '../errors.ts'
import type { JobRef, PartitionState } from '../events.ts'
import type { Priority } from '../request/proof-request.ts'
import type { Job, JobState } from './job.ts'

/** A job as the status shows it. */
export interface JobStatus {
  readonly job: JobRef
  readonly state: JobState
  readonly priority: Priority
  readonly deadline?: Date
  readonly fraction: number
  readonly errorCode?: ProverErrorCode
  /** Since `prove()` was called. */
  readonly startedMsAgo: number
  /** How many partitions the job has. */
  readonly total: number
  /** Empty while the job is queued: none has begun, and a long queue stays cheap to list. */
  readonly partitions: readonly {
    readonly index: number
    readonly state: PartitionState
    readonly synthesisMs?: number
    readonly gpuMs?: number
  }[]
}

/** How long a job that ended is still listed. */
const RETENTION_MS = 60_000

/** Rows kept of jobs that ended: a stream of short jobs must not fill the memory within the minute. */
const MOST_ENDED = 100

/** Counts and rows of jobs that ended. */
export class EndedJobs {
  readonly completed: Record<ProofKind, number> = zeroes()
  readonly failed: Record<ProofKind, number> = zeroes()
  #rows: { readonly endedAt: number; readonly createdAt: number; readonly row: JobStatus }[] = []

  add(job: Job, fraction: number): void {
    if (job.state === 'completed') this.completed[job.ref.kind]++
    if (job.state === 'failed') this.failed[job.ref.kind]++
    const now = job.clock.now()
    this.#rows.unshift({ endedAt: now, createdAt: job.createdAt, row: jobStatus(job, fraction) })
    this.#drop(now)
  }

  /** The latest first. */
  rows(now: number): JobStatus[] {
    this.#drop(now)
    return this.#rows.map(({ row, createdAt }) => ({ ...row, startedMsAgo: now - createdAt }))
  }

  #drop(now: number): void {
    this.#rows = this.#rows.filter(({ endedAt }) => now - endedAt < RETENTION_MS).slice(0, MOST_ENDED)
  }
}

const zeroes = (): Record<ProofKind, number> => ({
  'porep-c2': 0,
  'snap-update': 0,
  'window-post': 0,
  'winning-post': 0,
})

export function jobStatus(job: Job, fraction: number): JobStatus {
  const { ref, state, priority, deadline, error, partitions, clock, createdAt } = job
  // Ten thousand queued jobs are as many rows: no object is made only to be spread into them.
  const row: { -readonly [Key in keyof JobStatus]: JobStatus[Key] } = {
    job: ref,
    state,
    priority,
    fraction,
    startedMsAgo: clock.now() - createdAt,
    total: partitions.length,
    partitions: [],
  }
  if (deadline !== undefined) row.deadline = deadline
  if (ProverError.is(error)) row.errorCode = error.code
  if (state === 'queued') return row
  row.partitions = partitions.map(({ index, state, synthesisMs, gpuMs }) => ({
    index,
    state,
    ...(synthesisMs !== undefined && { synthesisMs }),
    ...(gpuMs !== undefined && { gpuMs }),
  }))
  return row
}
