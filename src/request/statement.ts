/** What a request's proof states, derived as the chain derives it: from public data alone. */
import { createHash } from 'node:crypto'
import { deriveChallenges } from '../synthesis/post-challenges.ts'
import { type PostGeometry, postGeometry } from '../synthesis/post-geometry.ts'
import type { ProofRequest, ProofStatement } from './proof-request.ts'
import { type ValidatedRequest, validateRequest } from './validate.ts'
import type { ValidatedSector } from './validate-sectors.ts'

/**
 * The public data of a request: enough to verify its proof. Of the vanilla proofs only the sector numbers and comm_r are read.
 *
 * Per sector of the circuit: comm_r, then the numbers of its challenged leaves. A partition that is not full repeats its last
 * sector; a WinningPoSt states its only sector 66 times, with one challenge each. Takes about 30 ms for a full 32 GiB partition.
 *
 * @throws {InvalidRequestError}, {@link UnsupportedProofError} as `validateRequest`
 */
export function statementOf(request: ProofRequest): ProofStatement {
  return statementOfValidated(validateRequest(request))
}

/** {@link statementOf} for a request that was checked already. */
export function statementOfValidated(request: ValidatedRequest): ProofStatement {
  const geometry = postGeometry(request.circuitId)
  const publicInputs = Array.from({ length: request.partitions }, (_, k) => {
    const first = k * geometry.sectorsPerPartition
    return partitionInputs(request, geometry, k, request.sectors.slice(first, first + geometry.sectorsPerPartition))
  })
  return { kind: request.kind, circuitId: request.circuitId, publicInputs }
}

function partitionInputs(
  request: ValidatedRequest,
  geometry: PostGeometry,
  partition: number,
  sectors: readonly ValidatedSector[],
): Uint8Array[] {
  const challenges = new Uint32Array(geometry.proofChallenges)
  const inputs: Uint8Array[] = []
  const firstPosition = (request.partitionIndex + partition) * geometry.sectorsPerPartition
  sectors.forEach(({ sectorNumber, commR }, i) => {
    deriveChallenges(
      geometry,
      request.registered.challengeRule,
      request.randomness,
      sectorNumber,
      firstPosition + i,
      challenges,
    )
    // A WinningPoSt's only sector makes all pseudo-sectors of the circuit, of one challenge each.
    for (let c = 0; c < challenges.length; c += geometry.circuitChallenges) {
      inputs.push(commR, ...Array.from(challenges.subarray(c, c + geometry.circuitChallenges), leafNumber))
    }
  })
  const perSector = 1 + geometry.circuitChallenges
  const last = inputs.slice(-perSector)
  while (inputs.length < geometry.circuitSectors * perSector) inputs.push(...last)
  return inputs
}

/** A leaf's number as a scalar. */
function leafNumber(leaf: number): Uint8Array {
  const bytes = new Uint8Array(32)
  new DataView(bytes.buffer).setUint32(0, leaf, true)
  return bytes
}

/**
 * A digest of what a request asks to prove: equal for requests whose proofs state the same, whatever their priority and deadline. The
 * paths inside the vanilla proofs are left out: there is nothing that two valid ones for the same challenges could differ in.
 *
 * @returns SHA-256 in hex
 */
export function requestFingerprint(request: ValidatedRequest): string {
  const digest = createHash('sha256')
  digest.update(`${request.registered.name} ${request.minerId} ${request.partitionIndex} ${request.sectors.length}\n`)
  digest.update(request.randomness)
  for (const { sectorNumber, commR } of request.sectors) digest.update(`${sectorNumber} `).update(commR)
  return digest.digest('hex')
}
