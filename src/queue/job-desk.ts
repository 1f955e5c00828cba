/**
 * Every job in hand, from the moment it is accepted to its outcome: who waits for it, how far it is, and what is told
 * of it.
 *
 *     accept → announce (`queued`) → start (`active`) → settle (`completed` | `failed` | `cancelled`) → `drained`
 *
 * A job that is refused before it was announced is its caller's affair alone: no event, no row, no count.
 */
import { randomUUID } from 'node:crypto'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { asError, asProverError, QueueFullError, RequestConflictError } from '../errors.ts'
import type { GuardedEmitter } from '../events.ts'
import type { Logger } from '../logger.ts'
import type { ValidatedRequest } from '../request/validate.ts'
import { DeadlineWatch } from './deadline-watch.ts'
import { type Clock, Job } from './job.ts'
import { EndedJobs, type JobStatus, jobStatus } from './job-status.ts'
import { JobMeter, Rates } from './progress.ts'
import { ProofQueue } from './proof-queue.ts'
import { rankOf } from './rank.ts'
import { copyOf, type Outcome, Ticket } from './ticket.ts'

export interface JobDeskOptions {
  readonly clock: Clock
  readonly events: GuardedEmitter
  readonly logger: Logger
  readonly maxQueued: number
  /** Whether a job of this rank that came now would begin now. */
  readonly hasRoom: (circuitId: CircuitId, rank: number) => boolean
  /** Devices that share the work: what estimates divide by. */
  readonly devices: () => number
  /** A job ended: what it held, or kept others from, is free. */
  readonly onSettled: () => void
}

/** The jobs in hand. */
export class JobDesk {
  readonly rates: Rates = new Rates()
  readonly ended: EndedJobs = new EndedJobs()
  readonly #options: JobDeskOptions
  readonly #queue: ProofQueue
  readonly #tickets = new Map<Job, Ticket>()
  readonly #byRequestId = new Map<string, Ticket>()
  readonly #meters = new Map<Job, JobMeter>()
  readonly #deadlines: DeadlineWatch
  /** Accepted, not announced yet. */
  #arriving = 0
  #arrivals = 0
  /** A job was announced since the last `drained`. */
  #undrained = false

