/** Whether a circuit's files are there, without waiting: for a list of what a machine can prove. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { developmentFileNames, publishedParameters } from '../params/published.ts'

/** @returns why the circuit has no usable parameters, or nothing if their file is there (its content is checked on first use) */
export function missingParameters(
  circuitId: CircuitId,
  directory: string,
  allowDevelopment: boolean,
): string | undefined {
  const published = join(directory, publishedParameters(circuitId).paramsFile)
  if (existsSync(published)) return undefined
  const development = join(directory, developmentFileNames(circuitId).paramsFile)
  if (!existsSync(development)) return `no parameters: no file ${published}`
  return allowDevelopment ? undefined : `only development parameters, which are not allowed: ${development}`
}

/** Which parameters of a circuit a folder has. */
export type FoundParameters = 'published' | 'development' | 'missing'

export function foundParameters(circuitId: CircuitId, directory: string): FoundParameters {
  if (existsSync(join(directory, publishedParameters(circuitId).paramsFile))) return 'published'
  return existsSync(join(directory, developmentFileNames(circuitId).paramsFile)) ? 'development' : 'missing'
}
