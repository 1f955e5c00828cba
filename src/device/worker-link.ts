/**
 * Calls to a worker thread, for every worker of this package. Large arguments lie in shared memory.
 *
 * Comlink carries the calls. It keeps name, message and stack of an error only, leaves calls pending for ever whose
 * worker died, and has no way back for progress: `link.ts` adds all that, with a port of its own for each call, on
 * which progress comes back and an abort goes out.
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
import { WorkerExitedError } from '../errors.ts'
import {
  answer,
  type CallOptions,
  Calls,
  hear,
  type Link,
  type Passage,
  type Reply,
  type Told,
  type WorkerFunctions,
} from './link.ts'

/** The one function that a worker exposes. */
type Dispatch = (method: string, args: unknown, port: MessagePort) => Promise<Reply>

/** On the port of a call: from the worker what it tells, to it an abort. */
type ToWorker = { readonly kind: 'abort' }

/**
 * How long a thread that is ended may take to go. One that waits in a system call (a read from a file server that is
 * gone) can't be ended before that returns, which may be never.
 */
const END_LIMIT_MS = 2_000

/**
 * How long a thread that was given up may hold the process open. A slow driver compiles for some tens of seconds; one
 * that hangs does so for ever.
 */
const LEFT_LIMIT_MS = 60_000

/** How a thread is ended. */
export interface WorkerLinkOptions {
  /**
   * Names the function that frees what the thread holds and ends it. For one that can't be ended from outside: it holds
   * native promises, and a runtime that goes while one is pending ends the whole process. {@link WorkerLink.terminate}
   * then asks it to end.
   */
  readonly endsBy?: string | undefined
  /** Mebibytes that V8 lets young objects of the thread fill before it looks for garbage. @default V8's, some tens */
  readonly youngHeapMb?: number | undefined
}

/** The main side of one worker thread. */
export class WorkerLink<F extends WorkerFunctions> implements Link<F> {
  readonly name: string
  readonly #worker: Worker
  readonly #remote: Dispatch
  readonly #endsBy: string | undefined
  readonly #threadEnded: Promise<void>
  /** Resolves when the thread has loaded its modules, or ended before that. */
  readonly #loaded: Promise<void>
  readonly #calls = new Calls(() => void this.terminate())
  #ending: Promise<void> | undefined

  /** @param file built JavaScript that calls {@link serveWorker} */
  constructor(file: URL, name: string, workerData: unknown, options: WorkerLinkOptions = {}) {
    this.name = name
    const { endsBy, youngHeapMb } = options
    this.#endsBy = endsBy
    const limits = youngHeapMb === undefined ? {} : { resourceLimits: { maxYoungGenerationSizeMb: youngHeapMb } }
    this.#worker = new Worker(file, { name, workerData, execArgv: [], ...limits })
    this.#remote = wrap(nodeEndpoint(this.#worker)) as unknown as Dispatch
    this.#threadEnded = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    const heard = new Promise<void>((resolve) => this.#worker.once('message', () => resolve()))
    this.#loaded = Promise.race([heard, this.#threadEnded])
    let cause: unknown
    this.#worker.on('error', (error) => {
      cause = error
    })
    this.#worker.on('messageerror', (error) => {
      cause = error
      void this.terminate()
    })
    this.#worker.once('exit', (code) => {
      const why = cause instanceof Error ? `: ${cause.message}` : ''
      this.#calls.end(new WorkerExitedError(`worker ${name} exited with code ${code}${why}`, { cause }))
    })
  }

  get exited(): Promise<WorkerExitedError> {
    return this.#calls.exited
  }

  async call<M extends keyof F & string>(
    method: M,
    args: Parameters<F[M]>[0],
    options: CallOptions = {},
  ): Promise<Awaited<ReturnType<F[M]>>> {
    const value = await this.#calls.make(() => this.#passage(method, args, options), options.signal)
    return value as Awaited<ReturnType<F[M]>>
  }

  #passage(method: string, args: unknown, options: CallOptions): Passage {
    const { port1: own, port2: theirs } = new MessageChannel()
    const listen = (told: Told): void => hear(options, told)
    // A port that is listened to has a cost, and most calls are short.
    if ((options.onProgress ?? options.onPassed ?? options.onNote) !== undefined) own.on('message', listen)
    return {
      send: async () => {
        const reply = await this.#remote(method, args, transfer(theirs as never, [theirs as never]))
        // Sent before the reply, but on a port of its own: it may not have been heard yet.
        for (let last = receiveMessageOnPort(own); last !== undefined; last = receiveMessageOnPort(own)) {
          listen(last.message)
        }
        return reply
      },
      abort: () => own.postMessage({ kind: 'abort' } satisfies ToWorker),
      close: () => own.close(),
    }
  }

  /**
   * Ends the thread at once, or once it has loaded its modules: Node 20 leaves open what it is reading. Calls in flight
   * reject. Resolves when it is gone, or can't be waited for.
   */
  async terminate(): Promise<void> {
    if (this.#endsBy !== undefined) {
      this.#ending ??= this.#endBy(this.#endsBy)
      return await this.#ending
    }
    if (this.#calls.gone === undefined) await within(END_LIMIT_MS, this.#loaded)
    if (this.#calls.gone === undefined && !(await within(END_LIMIT_MS, this.#worker.terminate()))) {
      this.#giveUpCalls('hangs in a system call and was given up')
      // Nor does the process wait for it.
      this.#worker.unref()
    }
    await this.exited
  }

  /**
   * Has the thread free what it holds. Once it has, nothing native is pending in it, and it goes by itself or can be
   * ended.
   */
  async #endBy(method: string): Promise<void> {
    this.#giveUpCalls('was given up')
    const { port1, port2 } = new MessageChannel()
    const freed = this.#remote(method, undefined, transfer(port2 as never, [port2 as never])).catch(() => {})
    const answered = await within(END_LIMIT_MS, Promise.race([freed, this.#threadEnded]))
    port1.close()
    // What it is in the middle of can't be ended: the process is to end after it.
    if (!answered) return void setTimeout(() => this.#worker.unref(), LEFT_LIMIT_MS).unref()
    if (!(await within(END_LIMIT_MS, this.#threadEnded))) await this.#worker.terminate()
  }

  #giveUpCalls(why: string): void {
    this.#calls.end(new WorkerExitedError(`worker ${this.name} ${why}`))
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
    port.on('message', (message: ToWorker) => {
      if (message.kind === 'abort') controller.abort()
    })
    const reply = await answer(functions, method, args, controller.signal, (told: Told) => port.postMessage(told))
    port.close()
    return reply
  }
  expose(dispatch, nodeEndpoint(mainPort()))
  mainPort().postMessage('loaded')
}

/**
 * Worker side: no more calls; the thread ends when nothing else keeps it alive, or at once of an error. Call it after
 * the last reply has left.
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
