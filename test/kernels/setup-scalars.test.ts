/** The scalars of a set-up from WebAssembly are those that bigints give. */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { wasmSetupScalars } from '../../src/cpu/setup-scalars.ts'
import { paramsLayout, QUERIES } from '../../src/params/layout.ts'
import { frStream } from '../support/fr-vectors.ts'
import { referenceSetupScalars } from '../support/reference-setup.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'

const next = frStream(11)
const secrets = { alpha: next(), beta: next(), gamma: next(), delta: next(), tau: next() }

describe.each([
  ['a tiny circuit', tinyCircuit()],
  ['wpost-2k', circuitShape('wpost-2k')],
])('of %s', (_, shape) => {
  it('equal the bigint ones, in any ranges', async () => {
    const expected = referenceSetupScalars(shape, secrets)
    const scalars = await wasmSetupScalars(shape, secrets)
    expect(scalars.ic).toEqual(expected.ic)
    const { queries } = paramsLayout(shape)
    for (const query of QUERIES) {
      const { points } = queries[query]
      const cut = Math.floor(points / 3)
      for (const [first, count] of [
        [0, cut],
        [cut, points - cut],
        [points, 0],
      ] as const) {
        const actual = Buffer.from(scalars.query(query, first, count))
        expect(actual.equals(expected.query(query, first, count)), query).toBe(true)
      }
      expect(() => scalars.query(query, points, 1)).toThrow(RangeError)
    }
  })
})
