/** What determines the witness of a PoRep partition. Scalars are 32 bytes little-endian, canonical. */
import type { TreePath } from '../tree-path.ts'

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
  /** In the tree over columns (TreeC). The leaf is the hash of the node's own labels, which the circuit computes too. */
  readonly columnPath: TreePath
}

export interface PorepParentInput {
  /** Labels of layers 1, 2, … of the parent. */
  readonly column: Uint8Array
  /** In TreeC; its index is the parent's. */
  readonly path: TreePath
}
