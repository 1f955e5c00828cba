/**
 * Calls to a worker thread that always settle, for every worker of this package.
 *
 * Comlink carries the calls. Three things it does not do are added here, on both sides of the thread:
 * - an error comes back as its own class with all fields (comlink keeps name, message and stack only);
 * - a call that is in flight when the worker dies rejects (comlink leaves it pending for ever);
 * - each call has a port of its own, on which progress comes back and an abort goes out.
 */
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  type Transferable,
  Worker,
} from 'node:worker_threads'
import { type Endpoint, expose, transfer, wrap } from 'comlink'
import { type ErrorObject, fromErrorObject, toErrorObject, WorkerExitedError } from '../errors.ts'
import type { Milestone, Run } from '../groth16/proving-device.ts'

/** What a call returns across the thread or process. */
export type Reply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: ErrorObject }

/** The one function that a worker exposes. */
type Dispatch = (method: string, args: unknown, port: MessagePort) => Promise<Reply>

type PortMessage =
  | { readonly kind: 'abort' }
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'passed'; readonly milestone: Milestone }
  | { readonly kind: 'note'; readonly message: string }

/**
 * Functions of a worker: one argument that survives structured clone, and what the work reports to and obeys. Large values lie in
 * shared memory; what is returned is copied.
 */
export type WorkerFunctions = Readonly<Record<string, (args: never, run: Run) => unknown>>

/** Progress is sent at most this often: small circuits end a unit every few microseconds. */
const PROGRESS_INTERVAL_MS = 20

/**
 * How long a worker may take to stop after an abort. A unit is at most about 200 ms; a worker that is silent for so much
 * longer is stuck and is ended, since what it holds can't be given to others while it may still use it.
 */
export const STOP_LIMIT_MS = 10_000

/**
 * How long a thread that is ended may take to go. One that waits in a system call (a read from a file server that is gone) can't be
 * ended before that returns, which may be never.
 */
const END_LIMIT_MS = 2_000

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** The share (0 to 1) of the call that is done. */
  readonly onProgress?: ((share: number) => void) | undefined
  /** A milestone of a batch is passed. */
  readonly onPassed?: ((milestone: Milestone) => void) | undefined
  /** Something for the log that is no reason to fail. */
  readonly onNote?: ((message: string) => void) | undefined
}

/** What a running call sends back before its reply. */
export interface Tellings {
  progress(share: number): void
  passed(milestone: Milestone): void
  note(message: string): void
}

/** Calls to a worker, whatever it runs in. */
export interface Link<F extends WorkerFunctions> {
  readonly name: string
  /** Resolves when the worker is gone, with what to tell those who waited for it. */
  readonly exited: Promise<WorkerExitedError>
  /**
   * Calls a function of the worker. After an abort it settles only when the worker has stopped the work.
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

export interface WorkerLinkOptions {
  /**
   * Names the function that frees what the thread holds and ends it. For one that can't be ended from outside: it holds native promises, and
   * a runtime that goes while one is pending ends the whole process. {@link WorkerLink.terminate} then asks it to end.
   */
  readonly endsBy?: string | undefined
}

/** The main side of one worker thread. */
export class WorkerLink<F extends WorkerFunctions> implements Link<F> {
  readonly name: string
  /** Resolves when the thread is gone, with what to tell those who waited for it. */
  readonly exited: Promise<WorkerExitedError>
  readonly #worker: Worker
  readonly #remote: Dispatch
  readonly #endsBy: string | undefined
  readonly #threadEnded: Promise<void>
  /** Ends the calls in flight. A call must not wait for `exited` itself: what it returned would be held until the worker is gone. */
  readonly #pending = new Set<(error: WorkerExitedError) => void>()
  #gone: WorkerExitedError | undefined
  #ending: Promise<void> | undefined
  #giveUp!: (error: WorkerExitedError) => void

