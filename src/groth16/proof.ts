/**
 * A Groth16 proof as points and as bytes: A (48) · B (96) · C (48), compressed, as `bellperson::groth16::Proof` writes
 * it.
 */
import {
  decodeG1Compressed,
  decodeG2Compressed,
  encodeG1Compressed,
  encodeG2Compressed,
  G1_COMPRESSED_BYTES,
  G2_COMPRESSED_BYTES,
} from '../curve/encoding.ts'
import type { G1Point, G2Point } from '../curve/points.ts'

/** Bytes of the proof of one partition. */
export const PROOF_BYTES: number = 2 * G1_COMPRESSED_BYTES + G2_COMPRESSED_BYTES

/** The three points that a verifier is given. */
export interface Proof {
  readonly a: G1Point
  readonly b: G2Point
  readonly c: G1Point
}

/** @returns 192 bytes */
export function encodeProof(proof: Proof): Uint8Array {
  const out = new Uint8Array(PROOF_BYTES)
  out.set(encodeG1Compressed(proof.a), 0)
  out.set(encodeG2Compressed(proof.b), G1_COMPRESSED_BYTES)
  out.set(encodeG1Compressed(proof.c), G1_COMPRESSED_BYTES + G2_COMPRESSED_BYTES)
  return out
}

/**
 * Decodes one proof with every check: length, flags, coordinates below p, on the curve, in the subgroup, not infinity.
 * @throws {PointEncodingError}
 */
export function decodeProof(bytes: Uint8Array): Proof {
  const bAt = G1_COMPRESSED_BYTES
  const cAt = bAt + G2_COMPRESSED_BYTES
  return {
    a: decodeG1Compressed(bytes.subarray(0, bAt), { subgroup: true }),
    b: decodeG2Compressed(bytes.subarray(bAt, cAt), { subgroup: true }),
    c: decodeG1Compressed(bytes.subarray(cAt), { subgroup: true }),
  }
}
