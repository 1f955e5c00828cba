/** The PoRep circuits are those of the reference: counts and densities of all sizes, the digest of the smallest. */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { synthesizePorep } from '../../src/circuit/porep/porep-circuit.ts'
import { serializeShape } from '../../src/cpu/circuit-machine/image.ts'
import { planCircuit } from '../../src/cpu/circuit-machine/pieces.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { gadgetShape } from '../support/circuits.ts'
import { arrayBytes, earlyRead } from '../support/definitions.ts'
import { digestOf, expectStatistics, SEAL_CIRCUITS } from '../support/shape-vectors.ts'

const MIB = 2 ** 20
const CIRCUITS = SEAL_CIRCUITS.filter(({ circuitId }) => circuitId.startsWith('porep-'))

describe('counts and densities', () => {
  it.each(CIRCUITS)('of $circuitId', ({ circuitId, vector }) => {
    const shape = circuitShape(circuitId)
    expectStatistics(shape, vector)
    expect(earlyRead(shape.root)).toBeUndefined()
    const { aAux, bAux } = shape.density
    expect(arrayBytes(shape.root) + aAux.buffer.byteLength + bAux.buffer.byteLength).toBeLessThan(64 * MIB)
  })

  /** One challenge in two layers; the number of leaves is the product of the arities. */
  it.each([
    [[2, 2, 2], 1_206_212],
    [[8], 1_199_620],
    [[8, 4], 1_296_576],
    [[8, 4, 2], 1_346_982],
  ])('that the reference’s tests assert for trees of arities %j', (arities, constraints) => {
    const dataLevels = Math.log2(arities.reduce((leaves, arity) => leaves * arity))
    const shape = gadgetShape((cs) => synthesizePorep(cs, { layers: 2, challenges: 1, dataLevels, arities }))
    expect({ inputs: shape.inputs, constraints: shape.constraints }).toEqual({ inputs: 22, constraints })
  })
})

describe('what a witness sends', () => {
  it('of a 32 GiB partition is 16 MB of bits and less than 1 MB of scalars', () => {
    const { bits, wide } = circuitShape('porep-32g').root.totals
    // Rows of 14 columns, and siblings: in TreeD 30, in TreeC or TreeR 16 times ten levels of seven; the leaf.
    expect(wide).toBe(5 + 18 * (1 + 30 + 14 * 11 + 16 * 10 * 7))
    expect(bits / 8).toBeLessThan(16.1e6)
  })
})

describe('challenges', () => {
  it('can be assigned side by side: they share the root’s first part only', () => {
    const shape = circuitShape('porep-2k')
    const { sections } = planCircuit(shape, serializeShape(shape), 2 ** 15)
    expect(sections.length).toBe(1 + 2)
    expect(sections.slice(1).map(({ rows }) => rows)).toEqual([1_343_675 + 312, 1_343_675])
  })
})

describe('digests, with all checkpoints', () => {
  it.each(CIRCUITS.slice(0, 1))('of $circuitId', async ({ circuitId, vector }) => {
    const { every } = vector
    expect(await circuitDigest(circuitShape(circuitId), new CircuitMachine(), { every })).toEqual(digestOf(vector))
  })
})
