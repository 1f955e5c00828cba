/** The ten PoSt circuits are those of the reference: counts and densities of all, digests of all but the giants. */
import { describe, expect, it } from 'vitest'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { shapeStatistics } from '../../src/circuit/density.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { walkRows } from '../../src/circuit/walk-rows.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { referenceHasher } from '../support/circuits.ts'
import { digestOf, expectStatistics, POST_CIRCUITS } from '../support/shape-vectors.ts'

/** 125 and 130 million rows: hashed by test/full/. */
const GIANTS: readonly CircuitId[] = ['wpost-32g', 'wpost-64g']

describe('counts and densities', () => {
  it.each(POST_CIRCUITS)('of $circuitId', ({ circuitId, vector }) => expectStatistics(circuitShape(circuitId), vector))
})

describe('digests, with all checkpoints', () => {
  const small = POST_CIRCUITS.filter(({ circuitId }) => !GIANTS.includes(circuitId))
  it.each(small)('of $circuitId in WebAssembly', async ({ circuitId, vector }) => {
    const { every } = vector
    expect(await circuitDigest(circuitShape(circuitId), new CircuitMachine(), { every })).toEqual(digestOf(vector))
  })

  const smallest = POST_CIRCUITS.filter(({ circuitId }) => circuitId.endsWith('-2k'))
  it.each(smallest)('of $circuitId by the reference walker', async ({ circuitId, vector }) => {
    const { every } = vector
    expect(await circuitDigest(circuitShape(circuitId), referenceHasher, { every })).toEqual(digestOf(vector))
  })

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
