/** Who waits for a device, and in which order they get one. */

/** What a device works on. */
export interface Occupant {
  readonly jobId: string
  readonly partition: number
}

/** A partition's claim to a device. */
export interface Claim {
  readonly occupant: Occupant
  /** The greater goes first. Read anew each time: it rises while the claim waits. */
  readonly rank: () => number
  /** Among claims of one rank the smaller goes first, compared number by number. */
  readonly order: readonly number[]
  /** Of its circuit's evaluation domain: a device that reaches less is not asked. */
  readonly log2Domain: number
  /** Names the circuit: a device whose memory it exceeded is taken only if there is no other. */
  readonly circuitId: string
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
