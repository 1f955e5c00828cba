/** Which circuits' files of parameters are in a folder, by their names. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CIRCUIT_FAMILIES, type CircuitId, circuitIdOf, SECTOR_SIZE_TAGS } from '../circuit/circuit-id.ts'
import { developmentFileNames, publishedParameters } from '../params/published.ts'

/** Which parameters of a circuit a folder has; `unknown` if it does not answer. */
export type FoundParameters = 'published' | 'development' | 'missing' | 'unknown'

/** Looks for the files of every circuit, some forty calls of the file system. One that fails counts as missing. */
export async function lookForParameters(directory: string): Promise<ReadonlyMap<CircuitId, FoundParameters>> {
  const has = async (file: string): Promise<boolean> => {
    try {
      return (await stat(join(directory, file))).isFile()
    } catch {
      return false
    }
  }
  const found = new Map<CircuitId, FoundParameters>()
  for (const family of CIRCUIT_FAMILIES) {
    for (const size of SECTOR_SIZE_TAGS) {
      const circuitId = circuitIdOf(family, size)
      if (await has(publishedParameters(circuitId).paramsFile)) found.set(circuitId, 'published')
      else if (await has(developmentFileNames(circuitId).paramsFile)) found.set(circuitId, 'development')
      else found.set(circuitId, 'missing')
    }
  }
  return found
}
