/**
 * The threads of the CPU device: worker_threads over one shared WebAssembly memory, each with its own instances of the
 * kernels and a private scratch block.
 *
 * Tasks are handed out one by one: a thread gets its next task when it has answered the last, so threads of unequal
 * speed finish together, and cancelling takes no longer than one task. Of runs that overlap urgent ones go first, then
 * those of the smaller order, then those that came first; what one leaves idle another uses.
 */
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { ErrorObject } from '../errors.ts'
import { fromErrorObject, toErrorObject, WorkerExitedError } from '../errors.ts'
import type { Run } from '../groth16/proving-device.ts'
import { orAborted } from '../params/waiting.ts'
import { MemoryArena } from './arena.ts'
import type { KernelBackend } from './relaxed-simd.ts'
import { chooseBackend, kernelModuleName } from './relaxed-simd.ts'
import type { ThreadPool } from './thread-context.ts'
import { ARENA_BASE } from './thread-context.ts'
import { wasmFile, workerFile } from './wasm-file.ts'

/** 4 GiB in pages of 64 KiB: all that 32-bit addresses reach. */
export const MAXIMUM_PAGES = 65_536
const PAGE_BYTES = 65_536
const INITIAL_PAGES: number = ARENA_BASE / PAGE_BYTES + 16

/**
 * Private memory of a thread. The largest user is a unit of a multiexp in G2: records of a batch of 2,048 additions
 * (1.5 MiB), sums of 2^13 buckets and the room to combine them (2.8 MiB), and 2^14 intermediate sums (4 MiB).
 */
export const SCRATCH_BYTES: number = 9 * 2 ** 20

/** Longer than a thread's answer takes to be read and acted on. */
const URGENT_GAP_MS = 10

/** What a thread is started with. */
export interface ThreadStart {
  readonly memory: WebAssembly.Memory
  readonly kernels: WebAssembly.Module
  readonly circuit: WebAssembly.Module
  readonly scratch: number
  readonly scratchBytes: number
  /** URLs of modules whose `THREAD_TASKS` are added to the built-in ones. */
  readonly taskModules: readonly string[]
}

/** A task on its way to a thread. */
export interface TaskMessage {
  readonly task: string
  readonly args: unknown
}

/** A thread's answer: `ready` once after its start, then one a task. */
export type ThreadMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: ErrorObject }

export interface ComputePoolOptions {
  /** @default availableParallelism() */
  readonly threads?: number | undefined
  /** @default 'auto' */
  readonly backend?: 'auto' | KernelBackend | undefined
  /** @default SCRATCH_BYTES */
  readonly scratchBytes?: number | undefined
  readonly taskModules?: readonly URL[] | undefined
}

/** One call of {@link ComputePool.run}. */
interface PendingRun {
  readonly signal: AbortSignal
  readonly urgent: boolean
  readonly order: number
  readonly task: string
  readonly args: readonly unknown[]
  readonly results: unknown[]
  readonly unit: (share: number) => void
  readonly settle: (failure: { readonly reason: unknown } | undefined) => void
  next: number
  active: number
  done: number
  failure: { readonly reason: unknown } | undefined
}

interface Thread {
  readonly worker: Worker
  /** Its private block. */
  readonly scratch: number
  current: { readonly run: PendingRun; readonly index: number } | undefined
}

/**
 * `running`, until a thread dies (`failed`) or {@link ComputePool.close} is called (`closed`); neither is left again.
 */
type PoolState = 'running' | 'failed' | 'closed'

export class ComputePool implements ThreadPool {
  readonly arena: MemoryArena
  readonly backend: KernelBackend
  readonly #common: Omit<ThreadStart, 'memory' | 'scratch'>
  #threads: Thread[] = []
  /** Those of a renewal, until they take the place of the others. */
  #fresh: Thread[] = []
  /** Resolves when a renewal that was stopped has left nothing. */
  #stopped: Promise<void> = Promise.resolve()
  readonly #runs: PendingRun[] = []
  readonly #onAbort = (): void => {
    for (const run of [...this.#runs]) {
      if (!run.signal.aborted) continue
      run.failure ??= { reason: run.signal.reason }
      this.#settleIfIdle(run)
    }
  }
  /** When the last urgent run ended. */
  #urgentAt = Number.NEGATIVE_INFINITY
  #urgentTimer: NodeJS.Timeout | undefined
  #state: PoolState = 'running'
  #failure: Error | undefined
  #ended: Promise<void> | undefined

  private constructor(common: Omit<ThreadStart, 'memory' | 'scratch'>, backend: KernelBackend) {
    this.#common = common
    this.arena = new MemoryArena(newMemory(INITIAL_PAGES), MAXIMUM_PAGES)
    this.backend = backend
  }

