/**
 * A look at a folder by a process of its own, which can be ended: a call to the file system that hangs can't be, and
 * holds one of the threads that Node has for files.
 */
import { fork } from 'node:child_process'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { workerFile } from '../cpu/wasm-file.ts'
import type { FoundParameters } from './look-for-parameters.ts'

/** What the process of `look-process.ts` sends. */
export type LookReport = readonly (readonly [CircuitId, FoundParameters])[]

/** Node starts in less than a second, and a folder that answers takes milliseconds. */
const PROCESS_LIMIT_MS = 5_000

/**
 * Which parameters a folder has; nothing if it does not answer. Does not keep this process alive.
 * @param signal ends the look
 * @param file a test seam: what to run instead of `look-process.ts`
 * @returns once the process has ended, so that those who wait for it never have two
 */
export function lookFromOutside(
  directory: string,
  signal: AbortSignal,
  file: string | URL = workerFile('srs/look-process.js'),
): Promise<ReadonlyMap<CircuitId, FoundParameters> | undefined> {
  return new Promise((resolve) => {
    const child = fork(file, [directory], { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    child.unref()
    child.channel?.unref()
    let found: ReadonlyMap<CircuitId, FoundParameters> | undefined
    const stop = (): void => void child.kill('SIGKILL')
    const timer = setTimeout(stop, PROCESS_LIMIT_MS).unref()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve(found)
    }
    child.on('message', (report) => {
      found = new Map(report as LookReport)
    })
    // Of a process that could not be started there is no exit.
    child.once('error', () => child.pid === undefined && end())
    child.once('exit', end)
  })
}
