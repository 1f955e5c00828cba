/**
 * What the callers of `prove()` hold of one job. Several calls with the same `requestId` share it; the job is cancelled
 * when the last of them has given up.
 */
import { isThenable, type JobProgress, type ProofResult } from '../events.ts'
import { allowManyListeners } from '../params/waiting.ts'
import type { Job } from './job.ts'

/** How a job ended. */
export type Outcome =
  | { readonly kind: 'completed'; readonly result: ProofResult }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'cancelled'; readonly reason: unknown }

/** What one caller wants of the wait. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: JobProgress) => void) | undefined
}

/** A job together with those who wait for it. */
export class Ticket {
  readonly job: Job
  /** Digest of what is asked for: two requests with the same id must agree in it. */
  readonly fingerprint: string
  /** True once the job was told of in a `queued` event: before that a refusal is the caller's alone to know. */
  announced = false
  /** Set while callers gave it up, the engine is closing, …: the job ends as cancelled and not as failed. */
  #cancelled = false
  #ended = false
  #listenerFailed = false
  #callers = 0
  readonly #listeners = new Set<(progress: JobProgress) => unknown>()
  readonly #outcome: Promise<ProofResult>
  #resolve!: (result: ProofResult) => void
  #reject!: (reason: unknown) => void

  constructor(job: Job, fingerprint: string) {
    this.job = job
    this.fingerprint = fingerprint
    this.#outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Every caller gets its own promise; this one may be rejected when all of them have gone.
    this.#outcome.catch(() => {})
  }

  get cancelled(): boolean {
    return this.#cancelled
  }

  get ended(): boolean {
    return this.#ended
  }

  /**
   * One caller's share in the job. Rejects with `signal.reason` once its signal aborts, whatever becomes of the job.
   */
  wait({ signal, onProgress }: WaitOptions): Promise<ProofResult> {
    this.#callers++
    // Of this call alone: others may have come with the same function.
    const listener = (progress: JobProgress): unknown => onProgress?.(progress)
    if (onProgress !== undefined) this.#listeners.add(listener)
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#callers--
        this.#listeners.delete(listener)
        // The last one waits with the job until its work has stopped; the others need not.
        if (this.#callers === 0) this.cancel(signal?.reason)
        else reject(signal?.reason)
      }
      if (signal !== undefined) allowManyListeners(signal)
      // Reading the request runs the caller's getters, which may abort.
      if (signal?.aborted) leave()
      else signal?.addEventListener('abort', leave, { once: true })
      this.#outcome
        .then((result) => resolve(copyOf(result)), reject)
        .finally(() => signal?.removeEventListener('abort', leave))
    })
  }

  /** Stops the job: it ends as cancelled, with this reason. Does nothing if it is being stopped already. */
  cancel(reason: unknown): void {
    if (this.job.signal.aborted) return
    this.#cancelled = true
    this.job.abort(reason)
  }

  /**
   * Tells the callers how far the job is. The first listener that throws or rejects is reported to `onError`: it would
   * fail each time.
   */
  report(progress: JobProgress, onError: (error: unknown) => void): void {
    const failed = (error: unknown): void => {
      if (!this.#listenerFailed) onError(error)
      this.#listenerFailed = true
    }
    for (const listener of this.#listeners) {
      try {
        const returned = listener(progress)
        if (isThenable(returned)) returned.then(undefined, failed)
      } catch (error) {
        failed(error)
      }
    }
  }

  /** The first outcome counts. @returns whether this was it */
  settle(outcome: Outcome): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.#listeners.clear()
    if (outcome.kind === 'completed') this.#resolve(outcome.result)
    else this.#reject(outcome.kind === 'failed' ? outcome.error : outcome.reason)
    return true
  }
}

/** Callers that share a job, and listeners of its event, must not see what one of them does to its result. */
export function copyOf(result: ProofResult): ProofResult {
  return { ...result, proof: result.proof.slice(), timings: { ...result.timings } }
}
