/** What lies in a folder of parameters beside the files that this version reads. */
import { readdir } from 'node:fs/promises'
import { CIRCUIT_FAMILIES, circuitIdOf, SECTOR_SIZE_TAGS } from '../circuit/circuit-id.ts'
import { developmentFileNames, publishedParameters } from '../params/published.ts'
import { answered } from '../params/waiting.ts'

/** Of a published set-up of some version, or made by `developmentSetup`. */
const LOOKS_LIKE_PARAMETERS = /^(v\d+-.+\.(params|vk|meta)|dev-.+\.(params|vk|json))$/

/**
 * Files that look like parameters and belong to no circuit of this version: those of older set-ups fill disks
 * unnoticed.
 * @returns their names, sorted; none if the folder can't be read
 */
export async function unknownParameterFiles(folder: string): Promise<string[]> {
  const names = await answered(folder, readdir(folder)).catch((): string[] => [])
  const known = knownNames()
  return names.filter((name) => LOOKS_LIKE_PARAMETERS.test(name) && !known.has(name)).sort()
}

function knownNames(): ReadonlySet<string> {
  const circuits = CIRCUIT_FAMILIES.flatMap((family) => SECTOR_SIZE_TAGS.map((size) => circuitIdOf(family, size)))
  return new Set(
    circuits.flatMap((circuitId) => {
      const { paramsFile, vkFile } = publishedParameters(circuitId)
      // The metadata of a circuit, which other implementations write beside it.
      return [
        paramsFile,
        vkFile,
        paramsFile.replace(/params$/, 'meta'),
        ...Object.values(developmentFileNames(circuitId)),
      ]
    }),
  )
}
