/** What a request's proof states, derived as the chain derives it: from public data alone. */
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { PartitionInput } from '../synthesis/partition-input.ts'
import type { PorepPartition } from '../synthesis/porep/porep-partition.ts'
import { deriveChallenges } from '../synthesis/post-challenges.ts'
import { type PostGeometry, postGeometry } from '../synthesis/post-geometry.ts'
import { porepStatement, porepStatementOf } from './porep/validate-porep.ts'
import type { ProofRequest, ProofStatement } from './proof-request.ts'
import { snapStatement } from './snap/validate-snap.ts'
import type { Steps } from './steps.ts'
import { type ValidatedPostRequest, type ValidatedRequest, validateRequest } from './validate.ts'
import type { ValidatedSector } from './validate-sectors.ts'

/**
 * The public data of a request: enough to verify its proof. Of the vanilla proofs only the sector numbers and comm_r
 * are read.
 *
 * Per sector of the circuit: comm_r, then the numbers of its challenged leaves. A partition that is not full repeats
 * its last sector; a WinningPoSt states its only sector 66 times, with one challenge each. Takes about 30 ms for a full
 * 32 GiB partition.
 *
 * PoRep: replica id, comm_d, comm_r, then of each challenge its node, the node's parents and the node again. Reads what
 * is public of the commit-phase-1 output and skips the rest: a tenth of a second for a 32 GiB sector.
 *
 * SnapDeals: the partition's index with the choice of h, comm_r_old, comm_d_new, comm_r_new.
 *
 * @throws {InvalidRequestError}, {@link UnsupportedProofError} as `validateRequest`
 */
export function statementOf(request: ProofRequest): ProofStatement {
  return statementOfValidated(validateRequest(request))
}

/** {@link statementOf} for a request that was checked already. */
export function statementOfValidated(request: ValidatedRequest): ProofStatement {
  if (request.kind === 'porep-c2') return porepStatement(request)
  if (request.kind === 'snap-update') return snapStatement(request)
  const geometry = postGeometry(request.circuitId)
  const publicInputs = Array.from({ length: request.partitions }, (_, k) => {
    const inputs = new PartitionInputs(request, geometry, k)
    inputs.addSectors(inputs.sectors)
    return inputs.complete()
  })
  return { kind: request.kind, circuitId: request.circuitId, publicInputs }
}

/** Sectors whose challenges are derived between two turns of the event loop: some milliseconds. */
const SECTORS_PER_SLICE = 256

/**
 * {@link statementOfValidated} in slices between which the event loop turns.
 * @param options.inputs what `takeOver` gave: a PoRep's statement follows from it without reading the vanilla proof
 *   again
 * @throws `signal.reason` once aborted
 */
export async function deriveStatement(
  request: ValidatedRequest,
  options: { readonly signal?: AbortSignal | undefined; readonly inputs?: readonly PartitionInput[] | undefined } = {},
): Promise<ProofStatement> {
  if (request.kind === 'porep-c2') {
    const { inputs } = options
    return inputs === undefined
      ? porepStatement(request)
      : porepStatementOf(request, inputs as readonly PorepPartition[])
  }
  if (request.kind === 'snap-update') return snapStatement(request)
  const geometry = postGeometry(request.circuitId)
  const publicInputs: (readonly Uint8Array[])[] = []
  for (let k = 0; k < request.partitions; k++) {
    const inputs = new PartitionInputs(request, geometry, k)
    while (!inputs.allAdded) {
      inputs.addSectors(SECTORS_PER_SLICE)
      await setImmediate()
      options.signal?.throwIfAborted()
    }
    publicInputs.push(inputs.complete())
  }
  return { kind: request.kind, circuitId: request.circuitId, publicInputs }
}

const SCALAR_BYTES = 32

/** The public inputs of one partition, sector after sector: views of one buffer, so that they are cheap to send. */
class PartitionInputs {
  readonly #request: ValidatedPostRequest
  readonly #geometry: PostGeometry
  readonly #sectors: readonly ValidatedSector[]
  readonly #firstPosition: number
  readonly #challenges: Uint32Array
  readonly #words: DataView
  #added = 0
  #at = 0

