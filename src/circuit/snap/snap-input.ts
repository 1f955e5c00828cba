/** What determines the witness of a SnapDeals partition. Scalars are 32 bytes little-endian, canonical. */

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
 * One challenge. Its node is not an input: the circuit derives it from comm_r_new. Siblings come as in a `TreePath`, whose index
 * follows from the node.
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
