/** The label of a node in a layer (`create_label.rs` in storage-proofs-porep). */
import { type Bit, FALSE } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { sha256Element } from '../gadgets/sha256-tree.ts'
import { bitsFromWords, constantWord } from '../gadgets/uint32.ts'
import type { UInt64 } from '../gadgets/uint64.ts'
import type { Variable } from '../shape.ts'

/** Parents that a label hashes: those of the node, over and over. */
const LABEL_PARENTS = 37
const HEADER_BITS = 512

/**
 * SHA256(replica id ‖ layer as u32 ‖ node as u64 ‖ 20 zero bytes ‖ 37 parents), big-endian numbers, as a template: 20
 * compressions and the packing that derives the result. The first compression differs from layer to layer, since the
 * layer is a constant; the others don't.
 * @param layer from 1
 * @param parents bits of messages, 256 each
 */
export function label(
  cs: ConstraintSystem,
  replicaId: readonly Bit[],
  layer: number,
  node: UInt64,
  parents: readonly (readonly Bit[])[],
): Variable {
  const message = [...replicaId, ...bitsFromWords([constantWord(layer)]), ...node.toReversed()]
  while (message.length < HEADER_BITS) message.push(FALSE)
  message.push(...parents.flat())
  const { nums } = cs.template('label', { bits: message }, (body, { bits }) => ({ nums: [sha256Element(body, bits)] }))
  return nums[0] as Variable
}

/** Repeats a node's parents in order until there are 37. */
export function expandParents<T>(parents: readonly T[]): T[] {
  return Array.from({ length: LABEL_PARENTS }, (_, i) => parents[i % parents.length] as T)
}
