/** What a machine can prove, circuit by circuit. */
import { CIRCUIT_FAMILIES, type CircuitId, circuitIdOf, SECTOR_SIZE_TAGS } from '../circuit/circuit-id.ts'
import type { ResolvedOptions } from '../options.ts'
import type { ParametersPresent } from '../srs/parameters-present.ts'
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

/** @param present what the folder of parameters held when it was looked at last */
export function capabilities(
  circuits: Circuits,
  present: ParametersPresent,
  { allowDevelopmentParameters }: Pick<ResolvedOptions, 'allowDevelopmentParameters'>,
): CircuitCapability[] {
  const missing = (circuitId: CircuitId): string | undefined => present.missing(circuitId, allowDevelopmentParameters)
  return circuitIds().map((circuitId) => {
    const warm = circuits.isWarm(circuitId)
    const reason = circuits.placement.refusal(circuitId)?.message ?? (warm ? undefined : missing(circuitId))
    return reason === undefined
      ? { circuitId, available: true, warm, device: circuits.placement.deviceNames(circuitId) }
      : { circuitId, available: false, warm, reason }
  })
}