  constructor(request: ValidatedPostRequest, geometry: PostGeometry, partition: number) {
    const first = partition * geometry.sectorsPerPartition
    this.#request = request
    this.#geometry = geometry
    this.#sectors = request.sectors.slice(first, first + geometry.sectorsPerPartition)
    this.#firstPosition = (request.partitionIndex + partition) * geometry.sectorsPerPartition
    this.#challenges = new Uint32Array(geometry.proofChallenges)
    const bytes = geometry.circuitSectors * (1 + geometry.circuitChallenges) * SCALAR_BYTES
    this.#words = new DataView(new ArrayBuffer(bytes))
  }

  get sectors(): number {
    return this.#sectors.length
  }

  get allAdded(): boolean {
    return this.#added === this.#sectors.length
  }

  /** Appends the inputs of the next `count` real sectors, or of those that are left. */
  addSectors(count: number): void {
    const { circuitChallenges } = this.#geometry
    const { randomness, registered } = this.#request
    const until = Math.min(this.#added + count, this.#sectors.length)
    for (; this.#added < until; this.#added++) {
      const { sectorNumber, commR } = this.#sectors[this.#added] as ValidatedSector
      const position = this.#firstPosition + this.#added
      deriveChallenges(this.#geometry, registered.challengeRule, randomness, sectorNumber, position, this.#challenges)
      // A WinningPoSt's only sector makes all pseudo-sectors of the circuit, of one challenge each.
      for (let first = 0; first < this.#challenges.length; first += circuitChallenges) {
        new Uint8Array(this.#words.buffer, this.#at, SCALAR_BYTES).set(commR)
        this.#at += SCALAR_BYTES
        for (let c = first; c < first + circuitChallenges; c++, this.#at += SCALAR_BYTES) {
          this.#words.setUint32(this.#at, this.#challenges[c] as number, true)
        }
      }
    }
  }

  /** Repeats the last sector until the circuit is full. @returns one view per input */
  complete(): Uint8Array[] {
    const bytes = new Uint8Array(this.#words.buffer)
    const sectorBytes = (1 + this.#geometry.circuitChallenges) * SCALAR_BYTES
    const last = this.#at - sectorBytes
    for (; this.#at < bytes.length; this.#at += sectorBytes) bytes.copyWithin(this.#at, last, last + sectorBytes)
    return Array.from({ length: bytes.length / SCALAR_BYTES }, (_, i) =>
      bytes.subarray(i * SCALAR_BYTES, (i + 1) * SCALAR_BYTES),
    )
  }
}

/** Bytes hashed between two yields: about a millisecond. */
const HASHED_PER_STEP = 2 ** 20

/**
 * A digest of what a request asks to prove: equal for requests whose proofs state the same, whatever their priority and
 * deadline. The vanilla proofs of PoSt and SnapDeals are left out: there is nothing that two valid ones for the same
 * challenges could differ in. That of a seal is what its statement follows from, and is hashed whole: 51 MB for a 32
 * GiB sector.
 *
 * @returns SHA-256 in hex
 */
export function* fingerprintSteps(request: ValidatedRequest): Steps<string> {
  const digest = createHash('sha256')
  if (request.kind === 'porep-c2') {
    const { registered, minerId, sectorNumber, vanillaProof } = request
    digest.update(`${registered.name} ${minerId} ${sectorNumber}\n`)
    for (let from = 0; from < vanillaProof.length; from += HASHED_PER_STEP) {
      digest.update(vanillaProof.subarray(from, from + HASHED_PER_STEP))
      yield
    }
    return digest.digest('hex')
  }
  if (request.kind === 'snap-update') {
    const { commROld, commRNew, commDNew } = request.commitments
    digest.update(`${request.kind} ${request.registered.name} ${request.minerId} ${request.sectorNumber}\n`)
    return digest.update(commROld).update(commRNew).update(commDNew).digest('hex')
  }
  digest.update(`${request.registered.name} ${request.minerId} ${request.partitionIndex} ${request.sectors.length}\n`)
  digest.update(request.randomness)
  for (const [i, { sectorNumber, commR }] of request.sectors.entries()) {
    digest.update(`${sectorNumber} `).update(commR)
    if (i % SECTORS_PER_SLICE === 0) yield
  }
  return digest.digest('hex')
}
