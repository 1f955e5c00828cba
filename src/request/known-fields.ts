/** Which fields each kind of request has. Others are refused: a misspelt `deadline` would be none without a word. */
import type { ProofKind } from '../circuit/circuit-id.ts'
import { InvalidRequestError } from '../errors.ts'
import { nearestName } from '../known-names.ts'
import { describe } from './fields.ts'
import type { ProofRequest } from './proof-request.ts'

/** The compiler holds it to the type: a field more or less than the request has is an error. */
type FieldsOf<K extends ProofKind> = Readonly<Record<keyof Extract<ProofRequest, { readonly kind: K }>, true>>

const COMMON = {
  kind: true,
  registeredProof: true,
  requestId: true,
  deadline: true,
  minerId: true,
  priority: true,
} as const
const SECTOR = { ...COMMON, sectorNumber: true } as const
const POST = { ...COMMON, sectors: true, randomness: true, vanillaProofs: true } as const

const FIELDS: { readonly [K in ProofKind]: FieldsOf<K> } = {
  'window-post': { ...POST, partitionIndex: true },
  'winning-post': POST,
  'porep-c2': { ...SECTOR, vanillaProof: true, commR: true, commD: true },
  'snap-update': { ...SECTOR, vanillaProofs: true, commROld: true, commRNew: true, commDNew: true },
}

/**
 * Refuses a field that requests of the kind don't have. One that is undefined counts as absent, as all fields do. What
 * is in `sectors` is not looked at: both fields of an entry are required, and callers may pass what the chain's API
 * gave them, which has more. Nor are vanilla proofs, whose JSON may have any keys beside those that are read.
 * @throws {InvalidRequestError} naming it, and the field that is likely meant
 */
export function refuseUnknownFields(request: Readonly<Record<string, unknown>>, kind: ProofKind): void {
  const known = Object.keys(FIELDS[kind])
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || known.includes(name)) continue
    const meant = nearestName(name, known)
    const hint = meant === undefined ? `; its fields are ${known.join(', ')}` : `; did you mean ${meant}?`
    throw new InvalidRequestError(`${describe(name)} is not a field of a ${kind} request${hint}`, {
      details: { field: name, expected: meant ?? known.join(' | '), received: name },
    })
  }
}
