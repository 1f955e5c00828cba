/** Who waits for a device, and in which order they get one. */
import type { CircuitId } from '../circuit/circuit-id.ts'

/** What a device works on. */
export interface Occupant {
  readonly jobId: string
  readonly partition: number
}

/**
 * What of a device's memory a partition takes, and how many of its kind work there together; one more may get ready.
 */
export interface DeviceRoom {
  /** 0 to 1, of the whole. */
  readonly share: number
  readonly together: number
}

/** What decides where a partition may go. */
export interface ClaimKind {
  /** The greater goes first. Read anew each time: it rises while the claim waits. */
  readonly rank: () => number
  /** Of its circuit's evaluation domain: a device that reaches less is not asked. */
  readonly log2Domain: number
  /** Names the circuit: a device whose memory it exceeded is taken only if there is no other. */
  readonly circuitId: CircuitId
  /** @default it takes all of a device */
  readonly room?: DeviceRoom | undefined
  /** It ended a device before, perhaps: it gets one that nobody else is on. */
  readonly alone?: boolean | undefined
}

/** A partition's claim to a device. */
export interface Claim extends ClaimKind {
  readonly occupant: Occupant
  /** Among claims of one rank the smaller goes first, compared number by number. */
  readonly order: readonly number[]
  /** A device that failed this partition: another is taken if there is one. */
  readonly avoid?: number | undefined
}

/** From this rank on a claim does not wait for a device that works on something less urgent: their units alternate. */
export const URGENT_RANK = 3

/** Negative if `a` goes first. */
export function compareClaims(a: Claim, b: Claim): number {
  const byRank = b.rank() - a.rank()
  if (byRank !== 0) return byRank
  for (const [i, place] of a.order.entries()) {
    const difference = place - (b.order[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
