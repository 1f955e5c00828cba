/**
 * What is known of a seal's proof once its commit-phase-1 output is read. Survives structured clone; the big arrays are
 * shared.
 */
import type { CircuitId } from '../../circuit/circuit-id.ts'

/** How challenges follow from the chain's values; see `porep-challenges.ts`. */
export type PorepChallengeRule = 'interactive' | 'synthetic' | 'non-interactive'

/** What a registered seal proof chooses. */
export interface SealRules {
  readonly circuitId: CircuitId
  /** The Rust name. */
  readonly name: string
  /** 32 bytes; seeds the graph and enters the replica id. */
  readonly porepId: Uint8Array
  readonly challengeRule: PorepChallengeRule
  /** The first version of the rules (API version 1.0.0) orders parents differently. */
  readonly legacyGraph: boolean
}

/** What the chain knows of a seal. 32 bytes each. */
export interface SealCommitments {
  readonly commR: Uint8Array
  readonly commD: Uint8Array
  readonly replicaId: Uint8Array
  readonly seed: Uint8Array
  readonly ticket: Uint8Array
}

/** What a synthesis worker is given for one partition. */
export interface PorepPartition {
  readonly kind: 'porep-c2'
  readonly circuitId: CircuitId
  /** Number of the partition within its job, from 0. */
  readonly partition: number
  readonly sectorNumber: bigint
  readonly commitments: SealCommitments
  /** Of each challenge its node and the node's 14 parents: 15 numbers. */
  readonly nodes: Uint32Array
  /**
   * A record of `ChallengeLayout` for each challenge, on a SharedArrayBuffer. Lengths, tags and scalars are checked.
   */
  readonly proofs: Uint8Array
}

/** Numbers of {@link PorepPartition.nodes} a challenge. */
export const NODES_PER_CHALLENGE = 15
