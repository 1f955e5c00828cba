/** Whether the files of circuits are there: for a list of what a machine can prove, which must not wait. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CIRCUIT_FAMILIES, type CircuitId, circuitIdOf, SECTOR_SIZE_TAGS } from '../circuit/circuit-id.ts'
import { developmentFileNames, publishedParameters } from '../params/published.ts'
import { answered } from '../params/waiting.ts'

/** Which parameters of a circuit a folder has; `unknown` if it does not answer. */
export type FoundParameters = 'published' | 'development' | 'missing' | 'unknown'

/** A disk answers within milliseconds; a file server that is gone never. */
const LOOK_LIMIT_MS = 2_000

/** A folder's files of parameters, as they were when it answered last. Their content is checked on first use. */
export class ParametersPresent {
  readonly #directory: string
  readonly #made: boolean
  #found: ReadonlyMap<CircuitId, FoundParameters> = new Map()
  /** One at a time: on a folder that does not answer each holds one of the threads that Node has for files. */
  #looking: Promise<void> | undefined

  /** @param made devices make the parameters of every circuit, and files are not looked for */
  constructor(directory: string, made = false) {
    this.#directory = directory
    this.#made = made
  }

  /** Looks anew. Resolves when that is done, or takes too long; never rejects. */
  async look(): Promise<void> {
    if (this.#made) return
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    await answered(this.#directory, this.#looking, { limitMs: LOOK_LIMIT_MS }).catch(() => {
      this.#found = new Map()
    })
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

  async #look(): Promise<void> {
    const found = new Map<CircuitId, FoundParameters>()
    for (const family of CIRCUIT_FAMILIES) {
      for (const size of SECTOR_SIZE_TAGS) {
        const circuitId = circuitIdOf(family, size)
        if (await this.#has(publishedParameters(circuitId).paramsFile)) found.set(circuitId, 'published')
        else if (await this.#has(developmentFileNames(circuitId).paramsFile)) found.set(circuitId, 'development')
        else found.set(circuitId, 'missing')
      }
    }
    this.#found = found
  }

  async #has(file: string): Promise<boolean> {
    try {
      return (await stat(join(this.#directory, file))).isFile()
    } catch {
      return false
    }
  }
}
