import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { decodeG1, encodeG1 } from '../../src/curve/encoding.ts'
import { frFromBytes } from '../../src/field/fr.ts'
import { isUsable } from '../../src/srs/toxic-waste.ts'
import { referenceSetupScalars } from '../support/reference-setup.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'
import { recordedToxic } from '../support/toxic.ts'
import { vectorFile } from '../support/vectors.ts'

describe('scalars of a set-up', () => {
  it.each([
    ['wpost-2k', 'window', '2KiB/window-2KiB.vk'],
    ['winning-2k', 'winning', '2KiB/winning-2KiB.vk'],
  ] as const)('with the reference secrets, %s gets the points of ic of its key', (circuitId, name, file) => {
    const toxic = recordedToxic('2KiB', name)
    const { ic } = referenceSetupScalars(circuitShape(circuitId), toxic)
    const g1 = decodeG1(toxic.g1, { subgroup: true })
    const points = Array.from({ length: ic.length / 32 }, (_, i) =>
      encodeG1(g1.multiplyUnsafe(frFromBytes(ic, 32 * i))),
    )
    expect(Buffer.concat(points).equals(Buffer.from(vectorFile(file).subarray(868)))).toBe(true)
  })

  it('any part of a query can be asked for alone', () => {
    const scalars = referenceSetupScalars(tinyCircuit(), recordedToxic('2KiB', 'window'))
    for (const [query, points] of [
      ['h', 7],
      ['l', 4],
      ['a', 6],
      ['b_g1', 4],
      ['b_g2', 4],
    ] as const) {
      const whole = scalars.query(query, 0, points)
      const parts = [
        scalars.query(query, 0, 1),
        scalars.query(query, 1, points - 2),
        scalars.query(query, points - 1, 1),
      ]
      expect(Buffer.concat(parts), query).toEqual(Buffer.from(whole))
    }
  })

  it('zero, and a tau of the domain, are not usable', () => {
    const toxic = recordedToxic('2KiB', 'window')
    expect(isUsable(toxic, 15)).toBe(true)
    expect(isUsable({ ...toxic, gamma: 0n }, 15)).toBe(false)
    // −1 is a square root of 1.
    expect(isUsable({ ...toxic, tau: 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000n }, 15)).toBe(
      false,
    )
  })
})
