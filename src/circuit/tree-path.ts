/** The way from a leaf to a root, as circuits read it. */
export interface TreePath {
  /** Position of the leaf; its bits are the index bits of the levels, from the leaf upwards. */
  readonly index: number
  /**
   * Siblings, 32 bytes little-endian each and canonical: from the leaf upwards arity − 1 a level, in rising position without the
   * own one.
   */
  readonly siblings: Uint8Array
}
