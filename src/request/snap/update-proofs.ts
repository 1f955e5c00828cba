/** The chain's names and numbers of update proofs (`filecoin-proofs-api`'s registry), and what they choose. */
import { type CircuitId, circuitIdOf, SECTOR_SIZE_NAMES, SECTOR_SIZE_TAGS } from '../../circuit/circuit-id.ts'
import { InvalidRequestError } from '../../errors.ts'
import { describe } from '../fields.ts'
import type { RegisteredUpdateProof } from '../proof-request.ts'

export interface RegisteredUpdate {
  /** The number that stands on the chain. */
  readonly id: number
  readonly name: RegisteredUpdateProof
  readonly kind: 'snap-update'
  readonly circuitId: CircuitId
}

/** In order of ids. */
const UPDATES: readonly RegisteredUpdate[] = SECTOR_SIZE_TAGS.map((size, id) => ({
  id,
  name: `StackedDrg${SECTOR_SIZE_NAMES[size]}V1`,
  kind: 'snap-update',
  circuitId: circuitIdOf('snap', size),
}))

/**
 * Looks a name up. Updates have the names of the first seal proofs, whatever version sealed the sector.
 * @throws {InvalidRequestError} unknown
 */
export function checkUpdateProof(name: unknown): RegisteredUpdate {
  const update = UPDATES.find((known) => known.name === name)
  if (update !== undefined) return update
  const hint = typeof name === 'number' ? '; a number is turned into a name by registeredUpdateProof()' : ''
  const expected = UPDATES.map((known) => known.name).join(' | ')
  const received = describe(name)
  throw new InvalidRequestError(`registeredProof ${received} is not a registered update proof${hint}`, {
    details: { field: 'registeredProof', expected, received },
  })
}

/**
 * The name of an update proof's number, as it stands on the chain or in a Go program: 0–4.
 * @throws {InvalidRequestError} any other number
 */
export function registeredUpdateProof(id: number): RegisteredUpdateProof {
  const update = UPDATES[id]
  if (update !== undefined) return update.name
  throw new InvalidRequestError(`registeredProof: ${id} is not the number of a snap-update proof; those are 0 to 4`, {
    details: { field: 'registeredProof', expected: '0 to 4', received: String(id) },
  })
}