  constructor(options: JobDeskOptions) {
    this.#options = options
    this.#queue = new ProofQueue(() => options.clock.now())
    this.#deadlines = new DeadlineWatch({
      rates: this.rates,
      jobs: () => this.#queue.inOrder(),
      clock: options.clock,
      devices: options.devices,
      fraction: (job) => this.meter(job)?.fraction ?? 0,
      onRisk: (job, deadline, estimate) => options.events.emit('deadlineAtRisk', { job: job.ref, deadline, estimate }),
    })
  }

  get queued(): number {
    return this.#queue.queued
  }

  get active(): number {
    return this.#queue.active
  }

  meter(job: Job): JobMeter | undefined {
    return this.#meters.get(job)
  }

  /** Jobs in hand, in order of service. */
  rows(): JobStatus[] {
    return this.#queue.inOrder().map((job) => jobStatus(job, this.#meters.get(job)?.fraction ?? 0))
  }

  /**
   * The running job of the same `requestId`, if it asks for the same: if its fingerprint is the same.
   * @throws {RequestConflictError} it asks for something else
   */
  joined({ requestId }: ValidatedRequest, fingerprint: string): Ticket | undefined {
    const ticket = requestId === undefined ? undefined : this.#byRequestId.get(requestId)
    if (ticket === undefined || ticket.job.signal.aborted) return undefined
    if (ticket.fingerprint === fingerprint) return ticket
    throw new RequestConflictError(
      `requestId ${JSON.stringify(requestId)} is in use by a job that asks for something else`,
      { details: { field: 'requestId', received: requestId as string }, jobId: ticket.job.id },
    )
  }

  /**
   * Takes a job on. From here on it ends in exactly one of completed, failed and cancelled. Who finds `maxQueued` jobs
   * waiting is refused, unless it would not have to wait.
   * @throws {QueueFullError}
   */
  accept(request: ValidatedRequest, fingerprint = ''): Ticket {
    const { circuitId, kind, deadline, priority, requestId, partitions: total } = request
    const { maxQueued, events, clock } = this.#options
    const waiting = this.#queue.queued + this.#arriving
    if (waiting >= maxQueued && !this.#startsAtOnce(request)) {
      throw new QueueFullError(`${waiting} jobs wait already`, {
        details: { field: 'maxQueued', expected: `at most ${maxQueued} jobs waiting` },
      })
    }
    const job = new Job(
      { id: randomUUID(), kind, circuitId, priority, deadline, requestId, total },
      this.#arrivals++,
      {
        partitionMoved: ({ job: { ref }, index, state, gpu }, previous, elapsedMs) =>
          events.emit('partition', {
            job: ref,
            index,
            total,
            state,
            previous,
            elapsedMs,
            ...(gpu !== undefined && { gpu }),
          }),
      },
      clock,
    )
    const ticket = new Ticket(job, fingerprint)
    this.#arriving++
    this.#tickets.set(job, ticket)
    if (requestId !== undefined) this.#byRequestId.set(requestId, ticket)
    const meter = new JobMeter(job, this.rates, (progress) => {
      events.emit('progress', progress)
      ticket.report(progress, (cause) => this.#reportListener(cause))
      this.#deadlines.check(job)
    })
    this.#meters.set(job, meter)
    return ticket
  }

  #startsAtOnce({ circuitId, priority }: ValidatedRequest): boolean {
    const rank = rankOf({ priority, waitedMs: 0 })
    for (const { state, rank: other } of this.#tickets.keys()) if (state === 'queued' && other >= rank) return false
    return this.#options.hasRoom(circuitId, rank)
  }

  /**
   * The request is right: the job waits for its turn. Its place among equals follows from this moment, so that a job
   * whose checks take long holds nobody up.
   */
  announce(ticket: Ticket): void {
    const { job } = ticket
    job.arrival = this.#arrivals++
    ticket.announced = true
    this.#arriving--
    this.#undrained = true
    this.#queue.add(job)
    this.#options.events.emit('queued', { job: job.ref, position: this.#queue.position(job) })
    this.#deadlines.add(job)
  }

  /** A partition of the job got its memory: with the first the job is active. */
  started(job: Job): void {
    if (job.state !== 'queued') return
    job.move('active')
    this.#queue.activate(job)
    this.#options.events.emit('active', { job: job.ref })
  }

  /** The first outcome counts; nothing is told of a job after it. */
  settle(ticket: Ticket, outcome: Outcome): void {
    const { job, announced } = ticket
    if (ticket.ended) return
    if (outcome.kind === 'completed') this.#meters.get(job)?.verified(1)
    else if (announced) {
      for (const partition of job.partitions) {
        if (partition.state !== 'done' && partition.state !== 'failed') partition.move('failed')
      }
    }
    if (outcome.kind === 'failed') job.error = outcome.error
    job.move(outcome.kind)
    const fraction = this.#meters.get(job)?.fraction ?? 0
    this.#remove(ticket)
    ticket.settle(outcome)
    if (announced) {
      this.ended.add(job, fraction)
      this.#tellOutcome(job, outcome)
    }
    this.#options.onSettled()
    if (this.#queue.size === 0 && this.#undrained) {
      this.#undrained = false
      this.#options.events.emit('drained')
    }
  }

  /** Cancels the jobs that have not begun, or all. */
  cancel(which: 'queued' | 'all', reason: unknown): void {
    for (const ticket of [...this.#tickets.values()]) {
      if (which === 'all' || ticket.job.state === 'queued') ticket.cancel(reason)
    }
  }

  #remove(ticket: Ticket): void {
    const { job, announced } = ticket
    const { requestId } = job.ref
    if (!announced) this.#arriving--
    this.#queue.remove(job)
    this.#deadlines.remove(job)
    this.#tickets.delete(job)
    this.#meters.delete(job)
    if (requestId !== undefined && this.#byRequestId.get(requestId) === ticket) this.#byRequestId.delete(requestId)
  }

  #tellOutcome({ ref, id }: Job, outcome: Outcome): void {
    const { events, logger } = this.#options
    if (outcome.kind === 'completed') {
      logger.debug({ jobId: id, timings: outcome.result.timings }, 'proof done')
      events.emit('completed', { job: ref, result: copyOf(outcome.result) })
    } else if (outcome.kind === 'failed') {
      logger.warn({ jobId: id, err: outcome.error }, 'job failed')
      events.emit('failed', { job: ref, error: asProverError(outcome.error) })
    } else events.emit('cancelled', { job: ref, reason: outcome.reason })
  }

  #reportListener(thrown: unknown): void {
    const cause = asError(thrown)
    this.#options.events.emit('error', new Error(`onProgress failed: ${cause.message}`, { cause }))
  }
}
