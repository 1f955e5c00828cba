/** What a PoRep states: the public inputs of its partitions. */
import { NODES_PER_CHALLENGE, type SealCommitments } from './porep-partition.ts'

const SCALAR_BYTES = 32
const NODE_REPEATS = 3

/** A node, its parents, and three times the node again: the indices of the paths in the order of the circuit. */
export const INPUTS_PER_CHALLENGE: number = NODES_PER_CHALLENGE + NODE_REPEATS

/**
 * Public inputs of a partition without ONE: replica id, comm_d, comm_r, then 18 a challenge.
 * @param nodes 15 a challenge: the node and its parents
 * @returns 32 bytes little-endian each, one after another
 */
export function porepPublicInputs(commitments: SealCommitments, nodes: Uint32Array): Uint8Array {
  const challenges = nodes.length / NODES_PER_CHALLENGE
  const bytes = new Uint8Array((3 + challenges * INPUTS_PER_CHALLENGE) * SCALAR_BYTES)
  bytes.set(commitments.replicaId)
  bytes.set(commitments.commD, SCALAR_BYTES)
  bytes.set(commitments.commR, 2 * SCALAR_BYTES)
  const view = new DataView(bytes.buffer)
  let at = 3 * SCALAR_BYTES
  const put = (node: number): void => {
    view.setUint32(at, node, true)
    at += SCALAR_BYTES
  }
  for (let c = 0; c < challenges; c++) {
    const own = nodes.subarray(c * NODES_PER_CHALLENGE, (c + 1) * NODES_PER_CHALLENGE)
    own.forEach(put)
    for (let i = 0; i < NODE_REPEATS; i++) put(own[0] as number)
  }
  return bytes
}
