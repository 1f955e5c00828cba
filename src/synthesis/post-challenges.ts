/**
 * Which leaves a PoSt opens: fixed by the chain's randomness and the sector (`storage-proofs-post`,
 * `generate_leaf_challenge`).
 */
import { hash } from 'node:crypto'
import type { PostGeometry } from './post-geometry.ts'

/**
 * How challenge n of the sector at position s among all sectors is numbered.
 * - `running` (API version 1.0.0: WinningPoSt, and WindowPoSt's first proofs): s · challenges + n, so it depends on the
 *   position;
 * - `per-sector` (API version 1.2.0): n.
 */
export type ChallengeRule = 'running' | 'per-sector'

/**
 * Writes the leaf numbers that a sector must open: the first 8 bytes of SHA-256(randomness ‖ sector number ‖ challenge
 * number), numbers as u64 little-endian, read little-endian, modulo the number of leaves.
 *
 * @param randomness 32 bytes, canonical
 * @param position of the sector among all sectors of the proof: partition · sectors per partition + place within it
 * @param out receives `geometry.proofChallenges` leaf numbers
 */
export function deriveChallenges(
  geometry: PostGeometry,
  rule: ChallengeRule,
  randomness: Uint8Array,
  sectorNumber: bigint,
  position: number,
  out: Uint32Array,
): void {
  const count = geometry.proofChallenges
  const preimage = Buffer.alloc(48)
  preimage.set(randomness)
  preimage.writeBigUInt64LE(sectorNumber, 32)
  const first = rule === 'running' ? BigInt(position) * BigInt(count) : 0n
  // The number of leaves is a power of two, at most 2^31: the low 32 bits of the digest decide.
  const mask = geometry.nodes - 1
  for (let n = 0; n < count; n++) {
    preimage.writeBigUInt64LE(first + BigInt(n), 40)
    out[n] = hash('sha256', preimage, 'buffer').readUInt32LE(0) & mask
  }
}
