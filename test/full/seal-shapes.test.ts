/**
 * Every row of the larger PoRep and SnapDeals circuits against the reference. Far too long for a usual run:
 * `npm run test:full`.
 */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { digestOf, SEAL_CIRCUITS } from '../support/shape-vectors.ts'

const MINUTE_MS = 60_000

describe('digests, with all checkpoints', () => {
  it.each(SEAL_CIRCUITS.filter(({ circuitId }) => !circuitId.endsWith('-2k')))(
    'of $circuitId',
    async ({ circuitId, vector }) => {
      const begin = performance.now()
      const { every } = vector
      expect(await circuitDigest(circuitShape(circuitId), new CircuitMachine(), { every })).toEqual(digestOf(vector))
      console.log(`${circuitId}: ${((performance.now() - begin) / MINUTE_MS).toFixed(1)} minutes`)
    },
    30 * MINUTE_MS,
  )
})
