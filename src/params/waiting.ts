/**
 * Waiting for what can't be stopped: above all for the file system, where a call to a server that is gone, or to a disk
 * that dies, returns late or never. The call itself goes on; nobody waits for it any longer.
 */
import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { SrsUnavailableError } from '../errors.ts'

/**
 * Longer than any disk takes for one call, and shorter than a device may be silent, so that the file is told of and not
 * the device.
 */
export const ANSWER_LIMIT_MS = 90_000

/** Closing a file takes no time, unless a call on it hangs. */
const CLOSE_LIMIT_MS = 200

/**
 * How long an aborted call is still waited for: one that is answered at all is by then. What a thread is ended in the
 * middle of opening, nobody closes.
 */
const LATE_LIMIT_MS = 50

/**
 * One signal may well stop more than ten jobs, or calls to more than ten devices, which Node would take for a leak; a
 * limit that was set by its owner stays.
 */
export function allowManyListeners(signal: AbortSignal): void {
  if (listenerLimit(signal) === defaultMaxListeners) setMaxListeners(Number.POSITIVE_INFINITY, signal)
}

/** Node 20 throws where the limit is 0, which stands for none. */
function listenerLimit(signal: AbortSignal): number {
  try {
    return getMaxListeners(signal)
  } catch {
    return 0
  }
}

/** Waits for something that holds nothing and can't be stopped, but no longer than until the signal aborts. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason)
    if (signal.aborted) aborted()
    signal.addEventListener('abort', aborted, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted))
  })
}

export interface AnswerOptions<T> {
  readonly signal?: AbortSignal | undefined
  /** @default ANSWER_LIMIT_MS */
  readonly limitMs?: number | undefined
  /** Gets what came when nobody waited for it any more: a handle is to be closed. */
  readonly late?: ((value: T) => unknown) | undefined
}

/**
 * Waits for the answer to one call to the file system.
 * @throws {SrsUnavailableError} none came within the limit
 * @throws `signal.reason` once the signal aborts, and what came late has been given to `late` or does not come soon
 */
export async function answered<T>(file: string, call: Promise<T>, options: AnswerOptions<T> = {}): Promise<T> {
  const { signal, limitMs = ANSWER_LIMIT_MS, late } = options
  let timer: NodeJS.Timeout | undefined
  const silent = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const received = `no answer within ${limitMs} ms`
      const details = { file, expected: 'a disk or file server that answers', received }
      reject(new SrsUnavailableError(`${file}: ${received}`, { details }))
    }, limitMs)
  })
  try {
    const first = Promise.race([call, silent])
    return await (signal === undefined ? first : orAborted(first, signal))
  } catch (error) {
    const passed = call.then(late).catch(() => {})
    if (signal?.aborted && late !== undefined) await noLonger(LATE_LIMIT_MS, passed)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Closes a file, which waits for calls on it, but does not wait for one that hangs. */
export async function closeFile(handle: FileHandle): Promise<void> {
  await noLonger(CLOSE_LIMIT_MS, handle.close())
}

/** Waits for something, but not longer than a time. */
async function noLonger(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  try {
    await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
