/** The transpose of a circuit's matrices, carried out by bigints as the device does, beside a walk over all rows. */
import { describe, expect, it } from 'vitest'
import { circuitShape, recordCircuit } from '../../src/circuit/circuit-shape.ts'
import { LinearCombination } from '../../src/circuit/linear-combination.ts'
import { type CircuitShape, INPUT, KIND_MASK, NUMBER_MASK, ONE, type Variable } from '../../src/circuit/shape.ts'
import { type Terms, walkRows } from '../../src/circuit/walk-rows.ts'
import { FR_MODULUS } from '../../src/field/fr.ts'
import { INSTANCE_WORDS, setupInstances } from '../../src/webgpu/setup/setup-instances.ts'
import { BASE, type SidePlan, transposePlan } from '../../src/webgpu/setup/transposed-terms.ts'
import { forestShape } from '../support/forest-circuit.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'

const MOST_TERMS = 128

/** Different enough for a mix-up to show, without any arithmetic of the field. */
const weight = (row: number): bigint => BigInt(row + 1) * BigInt(row + 7)

/** Σ over rows of coefficient · weight, for every variable, by the rows themselves. */
function byRows(shape: CircuitShape): bigint[][] {
  const { inputs, aux, constraints, coefficients } = shape
  const sums = [0, 1, 2].map(() => new Array<bigint>(inputs + aux).fill(0n))
  const add = (side: bigint[] | undefined, terms: Terms, row: number): void => {
    for (let k = 0; k < terms.count; k++) {
      const variable = terms.variables[k] as number
      const j = (variable & NUMBER_MASK) + ((variable & KIND_MASK) >>> 0 === INPUT ? 0 : inputs)
      const term = (coefficients[terms.coefficients[k] as number] as bigint) * weight(row)
      if (side !== undefined) side[j] = (side[j] as bigint) + term
    }
  }
  walkRows(shape, ({ index, a, b, c }) => {
    for (const [k, terms] of [a, b, c].entries()) add(sums[k], terms, index)
  })
  for (let k = 0; k < inputs; k++)
    (sums[0] as bigint[])[k] = ((sums[0] as bigint[])[k] as bigint) + weight(constraints + k)
  return sums.map((side) => side.map((sum) => sum % FR_MODULUS))
}

/** The same by the stages of a plan. Fails if a stage writes to one place twice, or reads what it writes. */
function byStages(shape: CircuitShape, side: SidePlan, plan: ReturnType<typeof transposePlan>): bigint[] {
  const { inputs, aux, coefficients } = shape
  const { words, ranges } = setupInstances(plan, inputs)
  const sums = new Array<bigint>(inputs + aux).fill(0n)
  const slots = new Array<bigint>(plan.places.get(shape.root)?.slots ?? 0).fill(0n)
  for (const { template, source, target, firstOutput, outputs, terms, sources, targets } of side.stages) {
    const { first, count } = ranges.get(template) ?? { first: 0, count: 0 }
    const read = new Set<number>()
    const written = new Set<number>()
    let counted = 0
    for (let instance = first; instance < first + count; instance++) {
      const base = (word: number): number =>
        word === BASE.none ? 0 : (words[INSTANCE_WORDS * instance + word] as number)
      for (let output = firstOutput; output < firstOutput + outputs; output++) {
        const [offset, from, to] = [0, 1, 3].map((k) => side.outputs[2 * output + k]) as [number, number, number]
        expect(to - from).toBeLessThanOrEqual(MOST_TERMS)
        counted += to - from
        let sum = 0n
        for (let term = from; term < to; term++) {
          const [at, coefficient] = [side.terms[2 * term], side.terms[2 * term + 1]] as [number, number]
          if (at < sources[0] || at > sources[1]) throw new Error('the span of sources is wrong')
          const place = base(source) + at
          if (source === BASE.slots) read.add(place)
          const value = source === BASE.rows ? weight(place) : (slots[place] as bigint)
          sum += (coefficients[coefficient] as bigint) * value
        }
        if (offset < targets[0] || offset > targets[1]) throw new Error('the span of targets is wrong')
        const place = base(target) + offset
        if (written.has(place)) throw new Error(`${template.name} writes ${place} twice`)
        written.add(place)
        const into = target === BASE.slots ? slots : sums
        into[place] = ((into[place] as bigint) + sum) % FR_MODULUS
      }
    }
    expect(counted).toBe(terms * count)
    if (target === BASE.slots) for (const place of written) if (read.has(place)) throw new Error(`reads ${place} too`)
  }
  return sums
}

/** ONE, a variable and an input of the root in more rows and children than one list, or a list of lists, holds. */
function wideCircuit(children: number): CircuitShape {
  return recordCircuit('winning-2k', (cs) => {
    const of = LinearCombination.of
    const shared = cs.allocate('wide')
    const input = cs.allocateInput()
    for (let k = 0; k < 300; k++) cs.enforce(of(shared, BigInt(k + 2)).add(ONE, 3n), of(ONE), of(input))
    for (let k = 0; k < children; k++) {
      cs.template('child', { nums: [shared] }, (body, { nums: [wire] }) => {
        const own = body.allocate('wide')
        body.enforce(of(own).add(wire as Variable, 5n), of(wire as Variable).subtract(ONE), of(own, 7n).add(ONE))
        return {}
      })
    }
  })
}

describe.each([
  ['a tiny circuit', tinyCircuit()],
  ['one of everything', forestShape()],
  ['lists of lists of lists', wideCircuit(MOST_TERMS ** 2 + 5)],
  ['wpost-2k', circuitShape('wpost-2k')],
])('the transpose of %s', (_, shape) => {
  it('gives what a walk over the rows gives, without a place that two threads add to', () => {
    const plan = transposePlan(shape.root, shape.inputs, shape.constraints)
    const expected = byRows(shape)
    for (const [k, side] of plan.sides.entries()) expect(byStages(shape, side, plan)).toEqual(expected[k])
  })
})
