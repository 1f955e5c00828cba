/**
 * Poseidon by the plain definition on bigints: slow (milliseconds a hash), needs no build. The reference for faster
 * hashers.
 */
import { poseidonHash } from '../circuit/poseidon/hash.ts'
import { frFromBytes, frWriteBytes } from '../field/fr.ts'
import type { PoseidonHasher } from './poseidon-hasher.ts'

export const bigintHasher: PoseidonHasher = {
  hash(arity, preimages, digests, domainTag) {
    const groups = preimages.length / (arity * 32)
    for (let g = 0; g < groups; g++) {
      const elements = Array.from({ length: arity }, (_, i) => frFromBytes(preimages, (g * arity + i) * 32))
      frWriteBytes(poseidonHash(elements, domainTag), digests, g * 32)
    }
  },
}