  /**
   * Compiles the kernels once and starts the threads.
   * @throws {Error} if a module can't be read or compiled, or a thread fails to start
   */
  static async create(options: ComputePoolOptions = {}): Promise<ComputePool> {
    const backend = chooseBackend(options.backend ?? 'auto')
    const [kernels, circuit] = await Promise.all([compile(kernelModuleName(backend)), compile('circuit')])
    const scratchBytes = options.scratchBytes ?? SCRATCH_BYTES
    const taskModules = (options.taskModules ?? []).map((url) => url.href)
    const pool = new ComputePool({ kernels, circuit, scratchBytes, taskModules }, backend)
    const starts: Promise<void>[] = []
    try {
      for (let i = 0; i < (options.threads ?? availableParallelism()); i++) {
        const scratch = pool.arena.allocate(scratchBytes)
        starts.push(pool.#start(pool.#threads, pool.memory, scratch, i))
      }
      await Promise.all(starts)
    } catch (error) {
      await Promise.allSettled(starts)
      await pool.close()
      throw error
    }
    return pool
  }

  get memory(): WebAssembly.Memory {
    return this.arena.memory
  }

  get threads(): number {
    return this.#threads.length
  }

  run<A, R>(task: string, args: readonly A[], run: Run): Promise<R[]> {
    const { signal } = run
    return new Promise<R[]>((resolve, reject) => {
      if (this.#state !== 'running') return reject(this.#failure as Error)
      if (signal.aborted) return reject(signal.reason)
      if (args.length === 0) return resolve([])
      const results: R[] = new Array(args.length)
      this.#runs.push({
        signal,
        urgent: run.urgent === true,
        order: run.order ?? 0,
        task,
        args,
        results,
        unit: (share) => run.unit(share),
        settle: (failure) => (failure === undefined ? resolve(results) : reject(failure.reason)),
        next: 0,
        active: 0,
        done: 0,
        failure: undefined,
      })
      // One listener, added once a signal however many runs share it.
      signal.addEventListener('abort', this.#onAbort)
      this.#dispatch()
    })
  }

  /**
   * Moves to fresh memory, since WebAssembly's can't shrink: only what is allocated takes room then. Threads are
   * started for it while the present ones go on. To be called when nobody has a view of the memory, and stopped before
   * anybody takes one.
   * @throws {Error} a thread failed to start, the pool ended meanwhile, or something runs on it
   * @throws `signal.reason`; nothing was moved then
   */
  async renew(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await orAborted(this.#stopped, signal)
    if (this.#state !== 'running') throw this.#failure as Error
    if (this.#fresh.length > 0) throw new Error('the pool is being renewed already')
    const memory = newMemory(Math.max(INITIAL_PAGES, this.arena.leastPages))
    const fresh: Thread[] = []
    this.#fresh = fresh
    const starts = this.#threads.map(({ scratch }, i) => this.#start(fresh, memory, scratch, i))
    try {
      await orAborted(Promise.all(starts), signal)
      signal.throwIfAborted()
      const isRoomy = this.arena.leastPages * PAGE_BYTES <= memory.buffer.byteLength
      if (this.#state !== 'running' || this.#runs.length > 0 || !isRoomy) throw new Error('the pool is in use')
      this.#fresh = this.#threads
      this.#threads = fresh
      this.arena.moveTo(memory, new Set(fresh.map(({ scratch }) => scratch)))
    } finally {
      // Node 20 leaves files open if a thread is ended while it loads its modules.
      const ended = Promise.allSettled(starts)
        .then(() => Promise.all(this.#fresh.map(({ worker }) => worker.terminate())))
        .then(() => {
          this.#fresh = []
        })
      // What is to begin now does not wait for that.
      if (signal.aborted) this.#stopped = ended
      else await ended
    }
  }

  /** Ends all threads; runs that are not finished reject. Idempotent. */
  close(): Promise<void> {
    return this.#end('closed', new WorkerExitedError('The CPU device is closed'))
  }

  /** Resolves when the thread is ready. @param into where it belongs from its start on */
  async #start(into: Thread[], memory: WebAssembly.Memory, scratch: number, index: number): Promise<void> {
    const worker = new Worker(workerFile('cpu/compute-thread.js'), {
      workerData: { ...this.#common, memory, scratch } satisfies ThreadStart,
      name: `wgzk-compute-${index}`,
      execArgv: [],
    })
    const thread: Thread = { worker, scratch, current: undefined }
    into.push(thread)
    await new Promise<void>((resolve, reject) => {
      let cause: unknown
      worker.on('message', (message: ThreadMessage) => {
        if (message.kind === 'ready') resolve()
        else this.#answered(thread, message)
      })
      worker.on('messageerror', (error) => {
        cause = error
        void worker.terminate()
      })
      worker.on('error', (error) => {
        cause = error
      })
      worker.on('exit', (code) => {
        const task = thread.current === undefined ? 'idle' : `running ${thread.current.run.task}`
        const what = `Compute thread ${index} of the CPU device exited (code ${code}, ${task})`
        const error = new WorkerExitedError(what, { details: { device: 'the CPU device' }, cause })
        // Either may come first: the start fails, or, once started, everything that the pool runs.
        reject(error)
        if (this.#state === 'running' && this.#threads.includes(thread)) void this.#end('failed', error)
      })
    })
  }

  #answered(thread: Thread, message: Exclude<ThreadMessage, { kind: 'ready' }>): void {
    const current = thread.current
    if (current === undefined) return
    const { run, index } = current
    thread.current = undefined
    run.active--
    run.done++
    if (message.kind === 'failed') run.failure ??= { reason: fromErrorObject(message.error) }
    else {
      run.results[index] = message.value
      // The thread's next task first: reporting may take its time.
      this.#dispatch()
      try {
        if (run.failure === undefined) run.unit(run.done / run.args.length)
      } catch (error) {
        run.failure ??= { reason: error }
      }
    }
    this.#settleIfIdle(run)
    this.#dispatch()
  }

  /** Gives every idle thread the next task of the first run that has one left. */
  #dispatch(): void {
    if (this.#state !== 'running') return
    for (const thread of this.#threads) {
      while (thread.current === undefined) {
        const waiting = this.#runs.filter(({ failure, next, args }) => failure === undefined && next < args.length)
        const [first, ...rest] = this.#urgentIsUnderWay() ? waiting.filter(({ urgent }) => urgent) : waiting
        if (first === undefined) return
        const run = rest.reduce((best, other) => (goesBefore(other, best) ? other : best), first)
        const index = run.next++
        const message: TaskMessage = { task: run.task, args: run.args[index] }
        try {
          thread.worker.postMessage(message)
          thread.current = { run, index }
          run.active++
        } catch (error) {
          run.failure ??= { reason: error }
          this.#settleIfIdle(run)
        }
      }
    }
  }

  /**
   * Whether threads are kept free for what is urgent: while its last tasks run, and for a moment after, since its next
   * run needs their results. A task of another in each of these gaps would make it wait for a whole unit again and
   * again.
   */
  #urgentIsUnderWay(): boolean {
    if (this.#runs.some(({ urgent }) => urgent)) return true
    const restMs = this.#urgentAt + URGENT_GAP_MS - performance.now()
    if (restMs > 0) this.#urgentTimer ??= setTimeout(() => this.#afterUrgent(), restMs)
    return restMs > 0
  }

  #afterUrgent(): void {
    this.#urgentTimer = undefined
    this.#dispatch()
  }

  /** A run ends when nothing of it is on a thread and nothing more will be: its memory may be freed then. */
  #settleIfIdle(run: PendingRun): void {
    if (run.active > 0 || (run.failure === undefined && run.done < run.args.length)) return
    const position = this.#runs.indexOf(run)
    if (position < 0) return
    this.#runs.splice(position, 1)
    this.#settle(run, run.failure)
  }

  #settle(run: PendingRun, failure: PendingRun['failure']): void {
    if (run.urgent) this.#urgentAt = performance.now()
    if (!this.#runs.some(({ signal }) => signal === run.signal)) run.signal.removeEventListener('abort', this.#onAbort)
    run.settle(failure)
  }

  /** The first reason to end wins; runs reject when all threads are gone, so that none still writes to memory. */
  #end(state: 'failed' | 'closed', failure: Error): Promise<void> {
    if (this.#state === 'running') {
      this.#state = state
      this.#failure = failure
      clearTimeout(this.#urgentTimer)
    }
    const all = [...this.#threads, ...this.#fresh]
    this.#ended ??= Promise.all(all.map(({ worker }) => worker.terminate())).then(() => {
      for (const run of this.#runs.splice(0)) this.#settle(run, { reason: failure })
    })
    return this.#ended
  }
}

const newMemory = (initial: number): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial, maximum: MAXIMUM_PAGES, shared: true })

function goesBefore(a: PendingRun, b: PendingRun): boolean {
  return a.urgent === b.urgent ? a.order < b.order : a.urgent
}

async function compile(name: string): Promise<WebAssembly.Module> {
  const file = wasmFile(name)
  try {
    return await WebAssembly.compile(await readFile(file))
  } catch (error) {
    throw new Error(`The WebAssembly module ${name} can't be loaded: ${toErrorObject(error).message}`, { cause: error })
  }
}
