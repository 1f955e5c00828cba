/** What determines the witness of a PoRep or SnapDeals partition. Scalars are 32 bytes little-endian, canonical. */

/** The way from a leaf to a root, as circuits read it. */
export interface TreePath {
  /** Position of the leaf; its bits are the index bits of the levels, from the leaf upwards. */
  readonly index: number
  /**
   * Siblings, 32 bytes little-endian each and canonical: from the leaf upwards arity − 1 a level, in rising position
   * without the own one.
   */
  readonly siblings: Uint8Array
}

export interface PorepPartitionInput {
  readonly replicaId: Uint8Array
  readonly commD: Uint8Array
  readonly commR: Uint8Array
  readonly commRLast: Uint8Array
  readonly commC: Uint8Array
  readonly challenges: readonly PorepChallengeInput[]
}

export interface PorepChallengeInput {
  /** Index of the challenged node: also of the leaf in all three trees. */
  readonly node: number
  readonly dataLeaf: Uint8Array
  /** In the binary SHA-256 tree over the data (TreeD). */
  readonly dataPath: TreePath
  /** Six parents in the base graph, then eight in the expander. */
  readonly parents: readonly PorepParentInput[]
  /** In the tree over the replica (TreeR). The leaf is the node's label plus its data: the circuit computes it. */
  readonly replicaPath: TreePath
  /**
   * In the tree over columns (TreeC). The leaf is the hash of the node's own labels, which the circuit computes too.
   */
  readonly columnPath: TreePath
}

export interface PorepParentInput {
  /** Labels of layers 1, 2, … of the parent. */
  readonly column: Uint8Array
  /** In TreeC; its index is the parent's. */
  readonly path: TreePath
}

export interface SnapPartitionInput {
  readonly partition: number
  /** One of the six bits: 2^i for the first i whose high bits are the number in use. */
  readonly hSelect: number
  readonly commROld: Uint8Array
  readonly commDNew: Uint8Array
  readonly commRNew: Uint8Array
  readonly commC: Uint8Array
  readonly rootROld: Uint8Array
  readonly rootRNew: Uint8Array
  /** Nodes of one level of the new TreeD below the partition's node, from left to right. */
  readonly apexLeafs: Uint8Array
  /** Siblings in the new TreeD from the partition's node upwards. */
  readonly partitionPath: Uint8Array
  readonly challenges: readonly SnapChallengeInput[]
}

/**
 * One challenge. Its node is not an input: the circuit derives it from comm_r_new. Siblings come as in a `TreePath`,
 * whose index follows from the node.
 */
export interface SnapChallengeInput {
  readonly leafOld: Uint8Array
  readonly leafData: Uint8Array
  /** In the TreeR of the old replica. */
  readonly siblingsOld: Uint8Array
  /** In the TreeR of the new replica. */
  readonly siblingsNew: Uint8Array
  /** In the new TreeD, only up to the apex leafs. */
  readonly siblingsData: Uint8Array
}
