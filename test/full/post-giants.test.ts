/** The circuits of a full WindowPoSt partition, 125 and 130 million rows, are those of the reference. Takes minutes. */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { digestOf, POST_CIRCUITS } from '../support/shape-vectors.ts'

const MINUTE_MS = 60_000

describe('digests, with all checkpoints', () => {
  const giants = POST_CIRCUITS.filter(({ circuitId }) => circuitId === 'wpost-32g' || circuitId === 'wpost-64g')
  it.each(giants)(
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
