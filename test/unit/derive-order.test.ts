/** The order in which a GPU derives variables: whatever one is derived from is known by then. */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { AUX, type CircuitShape, DEFINES_NOTHING, INPUT, KIND_MASK, NUMBER_MASK, ONE } from '../../src/circuit/shape.ts'
import { walkAux } from '../../src/circuit/walk-rows.ts'
import { shapeInstances } from '../../src/webgpu/assignment/instances.ts'
import { forestShape } from '../support/forest-circuit.ts'

/** Words of a record: first aux variable, first input, then wires. */
const [AUX_WORD, INPUT_WORD, WIRES_WORD] = [1, 2, 5]

/** Places in z that hold what they must after all batches, by what each batch reads and writes. */
function knownPlaces(shape: CircuitShape): Uint8Array {
  const known = new Uint8Array(shape.inputs + shape.aux).fill(1, 0, shape.inputs)
  walkAux(shape, (auxClass, first, count) => {
    if (auxClass !== 'derived') known.fill(1, shape.inputs + first, shape.inputs + first + count)
  })
  const batches = shapeInstances(shape)
    .filter(({ own }) => own.derives)
    .flatMap((instances) => [...instances.early, ...instances.batches].map((batch) => ({ ...batch, instances })))
    .sort((a, b) => a.depth - b.depth)
  for (const { first, count, instances } of batches) {
    const { template, records, recordWords } = instances
    const { matrix, poseidon, totals, wires } = template
    for (let instance = first; instance < first + count; instance++) {
      const word = (k: number): number => records[instance * recordWords + k] as number
      const place = (variable: number): number => {
        const number = variable & NUMBER_MASK
        const kind = (variable & KIND_MASK) >>> 0
        if (kind === AUX) return word(AUX_WORD) + number
        if (kind === INPUT) return word(INPUT_WORD) + number
        return variable === ONE ? 0 : word(WIRES_WORD + number)
      }
      if (poseidon !== undefined) {
        const ready = Array.from({ length: wires }, (_, k) => known[word(WIRES_WORD + k)]).every((is) => is === 1)
        known.fill(ready ? 1 : 0, word(AUX_WORD), word(AUX_WORD) + totals.aux)
        continue
      }
      for (let row = 0; row < matrix.rows; row++) {
        const defined = matrix.defines[row] as number
        if (defined === DEFINES_NOTHING) continue
        const target = word(AUX_WORD) + defined
        const terms = matrix.termVariable.subarray(matrix.termStart[3 * row], matrix.termStart[3 * row + 3])
        const ready = terms.every((variable) => place(variable) === target || known[place(variable)] === 1)
        known[target] = ready ? 1 : 0
      }
    }
  }
  return known
}

describe.each([
  ['one of everything', forestShape],
  ['wpost-2k', () => circuitShape('wpost-2k')],
  ['porep-2k', () => circuitShape('porep-2k')],
  ['snap-2k', () => circuitShape('snap-2k')],
])('of %s', (_, shape) => {
  it('all variables are derived from known ones', () => {
    expect(knownPlaces(shape()).indexOf(0)).toBe(-1)
  })
})
