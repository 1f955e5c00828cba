/** The ten PoSt circuits are those of the reference: counts and densities of all, digests of the small ones. */
import { describe, expect, it } from 'vitest'
import {
  type CircuitFamily,
  type CircuitId,
  SECTOR_SIZE_TAGS,
  type SectorSizeTag,
} from '../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { shapeStatistics } from '../../src/circuit/density.ts'
import { type CircuitDigest, circuitDigest } from '../../src/circuit/digest.ts'
import { walkRows } from '../../src/circuit/walk-rows.ts'
import { UnsupportedProofError } from '../../src/errors.ts'
import { referenceHasher } from '../support/circuits.ts'
import { vectorJson } from '../support/vectors.ts'

const SIZE_NAMES: Record<SectorSizeTag, string> = {
  '2k': '2KiB',
  '8m': '8MiB',
  '512m': '512MiB',
  '32g': '32GiB',
  '64g': '64GiB',
}
const KINDS = { wpost: 'window', winning: 'winning' } as const

interface ShapeVector extends CircuitDigest {
  readonly kind: string
  readonly size: string
}

const circuits = (Object.keys(KINDS) as (keyof typeof KINDS)[]).flatMap((family) =>
  SECTOR_SIZE_TAGS.map((size) => ({
    circuitId: `${family}-${size}` as CircuitId,
    vector: vectorJson(`shapes/${KINDS[family]}-${SIZE_NAMES[size]}.json`) as ShapeVector,
  })),
)

describe('counts and densities', () => {
  it.each(circuits)('of $circuitId', ({ circuitId, vector }) => {
    const shape = circuitShape(circuitId)
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
  })
})

describe('digests by the reference walker', () => {
  it.each(circuits.filter(({ circuitId }) => circuitId.endsWith('-2k')))(
    'of $circuitId',
    async ({ circuitId, vector }) => {
      const { kind: _kind, size: _size, ...expected } = vector
      expect(await circuitDigest(circuitShape(circuitId), referenceHasher, { every: vector.every })).toEqual(expected)
    },
  )

  it('have no checkpoints unless asked, and refuse a bad distance', async () => {
    const digest = await circuitDigest(circuitShape('wpost-2k'), referenceHasher)
    expect(digest.checkpoints).toEqual([])
    expect(digest).not.toHaveProperty('every')
    for (const every of [0, -1, 1.5]) {
      await expect(circuitDigest(circuitShape('wpost-2k'), referenceHasher, { every })).rejects.toThrow(RangeError)
    }
  })
})

describe('density', () => {
  it('is what a walk over all rows finds', () => {
    const shape = circuitShape('wpost-2k')
    const [a, b] = [new Uint8Array(shape.density.aAux.length), new Uint8Array(shape.density.bAux.length)]
    walkRows(shape, (row) => {
      for (const [bits, terms] of [
        [a, row.a],
        [b, row.b],
      ] as const) {
        for (const variable of terms.variables.subarray(0, terms.count)) {
          if (variable >= 0x8000_0000) continue
          const i = variable & 0x3fff_ffff
          bits[i >>> 3] = (bits[i >>> 3] as number) | (1 << (i & 7))
        }
      }
    })
    expect(shape.density.aAux).toEqual(a)
    expect(shape.density.bAux).toEqual(b)
  })
})

describe('the largest shape', () => {
  it('is a few templates and two bit arrays: at most 64 MiB', () => {
    const shape = circuitShape('wpost-32g')
    const { templates, storedRows } = shapeStatistics(shape)
    expect(templates).toBeLessThan(10)
    expect(storedRows).toBeLessThan(1000)
    const { aAux, bAux } = shape.density
    // Behind an array there is its whole buffer.
    expect(aAux.buffer.byteLength + bAux.buffer.byteLength).toBeLessThan(32 * 2 ** 20)
  })
})

describe('circuits of other families', () => {
  it.each(['porep', 'snap'] as CircuitFamily[])('%s are refused by name', (family) => {
    expect(() => circuitShape(`${family}-32g`)).toThrow(UnsupportedProofError)
  })
})
