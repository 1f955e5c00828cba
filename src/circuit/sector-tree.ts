/** Shapes of the Poseidon trees over a sector's nodes (TreeC, TreeR and its upper part TreeRLast), by sector size. */
import { SECTOR_SIZE_BYTES, type SectorSizeTag } from './circuit-id.ts'

/** Bytes of a node, and of every tree leaf. */
export const NODE_BYTES = 32

/** Arities of the parts of a tree above its base trees, which are octal: 0 if the part is absent. */
const UPPER_ARITIES: Readonly<Record<SectorSizeTag, { readonly sub: number; readonly top: number }>> = {
  '2k': { sub: 0, top: 0 },
  '8m': { sub: 0, top: 0 },
  '512m': { sub: 0, top: 0 },
  '32g': { sub: 8, top: 0 },
  '64g': { sub: 8, top: 2 },
}
const BASE_ARITY = 8

/** Parts of a tree as arities, from the base trees upwards: 0 if a part is absent. */
export function treeShape(size: SectorSizeTag): { readonly base: number; readonly sub: number; readonly top: number } {
  return { base: BASE_ARITY, ...UPPER_ARITIES[size] }
}

/** Levels of a path above the base tree: one for a sub arity, one more for a top arity. */
export function upperLevels(size: SectorSizeTag): 0 | 1 | 2 {
  const { sub, top } = UPPER_ARITIES[size]
  return top > 0 ? 2 : sub > 0 ? 1 : 0
}

/** Leaves of a sector's trees. */
export function sectorNodes(size: SectorSizeTag): number {
  return SECTOR_SIZE_BYTES[size] / NODE_BYTES
}

/** Arity of each level of a sector's tree, from the leaf upwards: 64 GiB has nine octal levels, then 8, then 2. */
export function treeArities(size: SectorSizeTag): number[] {
  const { sub, top } = UPPER_ARITIES[size]
  const upper = [sub, top].filter((arity) => arity > 0)
  const baseLeaves = upper.reduce((leaves, arity) => leaves / arity, sectorNodes(size))
  const baseLevels = Math.log2(baseLeaves) / Math.log2(BASE_ARITY)
  return [...new Array<number>(baseLevels).fill(BASE_ARITY), ...upper]
}
