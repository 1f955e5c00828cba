/** Errors that say where in a commit-phase-1 output a fault is. */
import { InvalidRequestError, type ProverErrorDetails } from '../../errors.ts'
import type { FieldPath, RecordFault } from '../records.ts'

/** Name of the request's field that all paths begin with. */
export const VANILLA_PROOF = 'vanillaProof'

/** A place in one challenge's proof. */
export interface SealPlace {
  readonly sector: bigint
  readonly partition?: number
  /** Number within its partition. */
  readonly challenge?: number
}

/** @param field within the output, or within the challenge's proof where `place` names one */
export function sealFault(
  place: SealPlace,
  field: string,
  problem: string,
  expected: string,
  received: string,
): InvalidRequestError {
  const { sector, partition, challenge } = place
  const list =
    partition === undefined ? '' : `vanilla_proofs[${partition}]${challenge === undefined ? '' : `[${challenge}].`}`
  const path = `${VANILLA_PROOF}${list === '' && field === '' ? '' : '.'}${list}${field}`
  const details: ProverErrorDetails = {
    field: path,
    sector,
    ...(partition !== undefined && { partition }),
    ...(challenge !== undefined && { challenge }),
    expected,
    received,
  }
  const of = [
    `sector ${sector}`,
    ...(partition === undefined ? [] : [`partition ${partition}`]),
    ...(challenge === undefined ? [] : [`challenge ${challenge}`]),
  ]
  return new InvalidRequestError(`${path} (${of.join(', ')}): ${problem}: expected ${expected}, got ${received}`, {
    details,
  })
}

/**
 * {@link sealFault} for readers of records, whose paths begin at the output: `vanilla_proofs`, partition, challenge,
 * field.
 */
export function sealRecordFault(sector: bigint): RecordFault {
  return (path: FieldPath, problem, expected, received) => {
    const [first, partition, challenge] = path.steps
    const listed = first === 'vanilla_proofs' && typeof partition === 'number'
    const place: SealPlace = {
      sector,
      ...(listed && { partition }),
      ...(listed && typeof challenge === 'number' && { challenge }),
    }
    const skipped = listed ? (typeof challenge === 'number' ? 3 : 2) : 0
    return sealFault(place, path.from(skipped), problem, expected, received)
  }
}
