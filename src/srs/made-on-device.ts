/**
 * Development parameters without files: every device makes them in its own memory, in seconds even for the largest
 * circuits. In place of `locateParameters` it is an argument of internal functions only: secrets of a set-up have no
 * place in an interface.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { DevelopmentParametersError } from '../errors.ts'
import type { LocatedParameters } from '../params/parameters-location.ts'
import { developmentFileNames } from '../params/published.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import type { LocateParameters } from './locate-parameters.ts'
import { drawToxicWaste } from './toxic-waste.ts'

/** No smaller domain has a root of unity that this one has not. */
const LARGEST_LOG2_DOMAIN = 32

/**
 * @param directory gets the verifying keys
 * @param given secrets of some circuits, for tests; those of others are drawn when they are asked for first
 */
export function madeOnDevice(
  directory: string,
  given: Readonly<Partial<Record<CircuitId, ToxicWaste>>> = {},
): LocateParameters {
  const made = new Map<CircuitId, LocatedParameters>()
  const locate: LocateParameters = async (circuitId, { allowDevelopment } = {}) => {
    const vkFile = join(directory, developmentFileNames(circuitId).vkFile)
    if (allowDevelopment !== true) {
      throw new DevelopmentParametersError(
        `parameters of ${circuitId} would be made on the device: proofs made with them are worthless on a real network`,
        { details: { file: vkFile, expected: 'allowDevelopmentParameters', received: String(allowDevelopment) } },
      )
    }
    const known = made.get(circuitId)
    if (known !== undefined) return known
    const name = `made-${randomBytes(13).toString('hex')}`
    const location: LocatedParameters = {
      circuitId,
      development: true,
      paramsFile: `development parameters of ${circuitId} on the device`,
      vkFile,
      paramsDigest: name,
      vkDigest: name,
      made: true,
      secrets: given[circuitId] ?? drawToxicWaste(LARGEST_LOG2_DOMAIN),
    }
    made.set(circuitId, location)
    return location
  }
  return Object.assign(locate, { made: true as const })
}