  /** @param file built JavaScript that calls {@link serveWorker} */
  constructor(file: URL, name: string, workerData: unknown, options: WorkerLinkOptions = {}) {
    this.name = name
    this.#endsBy = options.endsBy
    this.#worker = new Worker(file, { name, workerData, execArgv: [] })
    this.#remote = wrap(nodeEndpoint(this.#worker)) as unknown as Dispatch
    this.#threadEnded = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    let cause: unknown
    this.#worker.on('error', (error) => {
      cause = error
    })
    this.#worker.on('messageerror', (error) => {
      cause = error
      void this.terminate()
    })
    this.exited = new Promise((resolve) => {
      this.#giveUp = resolve
      this.#worker.once('exit', (code) => {
        const why = cause instanceof Error ? `: ${cause.message}` : ''
        this.#gone ??= new WorkerExitedError(`worker ${name} exited with code ${code}${why}`, { cause })
        resolve(this.#gone)
        for (const fail of this.#pending) fail(this.#gone)
      })
    })
  }

  /**
   * Calls a function of the worker. After an abort it settles only when the worker has stopped the work, so that what the work
   * used may be given to others; callers who want to know sooner race it against their signal.
   * @throws what the function threw; `signal.reason`; {@link WorkerExitedError}
   */
  async call<M extends keyof F & string>(
    method: M,
    args: Parameters<F[M]>[0],
    options: CallOptions = {},
  ): Promise<Awaited<ReturnType<F[M]>>> {
    const { signal, onProgress, onPassed, onNote } = options
    signal?.throwIfAborted()
    if (this.#gone !== undefined) throw this.#gone
    const { port1: own, port2: theirs } = new MessageChannel()
    let stopTimer: NodeJS.Timeout | undefined
    const abort = (): void => {
      own.postMessage({ kind: 'abort' } satisfies PortMessage)
      stopTimer = setTimeout(() => void this.terminate(), STOP_LIMIT_MS)
    }
    const hear = (message: PortMessage): void => {
      if (message.kind === 'progress') onProgress?.(message.share)
      if (message.kind === 'passed') onPassed?.(message.milestone)
      if (message.kind === 'note') onNote?.(message.message)
    }
    if ((onProgress ?? onPassed ?? onNote) !== undefined) own.on('message', hear)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const reply = await this.#unlessGone(this.#remote(method, args, transfer(theirs as never, [theirs as never])))
      // Sent before the reply, but on a port of its own: it may not have been heard yet.
      for (let last = receiveMessageOnPort(own); last !== undefined; last = receiveMessageOnPort(own))
        hear(last.message)
      signal?.throwIfAborted()
      if (!reply.ok) throw fromErrorObject(reply.error)
      return reply.value as Awaited<ReturnType<F[M]>>
    } catch (error) {
      // Whatever came after an abort came too late, an error of the aborted work and the end of its worker included.
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
      clearTimeout(stopTimer)
      own.close()
    }
  }

  async #unlessGone<T>(answer: Promise<T>): Promise<T> {
    let fail: (error: WorkerExitedError) => void = () => {}
    const gone = new Promise<never>((_, reject) => {
      fail = reject
    })
    this.#pending.add(fail)
    try {
      return await Promise.race([answer, gone])
    } finally {
      this.#pending.delete(fail)
    }
  }

  /** Ends the thread at once; calls in flight reject. Resolves when it is gone, or can't be waited for. */
  async terminate(): Promise<void> {
    if (this.#endsBy !== undefined) {
      this.#ending ??= this.#endBy(this.#endsBy)
      return await this.#ending
    }
    if (this.#gone === undefined && !(await within(END_LIMIT_MS, this.#worker.terminate()))) {
      this.#giveUpCalls('hangs in a system call and was given up')
      // Nor does the process wait for it.
      this.#worker.unref()
    }
    await this.exited
  }

  /** Has the thread free what it holds. Once it has, nothing native is pending in it, and it goes by itself or can be ended. */
  async #endBy(method: string): Promise<void> {
    this.#giveUpCalls('was given up')
    const { port1, port2 } = new MessageChannel()
    const freed = this.#remote(method, undefined, transfer(port2 as never, [port2 as never])).catch(() => {})
    const answered = await within(END_LIMIT_MS, Promise.race([freed, this.#threadEnded]))
    port1.close()
    if (!answered) return void this.#worker.unref()
    if (!(await within(END_LIMIT_MS, this.#threadEnded))) await this.#worker.terminate()
  }

  #giveUpCalls(why: string): void {
    this.#gone ??= new WorkerExitedError(`worker ${this.name} ${why}`)
    this.#giveUp(this.#gone)
    for (const fail of this.#pending) fail(this.#gone)
  }
}

/** @returns whether a promise settled within a time */
async function within(limitMs: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs)
  })
  const settled = promise.then(
    () => true,
    () => true,
  )
  const inTime = await Promise.race([settled, late])
  clearTimeout(timer)
  return inTime
}

/** The worker side: answers the calls of a {@link WorkerLink} until {@link endWorker}. */
export function serveWorker(functions: WorkerFunctions): void {
  const dispatch: Dispatch = async (method, args, port) => {
    const controller = new AbortController()
    port.on('message', (message: PortMessage) => {
      if (message.kind === 'abort') controller.abort()
    })
    const send = (message: PortMessage): void => port.postMessage(message)
    const reply = await answer(functions, method, args, controller.signal, {
      progress: (share) => send({ kind: 'progress', share }),
      passed: (milestone) => send({ kind: 'passed', milestone }),
      note: (message) => send({ kind: 'note', message }),
    })
    port.close()
    return reply
  }
  expose(dispatch, nodeEndpoint(mainPort()))
}

/** Worker side of one call: runs the function, tells of its progress now and then, and never throws. */
export async function answer(
  functions: WorkerFunctions,
  method: string,
  args: unknown,
  signal: AbortSignal,
  tell: Tellings,
): Promise<Reply> {
  let sentAt = 0
  const run: Run = {
    signal,
    unit(share) {
      const now = performance.now()
      if (now - sentAt < PROGRESS_INTERVAL_MS) return
      sentAt = now
      tell.progress(share)
    },
    passed: (milestone) => tell.passed(milestone),
    note: (message) => tell.note(message),
  }
  try {
    const known = functions[method] as ((args: unknown, run: Run) => unknown) | undefined
    if (known === undefined) throw new Error(`the worker has no function ${method}`)
    return { ok: true, value: await known(args, run) }
  } catch (error) {
    return { ok: false, error: toErrorObject(error) }
  }
}

/**
 * Worker side: no more calls; the thread ends when nothing else keeps it alive, or at once of an error. Call it after the last reply
 * has left.
 */
export function endWorker(error?: Error): void {
  mainPort().close()
  if (error !== undefined) throw error
}

function mainPort(): MessagePort {
  if (parentPort === null) throw new Error('this module runs in a worker thread only')
  return parentPort
}

/** Node's ports emit events, comlink wants event targets. (Its own adapter has no types under NodeNext.) */
function nodeEndpoint(port: Worker | MessagePort): Endpoint {
  type Listener = (event: { data: unknown }) => void
  const wrapped = new Map<unknown, (data: unknown) => void>()
  const endpoint = {
    postMessage: (message: unknown, list?: Transferable[]) => port.postMessage(message, list),
    addEventListener(_type: string, listener: Listener) {
      const own = (data: unknown): void => listener({ data })
      wrapped.set(listener, own)
      port.on('message', own)
    },
    removeEventListener(_type: string, listener: Listener) {
      const own = wrapped.get(listener)
      if (own === undefined) return
      wrapped.delete(listener)
      port.off('message', own)
    },
  }
  return endpoint as unknown as Endpoint
}
