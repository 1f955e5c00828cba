import { expect } from 'vitest'
import { type CircuitId, SECTOR_SIZE_TAGS, type SectorSizeTag } from '../../src/circuit/circuit-id.ts'
import { shapeStatistics } from '../../src/circuit/density.ts'
import type { CircuitDigest } from '../../src/circuit/digest.ts'
import type { CircuitShape } from '../../src/circuit/shape.ts'
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
const KINDS = { wpost: 'window', winning: 'winning', porep: 'porep', snap: 'update' } as const

export interface CircuitVector {
  readonly circuitId: CircuitId
  readonly vector: ShapeVector
}

function circuitsOf(...families: (keyof typeof KINDS)[]): CircuitVector[] {
  return families.flatMap((family) =>
    SECTOR_SIZE_TAGS.map((size) => ({
      circuitId: `${family}-${size}` as CircuitId,
      vector: vectorJson(`shapes/${KINDS[family]}-${SIZE_NAMES[size]}.json`) as ShapeVector,
    })),
  )
}

/** The ten PoSt circuits and what the reference prints of them. */
export const POST_CIRCUITS: readonly CircuitVector[] = circuitsOf('wpost', 'winning')
/** The ten circuits with SHA-256. */
export const SEAL_CIRCUITS: readonly CircuitVector[] = circuitsOf('porep', 'snap')

/** The vector without what names it: equal to a whole {@link CircuitDigest}. */
export function digestOf(vector: ShapeVector): CircuitDigest {
  const { kind: _kind, size: _size, ...digest } = vector
  return digest
}

/** Compares all counts of a circuit, found without a walk over its rows. */
export function expectStatistics(shape: CircuitShape, vector: ShapeVector): void {
  const { nonzeros, density } = shapeStatistics(shape)
  const { inputs, aux, constraints } = shape
  expect({ inputs, aux, constraints, log2_domain: shape.log2Domain, nonzeros }).toEqual({
    inputs: vector.inputs,
    aux: vector.aux,
    constraints: vector.constraints,
    log2_domain: vector.log2_domain,
    nonzeros: vector.nonzeros,
  })
  expect({ a_aux: density.aAux, b_aux: density.bAux, b_inputs: density.bInputs }).toEqual(vector.density)
  const { bits, wide, derived } = shape.root.totals
  expect(bits + wide + derived).toBe(aux)
}
