/** The chain's names and numbers of seal proofs (`filecoin-proofs-api`'s registry), and what they choose. */
import { circuitIdOf, SECTOR_SIZE_NAMES, SECTOR_SIZE_TAGS } from '../../circuit/circuit-id.ts'
import { InvalidRequestError, UnsupportedProofError } from '../../errors.ts'
import type { PorepChallengeRule, SealRules } from '../../synthesis/porep/porep-partition.ts'
import { describe } from '../fields.ts'
import type { RegisteredSealProof } from '../proof-request.ts'

export interface RegisteredSeal extends SealRules {
  /** The number that stands on the chain. */
  readonly id: number
  readonly name: RegisteredSealProof
  readonly kind: 'porep-c2'
}

/** In order of ids, five sizes each. */
const VERSIONS: readonly { readonly suffix: string; readonly challengeRule: PorepChallengeRule }[] = [
  { suffix: 'V1', challengeRule: 'interactive' },
  { suffix: 'V1_1', challengeRule: 'interactive' },
  { suffix: 'V1_1_Feat_SyntheticPoRep', challengeRule: 'synthetic' },
  { suffix: 'V1_2_Feat_NonInteractivePoRep', challengeRule: 'non-interactive' },
]

const SEALS: readonly RegisteredSeal[] = VERSIONS.flatMap(({ suffix, challengeRule }, version) =>
  SECTOR_SIZE_TAGS.map((size, i): RegisteredSeal => {
    const id = version * SECTOR_SIZE_TAGS.length + i
    return {
      id,
      name: `StackedDrg${SECTOR_SIZE_NAMES[size]}${suffix}` as RegisteredSealProof,
      kind: 'porep-c2',
      circuitId: circuitIdOf('porep', size),
      porepId: porepIdOf(id),
      challengeRule,
      legacyGraph: version === 0,
    }
  }),
)

/** The proof's number and a nonce of 0, as u64 little-endian each, padded with zeros to 32 bytes. */
function porepIdOf(id: number): Uint8Array {
  const bytes = new Uint8Array(32)
  bytes[0] = id
  return bytes
}

/**
 * Looks a name up, also of proofs that can't be made yet.
 * @throws {InvalidRequestError} unknown
 */
export function sealProofOf(name: unknown): RegisteredSeal {
  const seal = SEALS.find((known) => known.name === name)
  if (seal !== undefined) return seal
  const hint = typeof name === 'number' ? '; a number is turned into a name by registeredSealProof()' : ''
  const expected = SEALS.map((known) => known.name).join(' | ')
  const received = describe(name)
  throw new InvalidRequestError(`registeredProof ${received} is not a registered seal proof${hint}`, {
    details: { field: 'registeredProof', expected, received },
  })
}

/**
 * Looks a name up that a request may ask for.
 * @throws {InvalidRequestError} unknown
 * @throws {UnsupportedProofError} a non-interactive proof: its proofs are only of use aggregated
 */
export function checkSealProof(name: unknown): RegisteredSeal {
  const seal = sealProofOf(name)
  if (seal.challengeRule !== 'non-interactive') return seal
  throw new UnsupportedProofError(
    `registeredProof ${seal.name} can't be proved by this version: the chain takes non-interactive proofs only aggregated`,
    {
      details: {
        field: 'registeredProof',
        expected: 'an interactive or synthetic seal proof',
        received: seal.name,
      },
    },
  )
}

/**
 * The name of a seal proof's number, as it stands on the chain or in a Go program: 0–19.
 * @throws {InvalidRequestError} any other number
 */
export function registeredSealProof(id: number): RegisteredSealProof {
  const seal = SEALS[id]
  if (seal !== undefined) return seal.name
  throw new InvalidRequestError(`registeredProof: ${id} is not the number of a porep-c2 proof; those are 0 to 19`, {
    details: { field: 'registeredProof', expected: '0 to 19', received: String(id) },
  })
}
