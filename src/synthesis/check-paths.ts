/**
 * The checks of vanilla proofs that hash: comm_r = H(comm_c, comm_r_last), and that each opened leaf leads to
 * comm_r_last.
 *
 * The circuit enforces the same. A device that checks its rows needs this only to name the sector and challenge at
 * fault; without that a wrong file would be noticed as a proof that fails to verify minutes later.
 */
import type { PoseidonHasher } from './poseidon-hasher.ts'
import type { PathArity, PostGeometry } from './post-geometry.ts'
import type { SectorView } from './post-partition.ts'
import { equalScalars, scalarHex } from './scalar-bytes.ts'
import { challengeOffset, type SectorLayout } from './sector-scalars.ts'
import { fault } from './vanilla-post.ts'

const SCALAR_BYTES = 32

/**
 * Checks the scalars of one vanilla proof that `inspectVanillaProof` found well-formed.
 * @throws {InvalidRequestError} with the sector and the challenge whose path, or the commitment that, does not fit
 */
export function checkSectorHashes(
  geometry: PostGeometry,
  layout: SectorLayout,
  view: SectorView,
  hasher: PoseidonHasher,
): void {
  checkCommR(layout, view, hasher)
  const { scalars, offset } = view
  const count = geometry.proofChallenges
  // All challenges of the sector go up one level at a time, so that the hasher gets groups in bulk.
  const current = new Uint8Array(count * SCALAR_BYTES)
  for (let c = 0; c < count; c++) {
    const leaf = offset + challengeOffset(layout, c)
    current.set(scalars.subarray(leaf, leaf + SCALAR_BYTES), c * SCALAR_BYTES)
  }
  const groups = new Uint8Array(count * 8 * SCALAR_BYTES)
  let shift = 0
  for (const level of layout.levels) {
    const groupBytes = level.arity * SCALAR_BYTES
    for (let c = 0; c < count; c++) {
      const place = ((view.challenges[c] as number) >>> shift) & (level.arity - 1)
      const siblings = offset + challengeOffset(layout, c) + level.siblings
      const group = c * groupBytes
      const own = group + place * SCALAR_BYTES
      // The siblings of the own place, in rising order: `place` of them before it, the rest after it.
      groups.set(scalars.subarray(siblings, siblings + place * SCALAR_BYTES), group)
      groups.set(current.subarray(c * SCALAR_BYTES, (c + 1) * SCALAR_BYTES), own)
      groups.set(
        scalars.subarray(siblings + place * SCALAR_BYTES, siblings + (level.arity - 1) * SCALAR_BYTES),
        own + SCALAR_BYTES,
      )
    }
    hasher.hash(level.arity, groups.subarray(0, count * groupBytes), current)
    shift += level.bits
  }
  const root = offset + layout.commRLast
  for (let c = 0; c < count; c++) {
    if (equalScalars(current, c * SCALAR_BYTES, scalars, root)) continue
    const expected = scalarHex(scalars, root)
    const received = scalarHex(current, c * SCALAR_BYTES)
    throw fault(view, c, 'path', 'leads to another root than comm_r_last', expected, received)
  }
}

function checkCommR(layout: SectorLayout, view: SectorView, hasher: PoseidonHasher): void {
  const { scalars, offset } = view
  const pair = new Uint8Array(2 * SCALAR_BYTES)
  pair.set(scalars.subarray(offset + layout.commC, offset + layout.commC + SCALAR_BYTES))
  pair.set(scalars.subarray(offset + layout.commRLast, offset + layout.commRLast + SCALAR_BYTES), SCALAR_BYTES)
  const digest = new Uint8Array(SCALAR_BYTES)
  const arity: PathArity = 2
  hasher.hash(arity, pair, digest)
  if (equalScalars(digest, 0, scalars, offset + layout.commR)) return
  const received = scalarHex(scalars, offset + layout.commR)
  throw fault(view, undefined, 'comm_r', 'is not H(comm_c, comm_r_last)', scalarHex(digest), received)
}
