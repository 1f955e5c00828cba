/** What a machine can prove, circuit by circuit. */
import { CIRCUIT_FAMILIES, type CircuitId, circuitIdOf, SECTOR_SIZE_TAGS } from '../circuit/circuit-id.ts'
import type { ResolvedOptions } from '../options.ts'
import { missingParameters } from '../srs/parameters-present.ts'
import type { Circuits } from './circuits.ts'

/** Whether one circuit can be proved now. */
export interface CircuitCapability {
  readonly circuitId: CircuitId
  readonly available: boolean
  readonly device?: string
  /** Its parameters are on the device: the next proof need not load them. */
  readonly warm: boolean
  /** Why it is not available. */
  readonly reason?: string
}

/** Every circuit, family by family. */
export function circuitIds(): CircuitId[] {
  return CIRCUIT_FAMILIES.flatMap((family) => SECTOR_SIZE_TAGS.map((size) => circuitIdOf(family, size)))
}

export function capabilities(
  circuits: Circuits,
  options: Pick<ResolvedOptions, 'parameterCache' | 'allowDevelopmentParameters'>,
): CircuitCapability[] {
  return circuitIds().map((circuitId) => {
    const warm = circuits.isWarm(circuitId)
    const reason = circuits.refusal(circuitId)?.message ?? (warm ? undefined : missing(circuitId, options))
    return reason === undefined
      ? { circuitId, available: true, warm, device: circuits.deviceNames(circuitId) }
      : { circuitId, available: false, warm, reason }
  })
}

function missing(
  circuitId: CircuitId,
  { parameterCache, allowDevelopmentParameters }: Parameters<typeof capabilities>[1],
): string | undefined {
  return missingParameters(circuitId, parameterCache, allowDevelopmentParameters)
}
