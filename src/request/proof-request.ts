/** What a caller asks for, and what a proof states. */
import type { CircuitId, ProofKind, SectorSizeName as Size } from '../circuit/circuit-id.ts'

/** Which of the waiting jobs is next. */
export type Priority = 'low' | 'normal' | 'high' | 'critical'

/** All of them, ascending. */
export const PRIORITIES: readonly Priority[] = ['low', 'normal', 'high', 'critical']

/** Of a seal. */
export type RegisteredSealProof =
  | `StackedDrg${Size}V1`
  | `StackedDrg${Size}V1_1`
  | `StackedDrg${Size}V1_1_Feat_SyntheticPoRep`
  | `StackedDrg${Size}V1_2_Feat_NonInteractivePoRep`

/** Of an update. */
export type RegisteredUpdateProof = `StackedDrg${Size}V1`

/**
 * `V1_1` is Go's name and `V1_2` the Rust name of the same proof (ids 10–14); `V1` (ids 5–9) numbers its challenges
 * through.
 */
export type RegisteredWindowPostProof = `StackedDrgWindow${Size}${'V1' | 'V1_1' | 'V1_2'}`

/** Ids 0–4. */
export type RegisteredWinningPostProof = `StackedDrgWinning${Size}V1`

/** 32 bytes, exactly as they enter the circuit (little-endian, below r). */
export type Commitment = Uint8Array

interface ProofRequestBase {
  /**
   * The caller's idempotency key: same id and same content joins the running job; same id, other content is
   * `ERR_REQUEST_CONFLICT`; free again once settled.
   */
  readonly requestId?: string | undefined
  /** When the proof stops being useful. Earliest first within a priority; `ERR_DEADLINE_EXCEEDED` when passed. */
  readonly deadline?: Date | undefined
  /** Actor number of the miner: `f01000` is `1000n`. */
  readonly minerId: bigint
  /** @default 'critical' for winning-post, 'high' for window-post, else 'normal' */
  readonly priority?: Priority | undefined
}

/** Asks for the proof of a seal (commit phase 2). */
export interface PorepC2Request extends ProofRequestBase {
  readonly kind: 'porep-c2'
  readonly registeredProof: RegisteredSealProof
  readonly sectorNumber: bigint
  /**
   * The commit-phase-1 output, byte for byte as lotus or Curio stored it: JSON, that as base64, a `c1.json`, or
   * bincode. Copied before `prove` queues the job, and read in a worker.
   */
  readonly vanillaProof: Uint8Array
  /** What the chain expects; where given, must equal the vanilla proof's. */
  readonly commR?: Commitment | undefined
  readonly commD?: Commitment | undefined
}

/** Asks for the proof that a sealed sector got new data. */
export interface SnapUpdateRequest extends ProofRequestBase {
  readonly kind: 'snap-update'
  readonly registeredProof: RegisteredUpdateProof
  readonly sectorNumber: bigint
  /** One vanilla proof per partition. */
  readonly vanillaProofs: readonly Uint8Array[]
  readonly commROld: Commitment
  readonly commRNew: Commitment
  readonly commDNew: Commitment
}

/** What the chain holds for a sector. */
export interface SectorCommitment {
  readonly sectorNumber: bigint
  readonly commR: Commitment
}

/** Asks for a WindowPoSt, of one partition or several. */
export interface WindowPostRequest extends ProofRequestBase {
  readonly kind: 'window-post'
  readonly registeredProof: RegisteredWindowPostProof
  /**
   * Of the first partition: more sectors than one holds fill the next ones. Vanilla proofs come in any order and are
   * sorted by sector number; duplicates are refused.
   */
  readonly partitionIndex: number
  /**
   * What the chain expects, each sector once. Where given, these sectors and no others must be proved, with these
   * comm_r, or the request is refused (a stale file would give a valid proof of the wrong sector).
   */
  readonly sectors?: readonly SectorCommitment[] | undefined
  /** 32-byte challenge seed from the chain, with its top two bits cleared: `randomness[31] &= 0x3f`. */
  readonly randomness: Uint8Array
  /**
   * One vanilla proof per sector: the bincode bytes of `FallbackPoStSectorProof`. Copied before `prove` queues the job.
   */
  readonly vanillaProofs: readonly Uint8Array[]
}

/** Asks for the proof of a sector that won an election. */
export interface WinningPostRequest extends ProofRequestBase {
  readonly kind: 'winning-post'
  readonly registeredProof: RegisteredWinningPostProof
  /** As in {@link WindowPostRequest}. */
  readonly sectors?: readonly SectorCommitment[] | undefined
  /** As in {@link WindowPostRequest}. */
  readonly randomness: Uint8Array
  /** The vanilla proof of the one sector that won. */
  readonly vanillaProofs: readonly Uint8Array[]
}

/** What `prove` takes. A field that the kind does not have is refused, since it may be a misspelt one. */
export type ProofRequest = PorepC2Request | SnapUpdateRequest | WindowPostRequest | WinningPostRequest

/** The public data of a request, without vanilla proofs: enough to verify. */
export interface ProofStatement {
  readonly kind: ProofKind
  readonly circuitId: CircuitId
  /** Per partition its public inputs in order, without the constant ONE: 32 bytes little-endian each, canonical. */
  readonly publicInputs: readonly (readonly Uint8Array[])[]
}
