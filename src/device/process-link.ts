/**
 * Calls to a child process, which keep what `link.ts` promises. Arguments are copied: byte arrays, which may lie in
 * shared memory, through a pipe of their own (`byte-pipe.ts`), the rest in a message.
 *
 * A device gets a process where its driver needs variables of its own (identical cards), and where a driver that
 * crashes must not end the process that asked for a proof.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { WorkerExitedError } from '../errors.ts'
import { BytePipe, PIPE_FD, type PipedArgs, PipedBytes } from './byte-pipe.ts'
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

type ToChild =
  | ({ readonly kind: 'call'; readonly id: number; readonly method: string } & PipedArgs)
  | { readonly kind: 'abort'; readonly id: number }

type FromChild = { readonly id: number } & ({ readonly kind: 'reply'; readonly reply: Reply } | Told)

/** Who waits for the reply to a call, and is told of it before. */
interface Listener {
  readonly settle: (reply: Reply) => void
  readonly options: CallOptions
}

/** Of what a dying process printed, the end is told in its error. */
const LAST_WORDS = 300

/** The main side of one child process. */
export class ProcessLink<F extends WorkerFunctions> implements Link<F> {
  readonly name: string
  readonly #child: ChildProcess
  readonly #pipe: BytePipe
  readonly #calls = new Calls(() => void this.terminate())
  readonly #listeners = new Map<number, Listener>()
  #calledSoFar = 0

  /**
   * @param file built JavaScript that calls {@link serveProcess}
   * @param environment beside the variables of this process
   */
  constructor(file: URL, name: string, environment: Readonly<Record<string, string>> = {}) {
    this.name = name
    this.#child = fork(fileURLToPath(file), [], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
      env: { ...process.env, ...environment },
    })
    this.#pipe = new BytePipe(this.#child.stdio?.[PIPE_FD] as Writable | undefined)
    let lastWords = ''
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = (lastWords + text).slice(-LAST_WORDS)
    })
    this.#child.on('message', (message: FromChild) => {
      const listener = this.#listeners.get(message.id)
      if (listener === undefined) return
      if (message.kind === 'reply') listener.settle(message.reply)
      else hear(listener.options, message)
    })
    const end = (how: string, cause?: unknown): void => {
      const why = lastWords.trim() === '' ? '' : `: ${lastWords.trim()}`
      this.#calls.end(new WorkerExitedError(`process ${name} ${how}${why}`, { cause }))
    }
    this.#child.once('error', (error) => {
      // Also told of a message that can't be sent, which does not end the process.
      if (this.#child.pid === undefined) end(`could not be started: ${error.message}`, error)
    })
    // Not `exit`: the pipes may still hold its last words.
    this.#child.once('close', (code, signal) =>
      end(signal === null ? `exited with code ${code}` : `was ended by ${signal}`),
    )
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
    const id = this.#calledSoFar++
    const stop = new AbortController()
    const send = async (): Promise<Reply> => {
      const piped = await this.#pipe.send(args, stop.signal).catch(async (error: unknown) => {
        // Whoever can't be sent anything has gone, or is of no use.
        if (!stop.signal.aborted) await this.terminate()
        throw error
      })
      return await new Promise((settle) => {
        this.#listeners.set(id, { settle, options })
        this.#send({ kind: 'call', id, method, ...piped })
      })
    }
    return {
      send,
      abort: () => {
        stop.abort()
        this.#send({ kind: 'abort', id })
      },
      close: () => this.#listeners.delete(id),
    }
  }

  async terminate(): Promise<void> {
    if (this.#calls.gone === undefined) this.#child.kill('SIGKILL')
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
  const bytes = new PipedBytes()
  bytes.listen()
  const send = (message: FromChild): void => {
    if (process.connected) process.send?.(message)
  }
  process.on('message', async (message: ToChild) => {
    const { id } = message
    if (message.kind === 'abort') return running.get(id)?.abort()
    const controller = new AbortController()
    running.set(id, controller)
    const args = await bytes.restore(message)
    const reply = await answer(functions, message.method, args, controller.signal, (told) => send({ id, ...told }))
    running.delete(id)
    send({ kind: 'reply', id, reply })
  })
  // A signal from a terminal goes to the whole group; when this process ends is for its parent to say, or for its
  // parent's end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => endProcess())
}

/**
 * The child's side: ends at once, whatever is in flight. An orderly exit would tear the runtime down around native
 * promises, which the driver's binding takes for a bug and aborts on.
 */
export function endProcess(error?: Error): void {
  // To a file descriptor and not a stream: it must have left before the end.
  if (error !== undefined) writeSync(2, error.message)
  process.kill(process.pid, 'SIGKILL')
}
