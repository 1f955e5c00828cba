/**
 * What is kept of a vanilla proof once it was inspected: its scalars. Everything else in it follows from the sector's
 * number and the request.
 *
 *     comm_r_last · comm_c · comm_r · of each challenge: leaf · siblings of each level, from the leaf upwards
 *
 * That is the order in which a WindowPoSt's circuit allocates them, so that those of a full partition are the wide
 * scalars of its witness as they are: 713 of 32 bytes a sector of 32 GiB.
 */
import type { PathArity, PostGeometry } from './post-geometry.ts'
import { COMM_R_OFFSET, inclusionProofOffset, type VanillaLayout } from './vanilla-post.ts'

const SCALAR_BYTES = 32

/** The scalars before those of the first challenge. */
export const COMMITMENTS_BYTES: number = 3 * SCALAR_BYTES

/** Where the scalars of a sector lie, in bytes from its first. */
export interface SectorLayout {
  readonly totalBytes: number
  readonly commRLast: number
  readonly commC: number
  readonly commR: number
  /** Of one challenge. */
  readonly challengeBytes: number
  /** From the leaf upwards; `siblings` from the first scalar of the challenge, its leaf. */
  readonly levels: readonly { readonly arity: PathArity; readonly bits: number; readonly siblings: number }[]
}

export function sectorLayout({ arities, proofChallenges }: PostGeometry): SectorLayout {
  let at = SCALAR_BYTES
  const levels = arities.map((arity) => {
    const siblings = at
    at += (arity - 1) * SCALAR_BYTES
    return { arity, bits: Math.log2(arity), siblings }
  })
  return {
    totalBytes: COMMITMENTS_BYTES + proofChallenges * at,
    commRLast: 0,
    commC: SCALAR_BYTES,
    commR: 2 * SCALAR_BYTES,
    challengeBytes: at,
    levels,
  }
}

/** Offset of a challenge's leaf from the first scalar of its sector. */
export const challengeOffset = ({ challengeBytes }: SectorLayout, challenge: number): number =>
  COMMITMENTS_BYTES + challenge * challengeBytes

/** Copies the scalars of a vanilla proof. @param to where those of the sector begin in `scalars` */
export function keepScalars(
  vanilla: VanillaLayout,
  { proofChallenges }: PostGeometry,
  bytes: Uint8Array,
  scalars: Uint8Array,
  to: number,
): void {
  let at = to
  const keep = (from: number, length: number): void => {
    scalars.set(bytes.subarray(from, from + length), at)
    at += length
  }
  keep(vanilla.commRLast, SCALAR_BYTES)
  keep(vanilla.commC, SCALAR_BYTES)
  keep(COMM_R_OFFSET, SCALAR_BYTES)
  for (let challenge = 0; challenge < proofChallenges; challenge++) {
    const proof = inclusionProofOffset(vanilla, challenge)
    keep(proof + vanilla.leaf, SCALAR_BYTES)
    for (const { arity, siblings } of vanilla.levels) keep(proof + siblings, (arity - 1) * SCALAR_BYTES)
  }
}
