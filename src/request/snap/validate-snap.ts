/** From a request's fields to a well-formed `snap-update` request; and that to what is proved. */
import { setImmediate } from 'node:timers/promises'
import type { CircuitId } from '../../circuit/circuit-id.ts'
import { InvalidRequestError } from '../../errors.ts'
import { FieldPath, inspectRecord } from '../../synthesis/records.ts'
import { scalarsOf } from '../../synthesis/scalar-bytes.ts'
import { snapPublicInputs } from '../../synthesis/snap/public-inputs.ts'
import { snapRecordFault } from '../../synthesis/snap/snap-fault.ts'
import { type SnapGeometry, snapGeometry } from '../../synthesis/snap/snap-geometry.ts'
import type { SnapCommitments, SnapPartition } from '../../synthesis/snap/snap-partition.ts'
import { changedMeanwhile, checkArray, checkBytes, checkScalar, checkU64, invalidField } from '../fields.ts'
import type { CommonFields } from '../porep/validate-porep.ts'
import type { Priority, ProofStatement } from '../proof-request.ts'
import { checkUpdateProof, type RegisteredUpdate } from './update-proofs.ts'

/**
 * A well-formed request for an update. The vanilla proofs are the caller's buffers until they are copied, and not read
 * before.
 */
export interface ValidatedSnapRequest {
  readonly kind: 'snap-update'
  readonly circuitId: CircuitId
  readonly registered: RegisteredUpdate
  readonly requestId?: string
  readonly deadline?: Date
  readonly priority: Priority
  readonly minerId: bigint
  /** 32 bytes. */
  readonly proverId: Uint8Array
  readonly sectorNumber: bigint
  readonly commitments: SnapCommitments
  readonly partitions: number
  /** One a partition, of the right length. */
  readonly vanillaProofs: readonly Uint8Array[]
}

/**
 * Checks the fields that only updates have.
 * @throws {InvalidRequestError} with the field at fault
 */
export function validateSnap(fields: Record<string, unknown>, common: () => CommonFields): ValidatedSnapRequest {
  const registered = checkUpdateProof(fields.registeredProof)
  const geometry = snapGeometry(registered.circuitId)
  const sectorNumber = checkU64(fields.sectorNumber, 'sectorNumber')
  const commitments = {
    commROld: checkScalar(fields.commROld, 'commROld'),
    commRNew: checkScalar(fields.commRNew, 'commRNew'),
    commDNew: checkScalar(fields.commDNew, 'commDNew'),
  }
  return {
    kind: 'snap-update',
    circuitId: registered.circuitId,
    registered,
    ...common(),
    sectorNumber,
    commitments,
    partitions: geometry.partitions,
    vanillaProofs: checkVanillaProofs(fields.vanillaProofs, geometry, sectorNumber),
  }
}

function checkVanillaProofs(value: unknown, { partitions, proof }: SnapGeometry, sector: bigint): Uint8Array[] {
  const list = checkArray(value, 'vanillaProofs', 'Uint8Array')
  if (list.length !== partitions) {
    const expected = `a list of ${partitions} Uint8Array, one a partition`
    throw invalidField('vanillaProofs', expected, value)
  }
  // Array.from visits the holes of a sparse array too.
  return Array.from(list, (entry, partition) => {
    const field = `vanillaProofs[${partition}]`
    const bytes = checkBytes(entry, field)
    if (bytes.length === proof.record.bytes) return bytes
    const [expected, received] = [`${proof.record.bytes} bytes`, `${bytes.length} bytes`]
    throw new InvalidRequestError(`${field} (sector ${sector}) must be ${expected}, got ${received}`, {
      details: { field, sector, partition, expected, received },
    })
  })
}

/**
 * Takes the vanilla proofs over, one SharedArrayBuffer a partition, and checks everything in them that needs no hash:
 * lengths, tags, canonical scalars. Afterwards the caller's buffers are free. Works in slices of some milliseconds
 * between which the event loop turns.
 * @throws {InvalidRequestError} with partition, challenge and field at fault, or for a buffer that changed since
 *   `validateRequest`
 * @throws `signal.reason` once aborted
 */
export async function takeOverSnap(
  request: ValidatedSnapRequest,
  { signal }: { readonly signal?: AbortSignal | undefined },
): Promise<SnapPartition[]> {
  const { circuitId, sectorNumber, commitments, vanillaProofs } = request
  const { record } = snapGeometry(circuitId).proof
  const partitions: SnapPartition[] = []
  for (const [partition, bytes] of vanillaProofs.entries()) {
    if (partition > 0) await setImmediate()
    signal?.throwIfAborted()
    // A buffer that was transferred away has no bytes.
    if (bytes.length !== record.bytes) throw changedMeanwhile(partition, sectorNumber, partition)
    const proof = new Uint8Array(new SharedArrayBuffer(record.bytes))
    proof.set(bytes)
    inspectRecord(record, proof, 0, new FieldPath(), snapRecordFault(sectorNumber, partition))
    partitions.push({ kind: 'snap-update', circuitId, partition, sectorNumber, commitments, proof })
  }
  return partitions
}

/** The statement: what the chain knows, once a partition. */
export function snapStatement({ circuitId, commitments, partitions }: ValidatedSnapRequest): ProofStatement {
  const geometry = snapGeometry(circuitId)
  const publicInputs = Array.from({ length: partitions }, (_, k) =>
    scalarsOf(snapPublicInputs(geometry, commitments, k)),
  )
  return { kind: 'snap-update', circuitId, publicInputs }
}
