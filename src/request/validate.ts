/**
 * From anything a caller passes to a request that is known to be well-formed.
 *
 * Three steps, each before the next costs anything:
 * 1. {@link validateRequest} on the caller's thread, at once or in slices: every field of the request and, of a PoSt,
 *    the head of every vanilla proof (length, sector, comm_r), a microsecond or two a sector;
 * 2. `takeOver` copies the vanilla proofs and reads them whole, a PoSt's in slices, a PoRep's in a worker: every
 *    length, index, challenge and scalar. Only then is the job queued;
 * 3. `checkAndSynthesize` in a synthesis worker hashes: comm_r, every path to its root, every label, before a device
 *    sees anything. Of a PoSt that goes to a GPU that is done by the GPU, and here only if it finds fault.
 */
import { types } from 'node:util'
import type { CircuitId, ProofKind } from '../circuit/circuit-id.ts'
import { asError, InvalidRequestError, ProverError } from '../errors.ts'
import { postGeometry } from '../synthesis/post-geometry.ts'
import { checkArray, checkObject, checkScalar, checkU64, invalidField } from './fields.ts'
import { refuseUnknownFields } from './known-fields.ts'
import { type CommonFields, type ValidatedPorepRequest, validatePorep } from './porep/validate-porep.ts'
import {
  type PorepC2Request,
  PRIORITIES,
  type Priority,
  type SnapUpdateRequest,
  type WindowPostRequest,
  type WinningPostRequest,
} from './proof-request.ts'
import { proverId } from './prover-id.ts'
import { type RegisteredPostProof, registeredPostProof } from './registered-proofs.ts'
import { type ValidatedSnapRequest, validateSnap } from './snap/validate-snap.ts'
import { atOnce, type Steps } from './steps.ts'
import { checkExpectedSectors, type ValidatedSector, validateSectors } from './validate-sectors.ts'

/**
 * A well-formed PoSt request. Small values are copies; the vanilla proofs are the caller's buffers until they are
 * copied.
 */
export interface ValidatedPostRequest {
  readonly kind: 'window-post' | 'winning-post'
  readonly circuitId: CircuitId
  readonly registered: RegisteredPostProof
  readonly requestId?: string
  readonly deadline?: Date
  readonly priority: Priority
  readonly minerId: bigint
  /** 32 bytes: see {@link proverId}. */
  readonly proverId: Uint8Array
  /** 32 bytes, canonical. */
  readonly randomness: Uint8Array
  /** Of the first partition; 0 for a WinningPoSt. */
  readonly partitionIndex: number
  /** Proofs to make. */
  readonly partitions: number
  /** By ascending sector number. Partition k has those from k · sectorsPerPartition. */
  readonly sectors: readonly ValidatedSector[]
}

/** A well-formed request, told apart by `kind`. */
export type ValidatedRequest = ValidatedPostRequest | ValidatedPorepRequest | ValidatedSnapRequest

const U32_LIMIT = 2 ** 32
const DEFAULT_PRIORITIES: Readonly<Record<ProofKind, Priority>> = {
  'window-post': 'high',
  'winning-post': 'critical',
  'porep-c2': 'normal',
  'snap-update': 'normal',
}

/**
 * Checks a request's form.
 * @throws {InvalidRequestError} `details.field` names the field at fault, `details.sector` the sector where it is about
 *   one
 * @throws {UnsupportedProofError} a proof that this version can't make
 */
export function validateRequest(request: WindowPostRequest | WinningPostRequest): ValidatedPostRequest
export function validateRequest(request: PorepC2Request): ValidatedPorepRequest
export function validateRequest(request: SnapUpdateRequest): ValidatedSnapRequest
export function validateRequest(request: unknown): ValidatedRequest
export function validateRequest(request: unknown): ValidatedRequest {
  return atOnce(validationSteps(request))
}

