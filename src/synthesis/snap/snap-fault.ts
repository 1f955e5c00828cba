/** Errors that say where in which partition's vanilla proof a fault is. */
import { InvalidRequestError, type ProverErrorDetails } from '../../errors.ts'
import type { RecordFault } from '../records.ts'

/** A place in an update's vanilla proofs. */
export interface SnapPlace {
  readonly sector: bigint
  readonly partition: number
  /** Number within its partition. */
  readonly challenge?: number
}

/** @param field within the partition's proof, or within the challenge's where `place` names one */
export function snapFault(
  place: SnapPlace,
  field: string,
  problem: string,
  expected: string,
  received: string,
): InvalidRequestError {
  const { sector, partition, challenge } = place
  const steps = [
    `vanillaProofs[${partition}]`,
    ...(challenge === undefined ? [] : [`challenge_proofs[${challenge}]`]),
    ...(field === '' ? [] : [field]),
  ]
  const path = steps.join('.')
  const details: ProverErrorDetails = {
    field: path,
    sector,
    partition,
    ...(challenge !== undefined && { challenge }),
    expected,
    received,
  }
  const of = `sector ${sector}, partition ${partition}${challenge === undefined ? '' : `, challenge ${challenge}`}`
  return new InvalidRequestError(`${path} (${of}): ${problem}: expected ${expected}, got ${received}`, { details })
}

/** {@link snapFault} for readers of records, whose paths begin at the partition's proof. */
export function snapRecordFault(sector: bigint, partition: number): RecordFault {
  return (path, problem, expected, received) => {
    const [list, challenge] = path.steps
    const inChallenge = list === 'challenge_proofs' && typeof challenge === 'number'
    const place: SnapPlace = { sector, partition, ...(inChallenge && { challenge }) }
    return snapFault(place, path.from(inChallenge ? 2 : 0), problem, expected, received)
  }
}
