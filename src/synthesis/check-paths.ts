/**
 * The checks of vanilla proofs that hash: comm_r = H(comm_c, comm_r_last), and that each opened leaf leads to
 * comm_r_last.
 *
 * The circuit enforces the same. A device that checks its rows needs this only to name the sector and challenge at
 * fault; without that a wrong file would be noticed as a proof that fails to verify minutes later.
 */

import type { PoseidonHasher } from './poseidon-hasher.ts'
import type { PathArity, PostGeometry } from './post-geometry.ts'
import { equalScalars, scalarHex } from './scalar-bytes.ts'
import {
  COMM_R_OFFSET,
  fault,
  inclusionProofOffset,
  type VanillaLayout,
  type VanillaProofView,
} from './vanilla-post.ts'

const SCALAR_BYTES = 32

/**
 * Checks one vanilla proof that `inspectVanillaProof` found well-formed.
 * @throws {InvalidRequestError} with the sector and the challenge whose path, or the commitment that, does not fit
 */
export function checkVanillaHashes(
  geometry: PostGeometry,
  layout: VanillaLayout,
  proof: VanillaProofView,
  hasher: PoseidonHasher,
): void {
  checkCommR(layout, proof, hasher)
  const { bytes } = proof
  const count = geometry.proofChallenges
  // All challenges of the sector go up one level at a time, so that the hasher gets groups in bulk.
  const current = new Uint8Array(count * SCALAR_BYTES)
  for (let c = 0; c < count; c++) {
    const leaf = proof.offset + inclusionProofOffset(layout, c) + layout.leaf
    current.set(bytes.subarray(leaf, leaf + SCALAR_BYTES), c * SCALAR_BYTES)
  }
  const groups = new Uint8Array(count * 8 * SCALAR_BYTES)
  let shift = 0
  for (const level of layout.levels) {
    const groupBytes = level.arity * SCALAR_BYTES
    for (let c = 0; c < count; c++) {
      const place = ((proof.challenges[c] as number) >>> shift) & (level.arity - 1)
      const siblings = proof.offset + inclusionProofOffset(layout, c) + level.siblings
      const group = c * groupBytes
      const own = group + place * SCALAR_BYTES
      // The siblings of the own place, in rising order: `place` of them before it, the rest after it.
      groups.set(bytes.subarray(siblings, siblings + place * SCALAR_BYTES), group)
      groups.set(current.subarray(c * SCALAR_BYTES, (c + 1) * SCALAR_BYTES), own)
      groups.set(
        bytes.subarray(siblings + place * SCALAR_BYTES, siblings + (level.arity - 1) * SCALAR_BYTES),
        own + SCALAR_BYTES,
      )
    }
    hasher.hash(level.arity, groups.subarray(0, count * groupBytes), current)
    shift += level.bits
  }
  const root = proof.offset + layout.commRLast
  for (let c = 0; c < count; c++) {
    if (equalScalars(current, c * SCALAR_BYTES, bytes, root)) continue
    const expected = scalarHex(bytes, root)
    const received = scalarHex(current, c * SCALAR_BYTES)
    throw fault(proof, c, 'path', 'leads to another root than comm_r_last', expected, received)
  }
}

function checkCommR(layout: VanillaLayout, proof: VanillaProofView, hasher: PoseidonHasher): void {
  const { bytes, offset } = proof
  const pair = new Uint8Array(2 * SCALAR_BYTES)
  pair.set(bytes.subarray(offset + layout.commC, offset + layout.commC + SCALAR_BYTES))
  pair.set(bytes.subarray(offset + layout.commRLast, offset + layout.commRLast + SCALAR_BYTES), SCALAR_BYTES)
  const digest = new Uint8Array(SCALAR_BYTES)
  const arity: PathArity = 2
  hasher.hash(arity, pair, digest)
  if (equalScalars(digest, 0, bytes, offset + COMM_R_OFFSET)) return
  const received = scalarHex(bytes, offset + COMM_R_OFFSET)
  throw fault(proof, undefined, 'comm_r', 'is not H(comm_c, comm_r_last)', scalarHex(digest), received)
}
