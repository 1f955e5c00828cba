/** What the label of a node in a layer is the SHA-256 of (`create_label` in storage-proofs-porep). */
import { DRG_PARENTS } from '../../circuit/porep/porep-circuit.ts'
import { LABEL_PARENTS, PARENTS, type PorepGeometry } from './porep-geometry.ts'

const HEADER_BYTES = 64

/** replica id 32 ‖ layer u32 ‖ node u64 ‖ zeros up to 64 ‖ 37 parents; numbers big-endian. 19 and a half blocks. */
export const LABEL_PREIMAGE_BYTES: number = HEADER_BYTES + 32 * LABEL_PARENTS

/**
 * Fills a preimage from the columns of a challenge's parents. The first layer hashes the 6 parents in its own layer,
 * the others those and then the 8 in the layer below, over and over until there are 37.
 *
 * @param challenge offset of the challenge's proof in `bytes`
 * @param layer from 1
 */
export function fillLabelPreimage(
  out: Uint8Array,
  { challenge: { parents } }: PorepGeometry,
  bytes: Uint8Array,
  challenge: number,
  replicaId: Uint8Array,
  layer: number,
  node: number,
): void {
  out.set(replicaId)
  out.fill(0, 32, HEADER_BYTES)
  const view = new DataView(out.buffer, out.byteOffset)
  view.setUint32(32, layer)
  // A node has at most 31 bits: the upper half of the number is 0.
  view.setUint32(40, node)
  const count = layer === 1 ? DRG_PARENTS : PARENTS
  for (let i = 0; i < LABEL_PARENTS; i++) {
    const parent = i % count
    const row = parent < DRG_PARENTS ? layer - 1 : layer - 2
    const at = challenge + (parents[parent] as { rows: number }).rows + 32 * row
    out.set(bytes.subarray(at, at + 32), HEADER_BYTES + 32 * i)
  }
}

/** Offset of parent `i` of 37 in a preimage. */
export const labelParentOffset = (i: number): number => HEADER_BYTES + 32 * i
