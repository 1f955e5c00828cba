/**
 * Calls to a worker that always settle, whatever the worker runs in: what threads (`worker-link.ts`) and processes
 * (`process-link.ts`) have in common, on both sides.
 *
 * - an error comes back as its own class with all fields;
 * - a call that is in flight when the worker dies rejects;
 * - progress comes back while a call runs, and an abort goes out, after which it settles once the work has stopped.
 */
import { type ErrorObject, fromErrorObject, toErrorObject, type WorkerExitedError } from '../errors.ts'
import type { Milestone, Run } from '../groth16/proving-device.ts'
import { allowManyListeners } from '../params/waiting.ts'

/**
 * Functions of a worker: one argument that survives structured clone, and what the work reports to and obeys. What is
 * returned is copied.
 */
export type WorkerFunctions = Readonly<Record<string, (args: never, run: Run) => unknown>>

/** Calls to a worker, whatever it runs in. */
export interface Link<F extends WorkerFunctions> {
  readonly name: string
  /** Resolves when the worker is gone, with what to tell those who waited for it. */
  readonly exited: Promise<WorkerExitedError>
  /**
   * Calls a function of the worker. After an abort it settles only when the worker has stopped the work, so that what
   * the work used may be given to others; callers who want to know sooner race it against their signal.
   * @throws what the function threw; `signal.reason`; {@link WorkerExitedError}
   */
  call<M extends keyof F & string>(
    method: M,
    args: Parameters<F[M]>[0],
    options?: CallOptions,
  ): Promise<Awaited<ReturnType<F[M]>>>
  /** Ends the worker at once; calls in flight reject. Resolves when it is gone. */
  terminate(): Promise<void>
}

/** What a call obeys, and whom it tells how far it is. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** The share (0 to 1) of the call that is done. */
  readonly onProgress?: ((share: number) => void) | undefined
  /** A milestone of a batch is passed. */
  readonly onPassed?: ((milestone: Milestone) => void) | undefined
  /** Something for the log that is no reason to fail. */
  readonly onNote?: ((message: string) => void) | undefined
}

/** What a call returns across the thread or process. */
export type Reply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: ErrorObject }

/** What a running call sends back before its reply. */
export type Told =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'passed'; readonly milestone: Milestone }
  | { readonly kind: 'note'; readonly message: string }

/** A call on its way, as a link makes it. */
export interface Passage {
  /** Sends the call. */
  send(): Promise<Reply>
  /** Tells the worker to stop the work. */
  abort(): void
  /** The call has settled: nothing more is heard of it. */
  close(): void
}

/**
 * How long a worker may take to stop after an abort. A unit is at most about 200 ms; a worker that is silent for so
 * much longer is stuck and is ended, since what it holds can't be given to others while it may still use it.
 */
export const STOP_LIMIT_MS = 10_000

/** Progress is sent at most this often: small circuits end a unit every few microseconds. */
const PROGRESS_INTERVAL_MS = 20

/** The calls of one worker that are in flight, and whether it is gone. */
export class Calls {
  /** Resolves when the worker is gone, with what to tell those who waited for it. */
  readonly exited: Promise<WorkerExitedError>
  readonly #end: () => void
  /**
   * Those in flight. A call must not wait for `exited` itself: what it returned would be held until the worker is gone.
   */
  readonly #failing = new Set<(error: WorkerExitedError) => void>()
  #gone: WorkerExitedError | undefined
  #exit!: (error: WorkerExitedError) => void

  /** @param end ends the worker, which does not stop what it was told to */
  constructor(end: () => void) {
    this.#end = end
    this.exited = new Promise((resolve) => {
      this.#exit = resolve
    })
  }

  /** Why the worker is gone, once it is. */
  get gone(): WorkerExitedError | undefined {
    return this.#gone
  }

  /** The worker is gone, or is waited for no longer: calls in flight reject, and new ones. The first error counts. */
  end(error: WorkerExitedError): void {
    this.#gone ??= error
    this.#exit(this.#gone)
    for (const fail of this.#failing) fail(this.#gone)
  }

  /**
   * Makes a call, as {@link Link.call}.
   * @param begin takes what the call needs; nothing is sent yet
   */
  async make(begin: () => Passage, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted()
    if (this.#gone !== undefined) throw this.#gone
    const passage = begin()
    let stopTimer: NodeJS.Timeout | undefined
    const abort = (): void => {
      passage.abort()
      stopTimer = setTimeout(this.#end, STOP_LIMIT_MS)
    }
    if (signal !== undefined) allowManyListeners(signal)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const reply = await this.#unlessGone(passage.send())
      signal?.throwIfAborted()
      if (!reply.ok) throw fromErrorObject(reply.error)
      return reply.value
    } catch (error) {
      // Whatever came after an abort came too late, an error of the aborted work and the end of its worker included.
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
      clearTimeout(stopTimer)
      passage.close()
    }
  }

  async #unlessGone<T>(answer: Promise<T>): Promise<T> {
    let fail: (error: WorkerExitedError) => void = () => {}
    const gone = new Promise<never>((_, reject) => {
      fail = reject
    })
    this.#failing.add(fail)
    try {
      return await Promise.race([answer, gone])
    } finally {
      this.#failing.delete(fail)
    }
  }
}

/** Passes on what a running call told of. */
export function hear({ onProgress, onPassed, onNote }: CallOptions, told: Told): void {
  if (told.kind === 'progress') onProgress?.(told.share)
  else if (told.kind === 'passed') onPassed?.(told.milestone)
  else onNote?.(told.message)
}

/** Worker side of one call: runs the function, tells of its progress now and then, and never throws. */
export async function answer(
  functions: WorkerFunctions,
  method: string,
  args: unknown,
  signal: AbortSignal,
  tell: (told: Told) => void,
): Promise<Reply> {
  let sentAt = 0
  const run: Run = {
    signal,
    unit(share) {
      const now = performance.now()
      if (now - sentAt < PROGRESS_INTERVAL_MS) return
      sentAt = now
      tell({ kind: 'progress', share })
    },
    passed: (milestone) => tell({ kind: 'passed', milestone }),
    note: (message) => tell({ kind: 'note', message }),
  }
  try {
    const known = functions[method] as ((args: unknown, run: Run) => unknown) | undefined
    if (known === undefined) throw new Error(`the worker has no function ${method}`)
    return { ok: true, value: await known(args, run) }
  } catch (error) {
    return { ok: false, error: toErrorObject(error) }
  }
}
