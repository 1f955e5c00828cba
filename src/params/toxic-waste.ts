/** The secrets of a set-up. Whoever knows them can forge proofs: they are never stored, logged, or part of an error. */

export interface ToxicScalars {
  readonly alpha: bigint
  readonly beta: bigint
  readonly gamma: bigint
  readonly delta: bigint
  readonly tau: bigint
}

/** Everything that a set-up draws: secrets, and generators (uncompressed big-endian). Survives structured clone. */
export interface ToxicWaste extends ToxicScalars {
  readonly g1: Uint8Array
  readonly g2: Uint8Array
}