/** {@link validateRequest} in steps of less than a millisecond: a request may have 150,000 sectors. */
export function* validationSteps(request: unknown): Steps<ValidatedRequest> {
  try {
    return yield* validated(request)
  } catch (cause) {
    if (ProverError.is(cause)) throw cause
    // A request is the caller's object: to read a field may run a getter or a proxy's trap, and that may throw
    // anything.
    throw new InvalidRequestError(`the request can't be read: ${asError(cause).message}`, {
      details: { field: 'request' },
      cause,
    })
  }
}

function* validated(request: unknown): Steps<ValidatedRequest> {
  const fields = checkObject(request, 'request')
  const kind = checkKind(fields.kind)
  refuseUnknownFields(fields, kind)
  if (kind === 'porep-c2') return validatePorep(fields, () => commonFields(fields, kind))
  if (kind === 'snap-update') return validateSnap(fields, () => commonFields(fields, kind))
  const registered = registeredPostProof(fields.registeredProof, kind)
  const geometry = postGeometry(registered.circuitId)
  const common = commonFields(fields, kind)
  const partitionIndex = kind === 'window-post' ? checkPartitionIndex(fields.partitionIndex) : 0
  const randomness = checkScalar(
    fields.randomness,
    'randomness',
    '. The chain clears its top two bits before use: randomness[31] &= 0x3f',
  )
  const vanillaProofs = checkArray(fields.vanillaProofs, 'vanillaProofs', 'Uint8Array')
  if (kind === 'winning-post' && vanillaProofs.length !== 1) {
    throw invalidField('vanillaProofs', 'a list of exactly one Uint8Array for winning-post', vanillaProofs)
  }
  const expected = fields.sectors
  const sectors = yield* validateSectors(geometry, vanillaProofs)
  if (expected !== undefined) yield* checkExpectedSectors(expected, sectors)
  return {
    kind,
    circuitId: registered.circuitId,
    registered,
    ...common,
    randomness,
    partitionIndex,
    partitions: Math.ceil(sectors.length / geometry.sectorsPerPartition),
    sectors,
  }
}

/** Checks the fields that all kinds have. */
function commonFields(fields: Record<string, unknown>, kind: ProofKind): CommonFields {
  const requestId = checkRequestId(fields.requestId)
  const deadline = checkDeadline(fields.deadline)
  const priority = checkPriority(fields.priority, kind)
  const minerId = checkU64(fields.minerId, 'minerId')
  return {
    ...(requestId !== undefined && { requestId }),
    ...(deadline !== undefined && { deadline }),
    priority,
    minerId,
    proverId: proverId(minerId),
  }
}

function checkKind(kind: unknown): ProofKind {
  if (typeof kind === 'string' && Object.hasOwn(DEFAULT_PRIORITIES, kind)) return kind as ProofKind
  throw invalidField('kind', Object.keys(DEFAULT_PRIORITIES).join(' | '), kind)
}

function checkRequestId(requestId: unknown): string | undefined {
  if (requestId === undefined) return undefined
  if (typeof requestId !== 'string' || requestId === '')
    throw invalidField('requestId', 'a non-empty string', requestId)
  return requestId
}

function checkDeadline(deadline: unknown): Date | undefined {
  if (deadline === undefined) return undefined
  if (!types.isDate(deadline) || Number.isNaN(deadline.getTime())) {
    throw invalidField('deadline', 'a valid Date', deadline)
  }
  return new Date(deadline)
}

function checkPriority(priority: unknown, kind: ProofKind): Priority {
  if (priority === undefined) return DEFAULT_PRIORITIES[kind]
  if (!(PRIORITIES as readonly unknown[]).includes(priority)) {
    throw invalidField('priority', PRIORITIES.join(' | '), priority)
  }
  return priority as Priority
}

function checkPartitionIndex(index: unknown): number {
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= U32_LIMIT) {
    throw invalidField('partitionIndex', 'an integer from 0 to 2 ** 32 - 1', index)
  }
  return index
}
