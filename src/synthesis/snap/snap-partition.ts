/**
 * What a synthesis worker is given for one partition of an update. Survives structured clone; the vanilla proof is
 * shared.
 */
import type { CircuitId } from '../../circuit/circuit-id.ts'

/** What the chain knows of an update. 32 bytes each, canonical. */
export interface SnapCommitments {
  readonly commROld: Uint8Array
  readonly commRNew: Uint8Array
  readonly commDNew: Uint8Array
}

/** What synthesis is given for one SnapDeals partition. Survives structured clone. */
export interface SnapPartition {
  readonly kind: 'snap-update'
  readonly circuitId: CircuitId
  /** Number of the partition within its job, from 0. */
  readonly partition: number
  readonly sectorNumber: bigint
  readonly commitments: SnapCommitments
  /** The record of `PartitionLayout`, on a SharedArrayBuffer. Lengths, tags and scalars are checked. */
  readonly proof: Uint8Array
}
