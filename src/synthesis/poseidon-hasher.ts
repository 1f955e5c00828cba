/** What the checks of vanilla proofs need of Poseidon; the hashes themselves come from WebAssembly. */

/**
 * Poseidon as Filecoin's Merkle trees use it: Neptune's standard strength, domain tag 2^arity − 1 unless another one is
 * given.
 */
export interface PoseidonHasher {
  /**
   * Hashes many groups at once.
   * @param arity 2 or 8; columns of 11 layers have 11
   * @param preimages groups of `arity` scalars, one after another, 32 bytes little-endian each, canonical
   * @param digests receives 32 bytes little-endian a group
   * @param domainTag element 0 of the state; that of a Merkle tree by default
   */
  hash(arity: number, preimages: Uint8Array, digests: Uint8Array, domainTag?: bigint): void
}
