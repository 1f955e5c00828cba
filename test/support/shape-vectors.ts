import { type CircuitId, SECTOR_SIZE_TAGS, type SectorSizeTag } from '../../src/circuit/circuit-id.ts'
import type { CircuitDigest } from '../../src/circuit/digest.ts'
import { vectorJson } from './vectors.ts'

/** What the reference prints of a circuit. */
export interface ShapeVector extends CircuitDigest {
  readonly kind: string
  readonly size: string
}

const SIZE_NAMES: Record<SectorSizeTag, string> = {
  '2k': '2KiB',
  '8m': '8MiB',
  '512m': '512MiB',
  '32g': '32GiB',
  '64g': '64GiB',
}
const KINDS = { wpost: 'window', winning: 'winning' } as const

/** The ten PoSt circuits and what the reference prints of them. */
export const POST_CIRCUITS: readonly { readonly circuitId: CircuitId; readonly vector: ShapeVector }[] = (
  Object.keys(KINDS) as (keyof typeof KINDS)[]
).flatMap((family) =>
  SECTOR_SIZE_TAGS.map((size) => ({
    circuitId: `${family}-${size}` as CircuitId,
    vector: vectorJson(`shapes/${KINDS[family]}-${SIZE_NAMES[size]}.json`) as ShapeVector,
  })),
)

/** The vector without what names it: equal to a whole {@link CircuitDigest}. */
export function digestOf(vector: ShapeVector): CircuitDigest {
  const { kind: _kind, size: _size, ...digest } = vector
  return digest
}
