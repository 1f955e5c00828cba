/**
 * SHA-256 as the hash of TreeD: of pairs of nodes, cleared of the two highest bits (`Sha256Function` in
 * filecoin-hashers).
 */
import { hash } from 'node:crypto'

/** Hashes groups of `arity` nodes of 32 bytes each. */
export function sha256Groups(arity: number, preimages: Uint8Array, digests: Uint8Array): void {
  const groupBytes = 32 * arity
  for (let from = 0, to = 0; from < preimages.length; from += groupBytes, to += 32) {
    sha256Element(preimages.subarray(from, from + groupBytes), digests, to)
  }
}

/** Writes the digest of a message as a field element: 32 bytes little-endian below 2^254. */
export function sha256Element(message: Uint8Array, out: Uint8Array, at: number): void {
  out.set(hash('sha256', message, 'buffer'), at)
  out[at + 31] = (out[at + 31] as number) & 0x3f
}
