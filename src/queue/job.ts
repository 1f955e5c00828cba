/**
 * A job (one request) and its partitions, each with its state. A state changes only along the arrows written here;
 * anything else is a bug and throws.
 */
import { setMaxListeners } from 'node:events'
import type { CircuitId, ProofKind } from '../circuit/circuit-id.ts'
import type { ProofInvalidError, SynthesisError } from '../errors.ts'
import type { JobRef, PartitionState } from '../events.ts'
import type { Priority } from '../request/proof-request.ts'
import { type Placed, rankOf } from './rank.ts'

/** Where a job stands: `active` from its first reservation on; the last three are for good. */
export type JobState = 'queued' | 'active' | 'completed' | 'failed' | 'cancelled'

const JOB_TRANSITIONS: Readonly<Record<JobState, readonly JobState[]>> = {
  /** Waits: for its parameters, for its turn, for memory. */
  queued: ['active', 'failed', 'cancelled'],
  /** From the first partition's reservation on. */
  active: ['completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

const PARTITION_TRANSITIONS: Readonly<Record<PartitionState, readonly PartitionState[]>> = {
  pending: ['synthesizing', 'failed'],
  /** Back to `pending` when its worker died. */
  synthesizing: ['synth_done', 'pending', 'failed'],
  /** Back to `pending` when no GPU could do it: the CPU device needs other memory. */
  synth_done: ['gpu', 'pending', 'failed'],
  /** Back to `synth_done` when the device failed: the witness is kept. */
  gpu: ['done', 'synth_done', 'failed'],
  /** Back to `pending` when the finished proof failed verification. */
  done: ['pending'],
  failed: [],
}

/** What tells the time: another one in tests. */
export interface Clock {
  /** Monotonic, ms. */
  now(): number
}

/** The process' own. */
export const SYSTEM_CLOCK: Clock = { now: () => performance.now() }

export interface JobInput {
  readonly id: string
  readonly kind: ProofKind
  readonly circuitId: CircuitId
  readonly requestId?: string | undefined
  readonly priority: Priority
  readonly deadline?: Date | undefined
  /** Partitions. */
  readonly total: number
}

/** Told of every change, in order. */
export interface JobObserver {
  partitionMoved(partition: Partition, previous: PartitionState, elapsedMs: number): void
}

export class Partition {
  readonly job: Job
  readonly index: number
  #state: PartitionState = 'pending'
  #since: number
  /** Worker that has it, or had it last. */
  gpu: number | undefined
  /** Worker that failed it the last time: another is taken if there is one. */
  avoid: number | undefined
  /** A device died while this was on it: it is tried again on one that nobody else is on. */
  alone = false
  /** Set if a proof of it did not hold, or if a device found fault with an input that has none. */
  doubt: ProofInvalidError | undefined
  /**
   * A device found that the witness, which nobody had checked, does not satisfy the circuit: the input is to be checked
   * on the host.
   */
  suspicion: SynthesisError | undefined
  /** The host has checked the input, hashes included, and found no fault. */
  inputIsSound = false
  synthesisMs: number | undefined
  gpuMs: number | undefined
  /** Parts done of the present attempt, 0 to 1 each. */
  synthesisShare = 0
  gpuShare = 0

  constructor(job: Job, index: number) {
    this.job = job
    this.index = index
    this.#since = job.clock.now()
  }

  get state(): PartitionState {
    return this.#state
  }

  /** Does nothing once the job has ended: what still stops then is nobody's news any more. */
  move(state: PartitionState): void {
    if (this.job.ended) return
    const previous = this.#state
    if (!PARTITION_TRANSITIONS[previous].includes(state)) {
      throw new Error(`partition ${this.index} of job ${this.job.id} can't go from ${previous} to ${state}`)
    }
    const now = this.job.clock.now()
    const elapsedMs = now - this.#since
    this.#state = state
    this.#since = now
    if (state === 'synth_done' && previous === 'synthesizing') this.synthesisMs = elapsedMs
    if (state === 'done') this.gpuMs = elapsedMs
    this.job.observer.partitionMoved(this, previous, elapsedMs)
  }
}

/** One proof that was asked for, its partitions, and how far they are. */
export class Job implements Placed {
  readonly id: string
  readonly ref: JobRef
  readonly circuitId: CircuitId
  readonly priority: Priority
  readonly deadline: Date | undefined
  /** Counts jobs in order of their arrival in the queue. */
  arrival: number
  readonly partitions: readonly Partition[]
  readonly clock: Clock
  readonly observer: JobObserver
  readonly createdAt: number
  /** Set with the state `active`. */
  startedAt: number | undefined
  /** Set with a final state. */
  endedAt: number | undefined
  /** Set with the state `failed`. */
  error: unknown
  /** Aborts everything that is done for the job, siblings of a failed partition included. */
  readonly #abort = new AbortController()
  #state: JobState = 'queued'

  constructor(input: JobInput, arrival: number, observer: JobObserver, clock: Clock = SYSTEM_CLOCK) {
    this.id = input.id
    this.ref = {
      id: input.id,
      kind: input.kind,
      circuitId: input.circuitId,
      ...(input.requestId !== undefined && { requestId: input.requestId }),
    }
    this.circuitId = input.circuitId
    this.priority = input.priority
    this.deadline = input.deadline
    this.arrival = arrival
    this.clock = clock
    this.observer = observer
    this.createdAt = clock.now()
    // Each partition listens in every step: more than the ten that Node takes for a leak.
    setMaxListeners(0, this.#abort.signal)
    this.partitions = Array.from({ length: input.total }, (_, index) => new Partition(this, index))
  }

  get state(): JobState {
    return this.#state
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get deadlineMs(): number | undefined {
    return this.deadline?.getTime()
  }

  get waitedMs(): number {
    return this.clock.now() - this.createdAt
  }

  get ended(): boolean {
    return JOB_TRANSITIONS[this.#state].length === 0
  }

  /** Rises while the job waits. */
  get rank(): number {
    return rankOf(this)
  }

  move(state: JobState): void {
    if (!JOB_TRANSITIONS[this.#state].includes(state)) {
      throw new Error(`job ${this.id} can't go from ${this.#state} to ${state}`)
    }
    this.#state = state
    if (state === 'active') this.startedAt = this.clock.now()
    else this.endedAt = this.clock.now()
  }

  /** The first reason stays. */
  abort(reason: unknown): void {
    this.#abort.abort(reason)
  }
}
