/**
 * Calls to a child process, with the same promises as `worker-link.ts`: every call settles, errors keep their class, progress comes
 * back and an abort goes out. Arguments are copied, so they hold no shared memory.
 *
 * A device gets a process where its driver needs variables of its own (identical cards), and where a driver that crashes must not
 * end the process that asked for a proof.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fromErrorObject, WorkerExitedError } from '../errors.ts'
import type { Milestone } from '../groth16/proving-device.ts'
import { answer, type CallOptions, type Link, type Reply, STOP_LIMIT_MS, type WorkerFunctions } from './worker-link.ts'

type ToChild =
  | { readonly kind: 'call'; readonly id: number; readonly method: string; readonly args: unknown }
  | { readonly kind: 'abort'; readonly id: number }

type FromChild =
  | { readonly kind: 'reply'; readonly id: number; readonly reply: Reply }
  | { readonly kind: 'progress'; readonly id: number; readonly share: number }
  | { readonly kind: 'passed'; readonly id: number; readonly milestone: Milestone }
  | { readonly kind: 'note'; readonly id: number; readonly message: string }

interface PendingCall {
  readonly settle: (reply: Reply) => void
  readonly fail: (error: WorkerExitedError) => void
  readonly options: CallOptions
}

/** Of what a dying process printed, the end is told in its error. */
const LAST_WORDS = 300

/** The main side of one child process. */
export class ProcessLink<F extends WorkerFunctions> implements Link<F> {
  readonly name: string
  readonly exited: Promise<WorkerExitedError>
  readonly #child: ChildProcess
  readonly #calls = new Map<number, PendingCall>()
  #calledSoFar = 0
  #gone: WorkerExitedError | undefined

  /**
   * @param file built JavaScript that calls {@link serveProcess}
   * @param environment beside the variables of this process
   */
  constructor(file: URL, name: string, environment: Readonly<Record<string, string>> = {}) {
    this.name = name
    this.#child = fork(fileURLToPath(file), [], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, ...environment },
    })
    let lastWords = ''
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = (lastWords + text).slice(-LAST_WORDS)
    })
    this.#child.on('message', (message: FromChild) => {
      const call = this.#calls.get(message.id)
      if (message.kind === 'reply') call?.settle(message.reply)
      else if (message.kind === 'progress') call?.options.onProgress?.(message.share)
      else if (message.kind === 'passed') call?.options.onPassed?.(message.milestone)
      else call?.options.onNote?.(message.message)
    })
    this.exited = new Promise((resolve) => {
      const end = (how: string, cause?: unknown): void => {
        const why = lastWords.trim() === '' ? '' : `: ${lastWords.trim()}`
        this.#gone ??= new WorkerExitedError(`process ${name} ${how}${why}`, { cause })
        resolve(this.#gone)
        // Not by racing each call with `exited`: what a call returned would be held until the process is gone.
        for (const { fail } of this.#calls.values()) fail(this.#gone)
      }
      this.#child.once('error', (error) => {
        // Also told of a message that can't be sent, which does not end the process.
        if (this.#child.pid === undefined) end(`could not be started: ${error.message}`, error)
      })
      // Not `exit`: the pipes may still hold its last words.
      this.#child.once('close', (code, signal) =>
        end(signal === null ? `exited with code ${code}` : `was ended by ${signal}`),
      )
    })
  }

  async call<M extends keyof F & string>(
    method: M,
    args: Parameters<F[M]>[0],
    options: CallOptions = {},
  ): Promise<Awaited<ReturnType<F[M]>>> {
    const { signal } = options
    signal?.throwIfAborted()
    if (this.#gone !== undefined) throw this.#gone
    const id = this.#calledSoFar++
    let stopTimer: NodeJS.Timeout | undefined
    const abort = (): void => {
      this.#send({ kind: 'abort', id })
      stopTimer = setTimeout(() => void this.terminate(), STOP_LIMIT_MS)
    }
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const replied = new Promise<Reply>((settle, fail) => this.#calls.set(id, { settle, fail, options }))
      this.#send({ kind: 'call', id, method, args })
      const reply = await replied
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
      this.#calls.delete(id)
    }
  }

  async terminate(): Promise<void> {
    if (this.#gone === undefined) this.#child.kill('SIGKILL')
    await this.exited
  }

  #send(message: ToChild): void {
    // The process is going if its channel is closed: what waits for it rejects when it has gone.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}

/** The child's side: answers the calls of a {@link ProcessLink} until {@link endProcess}. */
export function serveProcess(functions: WorkerFunctions): void {
  const running = new Map<number, AbortController>()
  const send = (message: FromChild): void => {
    if (process.connected) process.send?.(message)
  }
  process.on('message', async (message: ToChild) => {
    const { id } = message
    if (message.kind === 'abort') return running.get(id)?.abort()
    const controller = new AbortController()
    running.set(id, controller)
    const reply = await answer(functions, message.method, message.args, controller.signal, {
      progress: (share) => send({ kind: 'progress', id, share }),
      passed: (milestone) => send({ kind: 'passed', id, milestone }),
      note: (text) => send({ kind: 'note', id, message: text }),
    })
    running.delete(id)
    send({ kind: 'reply', id, reply })
  })
  // A signal from a terminal goes to the whole group; when this process ends is for its parent to say, or for its parent's end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => endProcess())
}

/**
 * The child's side: ends at once, whatever is in flight. An orderly exit would tear the runtime down around native promises, which
 * the driver's binding takes for a bug and aborts on.
 */
export function endProcess(error?: Error): void {
  // To a file descriptor and not a stream: it must have left before the end.
  if (error !== undefined) writeSync(2, error.message)
  process.kill(process.pid, 'SIGKILL')
}
