/** The SnapDeals circuits are those of the reference: counts and densities of all sizes, the digest of the smallest. */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { allocateBits } from '../../src/circuit/gadgets/boolean.ts'
import { merkleRoot } from '../../src/circuit/gadgets/merkle-root.ts'
import { allocateNum } from '../../src/circuit/gadgets/num.ts'
import { SHA256_TREE } from '../../src/circuit/gadgets/sha256-tree.ts'
import { challengeBits } from '../../src/circuit/snap/challenge-bits.ts'
import { synthesizeSnap } from '../../src/circuit/snap/snap-circuit.ts'
import { serializeShape } from '../../src/cpu/circuit-machine/image.ts'
import { planCircuit } from '../../src/cpu/circuit-machine/pieces.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { gadgetShape } from '../support/circuits.ts'
import { arrayBytes, earlyRead } from '../support/definitions.ts'
import { digestOf, expectStatistics, SEAL_CIRCUITS } from '../support/shape-vectors.ts'

const MIB = 2 ** 20
const CIRCUITS = SEAL_CIRCUITS.filter(({ circuitId }) => circuitId.startsWith('snap-'))

describe('counts and densities', () => {
  it.each(CIRCUITS)('of $circuitId', ({ circuitId, vector }) => {
    const shape = circuitShape(circuitId)
    expectStatistics(shape, vector)
    expect(earlyRead(shape.root)).toBeUndefined()
    const { aAux, bAux } = shape.density
    expect(arrayBytes(shape.root) + aAux.buffer.byteLength + bAux.buffer.byteLength).toBeLessThan(32 * MIB)
  })

  const highBits = [1, 1, 1, 1, 1, 1]
  const few = { partitionBits: 0, apexBits: 3, challenges: 10, highBits }
  const more = { partitionBits: 1, apexBits: 7, challenges: 10, highBits }
  it.each([
    ['1 KiB', { ...few, nodeBits: 5, arities: [8, 4] }, 1_248_389],
    ['4 KiB', { ...few, nodeBits: 7, arities: [8, 8, 2] }, 2_165_109],
    ['8 KiB', { ...few, nodeBits: 8, arities: [8, 8, 4] }, 2_620_359],
    ['16 KiB', { ...more, nodeBits: 9, arities: [8, 8, 8] }, 6_300_021],
    ['32 KiB', { ...more, nodeBits: 10, arities: [8, 8, 8, 2] }, 6_760_091],
  ])('that the reference’s tests assert for %s', (_, parameters, constraints) => {
    const shape = gadgetShape((cs) => synthesizeSnap(cs, parameters))
    expect({ inputs: shape.inputs, constraints: shape.constraints }).toEqual({ inputs: 5, constraints })
  })

  it.each([
    [6, 10, 568],
    [20, 86, 4544],
    [26, 86, 5680],
  ])('of the random bits: %i for each of %i challenges', (bits, challenges, constraints) => {
    let found: unknown[][] = []
    const shape = gadgetShape((cs) => {
      found = challengeBits(cs, allocateNum(cs), allocateNum(cs), bits, challenges)
    })
    expect(shape.constraints).toBe(constraints)
    expect([found.length, new Set(found.map(({ length }) => length))]).toEqual([challenges, new Set([bits])])
  })
})

describe('a root above known siblings', () => {
  it('refuses index bits that do not fit the levels', () => {
    expect(() =>
      gadgetShape((cs) => merkleRoot(cs, SHA256_TREE, allocateNum(cs), allocateBits(cs, 2), [[allocateNum(cs)]])),
    ).toThrow(RangeError)
  })
})

describe('what a witness sends', () => {
  it('of a 32 GiB partition is 10 MB of bits and less than 1 MB of scalars', () => {
    const { bits, wide } = circuitShape('snap-32g').root.totals
    // Two leaves, siblings in two octal trees of ten levels, and in TreeD from level 0 up to the apex at 30 − 4 − 7.
    expect(wide).toBe(6 + 128 + 4 + 86 * (2 + 2 * 10 * 7 + 19))
    expect(bits / 8).toBeLessThan(10.1e6)
  })
})

describe('challenges', () => {
  it('can be assigned side by side: they share the root’s first part only', () => {
    const shape = circuitShape('snap-2k')
    const { sections } = planCircuit(shape, serializeShape(shape), 2 ** 15)
    // The first part has the apex tree and the one digest.
    expect(sections.map(({ rows }) => rows)).toEqual([947 + 317_654 + 568, ...new Array<number>(10).fill(138_587)])
  })
})

describe('digests, with all checkpoints', () => {
  it.each(CIRCUITS.slice(0, 1))('of $circuitId', async ({ circuitId, vector }) => {
    const { every } = vector
    expect(await circuitDigest(circuitShape(circuitId), new CircuitMachine(), { every })).toEqual(digestOf(vector))
  })
})
