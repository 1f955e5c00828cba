/** From a request's fields to a well-formed `porep-c2` request; and that to what is proved. */
import { setImmediate } from 'node:timers/promises'
import type { CircuitId } from '../../circuit/circuit-id.ts'
import { porepGeometry } from '../../synthesis/porep/porep-geometry.ts'
import type { PorepPartition, SealCommitments } from '../../synthesis/porep/porep-partition.ts'
import { porepPublicInputs } from '../../synthesis/porep/public-inputs.ts'
import { challengedNodes, readSeal, readSealCommitments, type SealInput } from '../../synthesis/porep/read-seal.ts'
import { scalarsOf } from '../../synthesis/scalar-bytes.ts'
import { checkBytes, checkScalar, checkU64, invalidField } from '../fields.ts'
import type { Priority, ProofStatement } from '../proof-request.ts'
import { checkSealProof, type RegisteredSeal } from './seal-proofs.ts'

/** A well-formed PoRep request. The vanilla proof is the caller's buffer until it is copied, and not read before. */
export interface ValidatedPorepRequest {
  readonly kind: 'porep-c2'
  readonly circuitId: CircuitId
  readonly registered: RegisteredSeal
  readonly requestId?: string
  readonly deadline?: Date
  readonly priority: Priority
  readonly minerId: bigint
  /** 32 bytes. */
  readonly proverId: Uint8Array
  readonly sectorNumber: bigint
  /** What the chain expects. */
  readonly commR?: Uint8Array
  readonly commD?: Uint8Array
  readonly partitions: number
  readonly vanillaProof: Uint8Array
}

/** What all kinds of requests have. */
export type CommonFields = Pick<ValidatedPorepRequest, 'requestId' | 'deadline' | 'priority' | 'minerId' | 'proverId'>

/**
 * Checks the fields that only PoRep requests have. The vanilla proof, up to 51 MB, is read by a worker.
 * @throws {InvalidRequestError} with the field at fault
 * @throws {UnsupportedProofError} a non-interactive proof
 */
export function validatePorep(fields: Record<string, unknown>, common: () => CommonFields): ValidatedPorepRequest {
  const registered = checkSealProof(fields.registeredProof)
  const sectorNumber = checkU64(fields.sectorNumber, 'sectorNumber')
  const vanillaProof = checkBytes(fields.vanillaProof, 'vanillaProof')
  if (vanillaProof.length === 0) {
    throw invalidField('vanillaProof', 'a commit-phase-1 output in JSON or bincode', vanillaProof)
  }
  const commR = fields.commR === undefined ? undefined : checkScalar(fields.commR, 'commR')
  const commD = fields.commD === undefined ? undefined : checkScalar(fields.commD, 'commD')
  return {
    kind: 'porep-c2',
    circuitId: registered.circuitId,
    registered,
    ...common(),
    sectorNumber,
    ...(commR !== undefined && { commR }),
    ...(commD !== undefined && { commD }),
    partitions: porepGeometry(registered.circuitId).partitions,
    vanillaProof,
  }
}

/** Reads a seal; off the calling thread where that matters. */
export type SealReader = (input: SealInput) => Promise<PorepPartition[]>

const readHere: SealReader = async (input) => readSeal(input)

/** Copied between two turns of the event loop: at 2 GB/s and slower, into fresh memory, about 4 ms. */
const SLICE_BYTES = 8 * 2 ** 20

/**
 * Takes the vanilla proof over, and has it read: afterwards the caller's buffer is free.
 * @param options.readSeal the calling thread reads if left out: a third of a second for a 32 GiB sector
 * @throws {InvalidRequestError} with partition, challenge and field at fault
 * @throws `signal.reason` once aborted
 */
export async function takeOverPorep(
  request: ValidatedPorepRequest,
  options: { readonly signal?: AbortSignal | undefined; readonly readSeal?: SealReader | undefined },
): Promise<PorepPartition[]> {
  const { vanillaProof } = request
  const copy = new Uint8Array(new SharedArrayBuffer(vanillaProof.length))
  for (let from = 0; from < copy.length; from += SLICE_BYTES) {
    copy.set(vanillaProof.subarray(from, from + SLICE_BYTES), from)
    if (copy.length > SLICE_BYTES) await setImmediate()
    options.signal?.throwIfAborted()
  }
  return await (options.readSeal ?? readHere)(sealInput(request, copy))
}

/**
 * The statement, derived from the public part of the vanilla proof.
 * @throws {InvalidRequestError}
 */
export function porepStatement(request: ValidatedPorepRequest): ProofStatement {
  const commitments = readSealCommitments(sealInput(request, request.vanillaProof))
  return statement(request, commitments, (k) => challengedNodes(request.registered, commitments, k))
}

/** The same of a seal that was read. */
export function porepStatementOf(
  request: ValidatedPorepRequest,
  partitions: readonly PorepPartition[],
): ProofStatement {
  const [first] = partitions
  if (first === undefined || partitions.length !== request.partitions) throw new Error('partitions are missing')
  return statement(request, first.commitments, (k) => (partitions[k] as PorepPartition).nodes)
}

function statement(
  { circuitId, partitions }: ValidatedPorepRequest,
  commitments: SealCommitments,
  nodes: (partition: number) => Uint32Array,
): ProofStatement {
  const publicInputs = Array.from({ length: partitions }, (_, k) => scalarsOf(porepPublicInputs(commitments, nodes(k))))
  return { kind: 'porep-c2', circuitId, publicInputs }
}

function sealInput(request: ValidatedPorepRequest, vanillaProof: Uint8Array): SealInput {
  const { registered, sectorNumber, proverId, commR, commD } = request
  const { circuitId, name, porepId, challengeRule, legacyGraph } = registered
  const rules = { circuitId, name, porepId, challengeRule, legacyGraph }
  return { rules, sectorNumber, proverId, commR, commD, vanillaProof }
}
