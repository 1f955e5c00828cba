/**
 * The chain's names and numbers of PoSt proofs (`filecoin-proofs-api`'s registry; go-state-types' `abi`), and what they
 * choose.
 */
import {
  type CircuitId,
  circuitIdOf,
  SECTOR_SIZE_NAMES,
  SECTOR_SIZE_TAGS,
  type SectorSizeTag,
} from '../circuit/circuit-id.ts'
import { InvalidRequestError } from '../errors.ts'
import type { ChallengeRule } from '../synthesis/post-challenges.ts'
import { describe } from './fields.ts'
import type { RegisteredWindowPostProof, RegisteredWinningPostProof } from './proof-request.ts'

/** Version of the proofs' rules, as the Rust API names it. */
export type ApiVersion = '1.0.0' | '1.2.0'

export interface RegisteredPostProof {
  /** The number that stands on the chain. */
  readonly id: number
  /** The Rust name. */
  readonly name: RegisteredWindowPostProof | RegisteredWinningPostProof
  readonly kind: 'window-post' | 'winning-post'
  readonly circuitId: CircuitId
  readonly apiVersion: ApiVersion
  readonly challengeRule: ChallengeRule
}

/** In order of ids: 0–4 WinningPoSt, 5–9 WindowPoSt V1, 10–14 WindowPoSt V1_2; sizes in rising order within each. */
const POST_PROOFS: readonly RegisteredPostProof[] = [
  ...SECTOR_SIZE_TAGS.map((size, i) => winning(i, size)),
  ...SECTOR_SIZE_TAGS.map((size, i) => window(5 + i, size, 'V1')),
  ...SECTOR_SIZE_TAGS.map((size, i) => window(10 + i, size, 'V1_2')),
]

function winning(id: number, size: SectorSizeTag): RegisteredPostProof {
  return {
    id,
    name: `StackedDrgWinning${SECTOR_SIZE_NAMES[size]}V1`,
    kind: 'winning-post',
    circuitId: circuitIdOf('winning', size),
    apiVersion: '1.0.0',
    challengeRule: 'running',
  }
}

function window(id: number, size: SectorSizeTag, version: 'V1' | 'V1_2'): RegisteredPostProof {
  return {
    id,
    name: `StackedDrgWindow${SECTOR_SIZE_NAMES[size]}${version}`,
    kind: 'window-post',
    circuitId: circuitIdOf('wpost', size),
    apiVersion: version === 'V1' ? '1.0.0' : '1.2.0',
    challengeRule: version === 'V1' ? 'running' : 'per-sector',
  }
}

const BY_NAME: ReadonlyMap<string, RegisteredPostProof> = new Map(
  POST_PROOFS.flatMap((proof): [string, RegisteredPostProof][] => [
    [proof.name, proof],
    // Go calls the proofs that Rust calls V1_2 V1_1.
    [proof.name.replace(/V1_2$/, 'V1_1'), proof],
  ]),
)

/**
 * Looks a name up, Rust's or Go's.
 * @throws {InvalidRequestError} unknown, or of another kind
 */
export function registeredPostProof(name: unknown, kind: 'window-post' | 'winning-post'): RegisteredPostProof {
  const proof = typeof name === 'string' ? BY_NAME.get(name) : undefined
  if (proof?.kind === kind) return proof
  const names = POST_PROOFS.filter((known) => known.kind === kind).map((known) => known.name)
  const otherNames = kind === 'window-post' ? ' (or V1_1 for V1_2)' : ''
  const problem = proof === undefined ? `is not a registered proof` : `is a proof of kind ${proof.kind}`
  const hint = typeof name === 'number' ? `; a number is turned into a name by ${helperName(kind)}()` : ''
  const received = typeof name === 'string' ? name : describe(name)
  throw new InvalidRequestError(
    `registeredProof: ${received} ${problem}; ${kind} takes one of ${names.join(', ')}${otherNames}${hint}`,
    { details: { field: 'registeredProof', expected: names.join(' | '), received } },
  )
}

const helperName = (kind: 'window-post' | 'winning-post'): string =>
  kind === 'window-post' ? 'registeredWindowPostProof' : 'registeredWinningPostProof'

/**
 * The name of a WindowPoSt proof's number, as it stands on the chain or in a Go program: 5–9 and 10–14.
 * @throws {InvalidRequestError} any other number
 */
export function registeredWindowPostProof(id: number): RegisteredWindowPostProof {
  return byId(id, 'window-post', '5 to 14').name as RegisteredWindowPostProof
}

/**
 * The name of a WinningPoSt proof's number: 0–4.
 * @throws {InvalidRequestError} any other number
 */
export function registeredWinningPostProof(id: number): RegisteredWinningPostProof {
  return byId(id, 'winning-post', '0 to 4').name as RegisteredWinningPostProof
}

function byId(id: number, kind: 'window-post' | 'winning-post', expected: string): RegisteredPostProof {
  const proof = POST_PROOFS[id]
  if (proof?.kind === kind) return proof
  throw new InvalidRequestError(`registeredProof: ${id} is not the number of a ${kind} proof; those are ${expected}`, {
    details: { field: 'registeredProof', expected, received: String(id) },
  })
}
