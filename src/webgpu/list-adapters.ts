/**
 * Which adapters this machine has: asked in a process of its own, since drivers print, and may crash, when they are
 * loaded.
 */
import { fork } from 'node:child_process'
import { workerFile } from '../cpu/wasm-file.ts'
import { isSoftware } from './software-adapters.ts'

/** What the process of `list-adapters-process.ts` sends. */
export interface AdapterReport {
  readonly adapters: readonly { readonly backend: string; readonly name: string }[]
  /** Why none could be looked for. */
  readonly reason?: string
}

/** An adapter as its driver names it. */
export interface ListedAdapter {
  readonly name: string
  /** `vulkan`, `metal`, `d3d12`, … */
  readonly backend: string
  readonly software: boolean
  /** Place among cards of the same name, and how many those are: nothing but their environment tells them apart. */
  readonly copy: number
  readonly copies: number
}

/** The adapters of a machine, or why there are none. */
export interface AdapterList {
  readonly adapters: readonly ListedAdapter[]
  /** Why none could be looked for. */
  readonly reason?: string
}

/** How the search is made. */
interface Search {
  /** Built JavaScript that sends an {@link AdapterReport}. */
  readonly file: URL
  /** Loading every driver of a machine takes a second at most; one that hangs is given up. */
  readonly limitMs: number
}

const SEARCH: Search = { file: workerFile('webgpu/list-adapters-process.js'), limitMs: 20_000 }

/**
 * Lists the adapters, in the driver's order.
 * @param signal ends the search; the list is empty then
 * @param search a test seam
 */
export async function listAdapters(signal?: AbortSignal, search: Search = SEARCH): Promise<AdapterList> {
  const { adapters, reason } = await askProcess(signal, search)
  return { adapters: countCopies(adapters), ...(reason !== undefined && { reason }) }
}

function askProcess(signal: AbortSignal | undefined, { file, limitMs }: Search): Promise<AdapterReport> {
  return new Promise((resolve) => {
    const child = fork(file, [], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    let report: AdapterReport | undefined
    const stop = (): void => void child.kill('SIGKILL')
    let late = false
    const timer = setTimeout(() => {
      late = true
      stop()
    }, limitMs)
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted) stop()
    const end = (why: string): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      resolve(report ?? { adapters: [], reason: `the search for adapters failed: ${why}` })
    }
    child.on('message', (message) => {
      report = message as AdapterReport
    })
    child.once('error', (error) => end(error.message))
    child.once('exit', (code, killed) =>
      end(late ? `no answer within ${limitMs / 1000} s` : `its process ended with ${killed ?? `code ${code}`}`),
    )
  })
}

/** One card may show through several interfaces (Vulkan and Direct3D): those of the first one that has it count. */
function countCopies(found: AdapterReport['adapters']): ListedAdapter[] {
  const backendOf = new Map<string, string>()
  for (const { name, backend } of found) if (!backendOf.has(name)) backendOf.set(name, backend)
  const cards = found.filter(({ name, backend }) => backendOf.get(name) === backend)
  const seen = new Map<string, number>()
  return cards.map(({ name, backend }) => {
    const copy = seen.get(name) ?? 0
    seen.set(name, copy + 1)
    const copies = cards.filter((card) => card.name === name).length
    return { name, backend, software: isSoftware(name), copy, copies }
  })
}
