/** Whether the files of circuits are there: for a list of what a machine can prove, which must not wait. */
import { join } from 'node:path'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { developmentFileNames, publishedParameters } from '../params/published.ts'
import { answered } from '../params/waiting.ts'
import { type FoundParameters, lookForParameters } from './look-for-parameters.ts'
import { lookFromOutside } from './look-from-outside.ts'

/** A disk answers within milliseconds; a file server that is gone never. */
const LOOK_LIMIT_MS = 2_000

/** A folder's files of parameters, as they were when it answered last. Their content is checked on first use. */
export class ParametersPresent {
  readonly #directory: string
  readonly #made: boolean
  readonly #closing = new AbortController()
  #found: ReadonlyMap<CircuitId, FoundParameters> = new Map()
  /** One at a time: on a folder that does not answer each holds one of the threads that Node has for files. */
  #looking: Promise<void> | undefined
  /** It took too long, and may do so for good, even if the folder is mounted anew: from then on a process looks. */
  #silent = false
  #outside: Promise<void> | undefined

  /** @param made devices make the parameters of every circuit, and files are not looked for */
  constructor(directory: string, made = false) {
    this.#directory = directory
    this.#made = made
  }

  /** Looks anew. Resolves when that is done, or takes too long; never rejects. */
  async look(): Promise<void> {
    if (this.#made || this.#closing.signal.aborted) return
    if (this.#silent) {
      this.#outside ??= this.#lookFromOutside().finally(() => {
        this.#outside = undefined
      })
      return await this.#outside
    }
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      this.#silent = false
    })
    await answered(this.#directory, this.#looking, { limitMs: LOOK_LIMIT_MS }).catch(() => {
      this.#silent = true
      this.#found = new Map()
    })
  }

  async #look(): Promise<void> {
    this.#found = await lookForParameters(this.#directory)
  }

  async #lookFromOutside(): Promise<void> {
    const found = await lookFromOutside(this.#directory, this.#closing.signal)
    // It may have answered this process in the meantime.
    if (this.#silent) this.#found = found ?? new Map()
  }

  /** Ends a process that looks. */
  close(): void {
    this.#closing.abort()
  }

  found(circuitId: CircuitId): FoundParameters {
    return this.#made ? 'development' : (this.#found.get(circuitId) ?? 'unknown')
  }

  /** @returns why the circuit has no usable parameters, or nothing if their file is there */
  missing(circuitId: CircuitId, allowDevelopment: boolean): string | undefined {
    const path = (file: string): string => join(this.#directory, file)
    switch (this.found(circuitId)) {
      case 'published':
        return undefined
      case 'development':
        if (allowDevelopment) return undefined
        if (this.#made) return 'only development parameters, made on the device, which are not allowed'
        return `only development parameters, which are not allowed: ${path(developmentFileNames(circuitId).paramsFile)}`
      case 'missing':
        return `no parameters: no file ${path(publishedParameters(circuitId).paramsFile)}`
      case 'unknown':
        return `no parameters: the folder ${this.#directory} does not answer`
    }
  }
}
