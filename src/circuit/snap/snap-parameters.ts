/** Sizes of SnapDeals' circuits (`constants.rs` in storage-proofs-update). */
import type { SectorSizeTag } from '../circuit-id.ts'
import { sectorNodes, treeArities } from '../sector-tree.ts'

/** What tells the circuits of different sector sizes apart. */
export interface SnapParameters {
  /** log2 of the sector's nodes. */
  readonly nodeBits: number
  /** log2 of the partitions. */
  readonly partitionBits: number
  /** log2 of the apex leafs of each partition. */
  readonly apexBits: number
  /** Challenges of each partition. */
  readonly challenges: number
  /** How many high bits of a challenge choose the randomness of its leaf: what each bit of h select stands for. */
  readonly highBits: readonly number[]
  /** Arity of each level of TreeR, from the leaf upwards. */
  readonly arities: readonly number[]
}

const SMALL = { partitionBits: 0, apexBits: 3, challenges: 10, highBits: [1, 1, 1, 1, 1, 1] } as const
const LARGE = { partitionBits: 4, apexBits: 7, challenges: 86, highBits: [7, 8, 9, 10, 11, 12] } as const
const BY_SIZE: Readonly<Record<SectorSizeTag, Omit<SnapParameters, 'nodeBits' | 'arities'>>> = {
  '2k': SMALL,
  '8m': { ...LARGE, partitionBits: 2, challenges: 10 },
  '512m': LARGE,
  '32g': LARGE,
  '64g': LARGE,
}

/** Parameters of Filecoin's proofs. */
export function snapParameters(size: SectorSizeTag): SnapParameters {
  return { ...BY_SIZE[size], nodeBits: Math.log2(sectorNodes(size)), arities: treeArities(size) }
}
