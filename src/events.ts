/**
 * What the engine tells while it works: results, progress and the event map.
 *
 * Events are sent through a private emitter. A listener is the embedder's code: if it throws or rejects, the job it was
 * told about must not fail, so every call is guarded and the failure goes to `error` listeners, and to the log where
 * there are none.
 */
import { type Channel, channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'eventemitter3'
import type { CircuitId, ProofKind } from './circuit/circuit-id.ts'
import { asError, InvalidOptionsError, type ProverError } from './errors.ts'
import type { Logger } from './logger.ts'

/** What a proof took, ms. */
export interface ProofTimings {
  /** From `prove()` to the first reservation, checks of the request included. */
  readonly queueMs: number
  /** Opening and checking the parameters, as far as this job waited for it. */
  readonly srsLoadMs: number
  /** Making witnesses, summed over the partitions. */
  readonly synthesisMs: number
  /** On a device, summed over the partitions. */
  readonly gpuMs: number
  /** Of all partitions, once they are proved; what needs no proof was made while devices worked. */
  readonly verifyMs: number
  /** From `prove()` to the result. */
  readonly totalMs: number
}

/** A finished proof. */
export interface ProofResult<K extends ProofKind = ProofKind> {
  readonly jobId: string
  readonly kind: K
  readonly circuitId: CircuitId
  /** 192 bytes per partition, in partition order: what the chain message carries. */
  readonly proof: Uint8Array
  readonly partitions: number
  /** Every result is verified before it is returned. */
  readonly verified: true
  /** True if it was made with development parameters: worthless on a real network. */
  readonly development: boolean
  readonly timings: ProofTimings
}

/** Names a job in events and in the status. */
export interface JobRef {
  readonly id: string
  readonly kind: ProofKind
  readonly circuitId: CircuitId
  readonly requestId?: string | undefined
}

/** Same words as cuzk's status page, so one dashboard reads both. */
export type PartitionState = 'pending' | 'synthesizing' | 'synth_done' | 'gpu' | 'done' | 'failed'

/** How far a job is. */
export interface JobProgress {
  readonly job: JobRef
  /** 0 to 1, never falling, also inside a phase. */
  readonly fraction: number
  /** Partitions done, of `total`. */
  readonly done: number
  readonly total: number
  /** Estimate from measured rates; absent until there is one. */
  readonly remainingMs?: number
}

/** One partition moved from `previous` to `state`; `gpu` is the device that has it, or had it last. */
export interface PartitionEvent {
  readonly job: JobRef
  readonly index: number
  readonly total: number
  readonly state: PartitionState
  readonly previous: PartitionState
  /** Ms spent in `previous`. */
  readonly elapsedMs: number
  readonly gpu?: number
}

/** What is known when a proof that did not hold was made anew. */
export interface Diagnosis {
  /** The device that made the first proof. */
  readonly gpu: number
  /** Whether the parameters are what they should be: a proof made of them holds, or their digest was computed anew. */
  readonly parameters: 'sound' | 'damaged' | 'unreadable'
  /** The proof that was made anew. */
  readonly again: 'holds' | 'wrong'
}

/** What can hang. */
export type StallPhase = 'parameters' | 'synthesis' | 'gpu' | 'verification'

/** What an engine tells, with the payload of each event. */
export interface EngineEvents {
  /** A job passed validation and waits in the queue. */
  queued: (event: { readonly job: JobRef; readonly position: number }) => void
  /** A job's first partition got its reservation. */
  active: (event: { readonly job: JobRef }) => void
  /** One partition moved to another state. */
  partition: (event: PartitionEvent) => void
  /** A job's share of finished work grew. */
  progress: (event: JobProgress) => void
  completed: (event: { readonly job: JobRef; readonly result: ProofResult }) => void
  failed: (event: { readonly job: JobRef; readonly error: ProverError }) => void
  cancelled: (event: { readonly job: JobRef; readonly reason: unknown }) => void
  /** A circuit's parameters are being loaded, are there, or are there no more: a load that fails is `evicted` too. */
  srs: (event: {
    readonly circuitId: CircuitId
    readonly state: 'loading' | 'loaded' | 'evicted'
    readonly bytes: number
  }) => void
  /** A reservation had to wait, or stopped waiting. */
  memory: (event: {
    readonly state: 'waiting' | 'granted'
    readonly job: JobRef
    readonly requestedBytes: number
    readonly availableBytes: number
  }) => void
  /** A partition is tried again, and why. */
  retry: (event: {
    readonly job: JobRef
    readonly index: number
    readonly attempt: number
    readonly error: ProverError
  }) => void
  /** A partition meant for a GPU runs on the CPU device, and why. */
  fallback: (event: { readonly job: JobRef; readonly index: number; readonly error: ProverError }) => void
  /** A device's result failed verification, or a device found fault with a sound input: no proof was returned. */
  verifyFailed: (event: { readonly job: JobRef; readonly index: number; readonly gpu: number }) => void
  /**
   * A proof that did not hold was made anew: what that says of the cause. The device (`gpu`) that made the first one,
   * or its memory, is suspect where the parameters are sound.
   */
  diagnosed: (event: { readonly job: JobRef; readonly index: number } & Diagnosis) => void
  /** What works on this partition made no progress within the stall time, and is ended. */
  stalled: (event: {
    readonly job: JobRef
    readonly index: number
    /** What it is that hangs: reading the parameters, a synthesis or verification worker, or a device. */
    readonly phase: StallPhase
    /** The device, in phase `gpu`. */
    readonly gpu?: number
    /** What is read, in phase `parameters`. */
    readonly file?: string
    readonly silentMs: number
  }) => void
  /** By measured rates the job will miss its deadline. */
  deadlineAtRisk: (event: { readonly job: JobRef; readonly deadline: Date; readonly estimate: Date }) => void
  /** A device's worker became ready, was lost, was taken out of service for good or for a while, or was closed. */
  gpu: (event: {
    readonly ordinal: number
    readonly state: 'ready' | 'lost' | 'excluded' | 'quarantined' | 'closed'
    readonly reason?: string
  }) => void
  /** The queue is empty and nothing runs. */
  drained: () => void
  /** A failure that belongs to no job: a listener or `onProgress` that failed, what `close()` could not free. */
  error: (error: Error) => void
}

/** Names of events. */
export type EventName = keyof EngineEvents

/** What each event is about, a job or the engine: its diagnostics channel is `wgzk:job:NAME` or `wgzk:engine:NAME`. */
const SUBJECTS: Readonly<Record<EventName, 'job' | 'engine'>> = {
  queued: 'job',
  active: 'job',
  partition: 'job',
  progress: 'job',
  completed: 'job',
  failed: 'job',
  cancelled: 'job',
  srs: 'engine',
  memory: 'job',
  retry: 'job',
  fallback: 'job',
  verifyFailed: 'job',
  diagnosed: 'job',
  stalled: 'job',
  deadlineAtRisk: 'job',
  gpu: 'engine',
  drained: 'engine',
  error: 'engine',
}

/** What `node:diagnostics_channel` carries for each event of each engine in the process. */
export interface EventMessage<E extends EventName = EventName> {
  /** The engine: tells several in one process apart. */
  readonly engine: object
  readonly event: EventPayload<E>[0]
}

/** The name of an event's diagnostics channel. */
export function channelName(event: EventName): string {
  return `wgzk:${SUBJECTS[event]}:${event}`
}

/** What an event's listener is called with: one payload, or nothing. */
export type EventPayload<E extends EventName> = Parameters<EngineEvents[E]>

type AnyListener = (payload?: unknown) => unknown

/**
 * The engine's private emitter. Listeners run in order of registration, each guarded; then subscribers of the event's
 * diagnostics channel: what one throws does not come here, Node makes an uncaught exception of it.
 */
export class GuardedEmitter {
  readonly #listeners = new EventEmitter<EventName>()
  readonly #logger: Logger
  readonly #engine: object
  readonly #channels = new Map<EventName, Channel>()

  /** @param engine what messages on diagnostics channels name as their source */
  constructor(logger: Logger, engine: object = {}) {
    this.#logger = logger
    this.#engine = engine
  }

  on<E extends EventName>(event: E, listener: EngineEvents[E]): void {
    requireListener(event, listener)
    this.#listeners.on(event, listener as AnyListener)
  }

  once<E extends EventName>(event: E, listener: EngineEvents[E]): void {
    requireListener(event, listener)
    // Not the emitter's own `once`: `emit` below calls listeners itself and has to take them off before the call.
    const single = (payload: unknown): unknown => {
      this.off(event, listener)
      return (listener as AnyListener)(payload)
    }
    single.listener = listener
    this.#listeners.on(event, single)
  }

  off<E extends EventName>(event: E, listener: EngineEvents[E]): void {
    for (const candidate of this.#listeners.listeners(event) as (AnyListener & { listener?: unknown })[]) {
      if (candidate === listener || candidate.listener === listener) {
        this.#listeners.off(event, candidate)
        return
      }
    }
  }

  /** Calls every listener. Never throws; a listener that fails is reported as an `error` event. */
  emit<E extends EventName>(event: E, ...payload: EventPayload<E>): void {
    const listeners = this.#listeners.listeners(event) as AnyListener[]
    if (event === 'error' && listeners.length === 0) this.#logger.error({ err: payload[0] }, 'engine error')
    for (const listener of listeners) {
      try {
        const returned = listener(payload[0])
        if (isThenable(returned)) returned.then(undefined, (error: unknown) => this.#listenerFailed(event, error))
      } catch (error) {
        this.#listenerFailed(event, error)
      }
    }
    const told = this.#channel(event)
    if (told.hasSubscribers) {
      told.publish({ engine: this.#engine, event: payload[0] } satisfies EventMessage)
    }
  }

  /** Looked up once: the registry of channels costs more than the check for subscribers. */
  #channel(event: EventName): Channel {
    let found = this.#channels.get(event)
    if (found === undefined) {
      found = channel(channelName(event))
      this.#channels.set(event, found)
    }
    return found
  }

  #listenerFailed(event: EventName, thrown: unknown): void {
    const cause = asError(thrown)
    // A failing `error` listener is only logged: telling it about itself would not end.
    if (event === 'error') this.#logger.error({ err: cause }, 'a listener of "error" failed')
    else this.emit('error', new Error(`a listener of "${event}" failed: ${cause.message}`, { cause }))
  }
}

/** @throws {InvalidOptionsError} where it is added, not when the event comes, or never does */
function requireListener(event: unknown, listener: unknown): void {
  if (typeof event !== 'string' || !Object.hasOwn(SUBJECTS, event)) {
    const expected = Object.keys(SUBJECTS).join(', ')
    throw new InvalidOptionsError(`there is no event ${String(event)}: expected one of ${expected}`, {
      details: { field: 'event', expected, received: String(event) },
    })
  }
  if (typeof listener === 'function') return
  throw new InvalidOptionsError('a listener must be a function', {
    details: { field: 'listener', expected: 'a function', received: typeof listener },
  })
}

/** Whether a value is a promise, of whatever make. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
