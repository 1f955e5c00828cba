import { describe, expect, it } from 'vitest'
import { addBit, is, not, TRUE } from '../../src/circuit/bit.ts'
import type { ConstraintSystem, Values } from '../../src/circuit/constraint-system.ts'
import { shapeStatistics } from '../../src/circuit/density.ts'
import { allocateNum, inputize, multiply } from '../../src/circuit/gadgets/num.ts'
import { differenceOf, LinearCombination, sumOf } from '../../src/circuit/linear-combination.ts'
import {
  auxVariable,
  type CircuitShape,
  inputVariable,
  ONE,
  type Step,
  type Variable,
  wireVariable,
} from '../../src/circuit/shape.ts'
import { locateRow, type Terms, walkAux, walkRows } from '../../src/circuit/walk-rows.ts'
import { FR_MODULUS } from '../../src/field/fr.ts'
import { gadgetShape } from '../support/circuits.ts'

/** Rows as readable as in a paper: [variable, coefficient] of each side. */
function rowsOf(shape: CircuitShape): [string[], string[], string[]][] {
  const rows: [string[], string[], string[]][] = []
  const name = (variable: Variable): string =>
    variable >= 0x8000_0000 ? `i${variable & 0x3fff_ffff}` : `x${variable & 0x3fff_ffff}`
  const side = (terms: Terms): string[] =>
    Array.from({ length: terms.count }, (_, i) => {
      const coefficient = shape.coefficients[terms.coefficients[i] as number] as bigint
      const signed = coefficient > FR_MODULUS / 2n ? coefficient - FR_MODULUS : coefficient
      return `${signed}${name(terms.variables[i] as number)}`
    })
  walkRows(shape, ({ a, b, c }) => rows.push([side(a), side(b), side(c)]))
  return rows
}

const children = (steps: readonly Step[]): string[] =>
  steps.flatMap((step) => (step.kind === 'child' ? [step.template.name] : []))

/** p = x · (x + y), as a template of two numbers. */
function gadget(cs: ConstraintSystem, x: Variable, y: Variable): Variable {
  const { nums } = cs.template('gadget', { nums: [x, y] }, (body, { nums: [u, v] }) => {
    const p = body.allocate('derived')
    body.enforce(LinearCombination.of(u as Variable), sumOf(u as Variable, v as Variable), LinearCombination.of(p), p)
    return { nums: [p] }
  })
  return nums[0] as Variable
}

describe('a template', () => {
  it('is recorded once, and its results are the parent’s variables', () => {
    let runs = 0
    const shape = gadgetShape((cs) => {
      const [x, y, z] = [allocateNum(cs), allocateNum(cs), allocateNum(cs)]
      const twice = ({ nums: [u, v] }: Values, body: ConstraintSystem): Variable[] => {
        runs++
        return [multiply(body, u as Variable, v as Variable)]
      }
      const use = (a: Variable, b: Variable): Variable =>
        cs.template('twice', { nums: [a, b] }, (body, operands) => ({ nums: twice(operands, body) }))
          .nums[0] as Variable
      const first = use(x, y)
      expect(first).toBe(auxVariable(3))
      expect(use(z, first)).toBe(auxVariable(4))
    })
    expect(runs).toBe(1)
    expect(rowsOf(shape)).toEqual([
      [['1x0'], ['1x1'], ['1x3']],
      [['1x2'], ['1x3'], ['1x4']],
    ])
    expect(shapeStatistics(shape).templates).toBe(2)
  })

  it('has another form where operands are the same variable: terms merge', () => {
    const shape = gadgetShape((cs) => {
      const [x, y] = [allocateNum(cs), allocateNum(cs)]
      gadget(cs, x, y)
      gadget(cs, y, y)
      gadget(cs, y, x)
    })
    expect(children(shape.root.steps)).toEqual(['gadget', 'gadget#2', 'gadget'])
    expect(rowsOf(shape)).toEqual([
      [['1x0'], ['1x0', '1x1'], ['1x2']],
      [['1x1'], ['2x1'], ['1x3']],
      // Terms are in the order of the circuit's variables, not of the wires.
      [['1x1'], ['1x0', '1x1'], ['1x4']],
    ])
  })

  it('has another form where a number is ONE, which takes no wire', () => {
    const shape = gadgetShape((cs) => gadget(cs, allocateNum(cs), ONE))
    const [step] = shape.root.steps.filter((step) => step.kind === 'child')
    expect(step?.wires.length).toBe(1)
    expect(rowsOf(shape)).toEqual([[['1x0'], ['1i0', '1x0'], ['1x1']]])
  })

  it('has another form where bits are negated or constant', () => {
    const shape = gadgetShape((cs) => {
      const [x, y] = [cs.allocate('bit'), cs.allocate('bit')]
      for (const bits of [
        [is(x), is(y)],
        [not(is(x)), is(y)],
        [is(y), TRUE],
        [is(y), is(x)],
      ]) {
        cs.template('both', { bits }, (body, { bits }) => {
          const sum = new LinearCombination()
          for (const bit of bits) addBit(sum, bit)
          body.enforce(sum, LinearCombination.of(ONE), new LinearCombination())
          return {}
        })
      }
    })
    expect(children(shape.root.steps)).toEqual(['both', 'both#2', 'both#3', 'both'])
    expect(rowsOf(shape).map(([a]) => a)).toEqual([
      ['1x0', '1x1'],
      ['1i0', '-1x0', '1x1'],
      ['1i0', '1x1'],
      ['1x0', '1x1'],
    ])
  })

  it('gives back bits with their negation, and constants', () => {
    gadgetShape((cs) => {
      cs.allocate('wide')
      const { bits } = cs.template('bits', { bits: [is(auxVariable(0))] }, (body, { bits: [bit] }) => ({
        bits: [not(bit ?? TRUE), not(is(body.allocate('bit'))), TRUE],
      }))
      expect(bits).toEqual([
        { kind: 'not', variable: auxVariable(0) },
        { kind: 'not', variable: auxVariable(1) },
        { kind: 'constant', value: true },
      ])
    })
  })

  it('nests, with inputs of its own', () => {
    const shape = gadgetShape((cs) => {
      for (let i = 0; i < 2; i++) {
        cs.template('outer', {}, (outer) => {
          const x = allocateNum(outer)
          inputize(outer, x)
          const { nums } = outer.template('inner', { nums: [x] }, (inner, { nums: [u] }) => {
            const v = multiply(inner, u as Variable, u as Variable)
            inputize(inner, v)
            return { nums: [v] }
          })
          inputize(outer, nums[0] as Variable)
          return {}
        })
      }
    })
    expect(shape.inputs).toBe(7)
    expect(rowsOf(shape)).toEqual([
      [['1i1'], ['1i0'], ['1x0']],
      [['1x0'], ['1x0'], ['1x1']],
      [['1i2'], ['1i0'], ['1x1']],
      [['1i3'], ['1i0'], ['1x1']],
      [['1i4'], ['1i0'], ['1x2']],
      [['1x2'], ['1x2'], ['1x3']],
      [['1i5'], ['1i0'], ['1x3']],
      [['1i6'], ['1i0'], ['1x3']],
    ])
    expect(locateRow(shape, 6)).toMatchObject({
      template: { name: 'inner' },
      templateRow: 1,
      path: [
        { template: { name: 'outer' }, child: 1 },
        { template: { name: 'inner' }, child: 0 },
      ],
      inputs: 6,
      aux: 4,
    })
    expect(() => locateRow(shape, 8)).toThrow(RangeError)
  })

  it('may return its operands, and inputs', () => {
    gadgetShape((cs) => {
      const x = allocateNum(cs)
      cs.allocateInput()
      const { nums } = cs.template('pass', { nums: [x] }, (body, { nums: [u] }) => ({
        nums: [u as Variable, body.allocateInput(), ONE],
      }))
      expect(nums).toEqual([x, inputVariable(1), ONE])
    })
  })

  it('refuses variables of its parent that are no operands', () => {
    const misuse = (cs: ConstraintSystem): void => {
      const x = allocateNum(cs)
      cs.template('leak', {}, (body) => {
        body.enforce(LinearCombination.of(x), LinearCombination.of(ONE), new LinearCombination())
        return {}
      })
    }
    expect(() => gadgetShape(misuse)).toThrow(/is not of this template/)
    expect(() => gadgetShape((cs) => multiply(cs, wireVariable(0), ONE))).toThrow(/is not of this template/)
  })
})

describe('derived variables', () => {
  it('must be defined by a row', () => {
    expect(() => gadgetShape((cs) => cs.allocate('derived'))).toThrow(/1 derived variables without a row/)
  })

  const define = (row: (cs: ConstraintSystem, v: Variable, x: Variable) => void) => () =>
    gadgetShape((cs) => {
      const x = allocateNum(cs)
      row(cs, cs.allocate('derived'), x)
    })
  const of = LinearCombination.of

  it('may be defined with either sign', () => {
    expect(define((cs, v, x) => cs.enforce(of(x), of(ONE), of(v), v))).not.toThrow()
    expect(define((cs, v, x) => cs.enforce(of(x), of(ONE), differenceOf(x, v), v))).not.toThrow()
  })

  it('must occur in C only, with coefficient 1 or −1, once', () => {
    expect(define((cs, v, x) => cs.enforce(of(x), of(ONE), of(v, 2n), v))).toThrow(/can't define/)
    expect(define((cs, v, x) => cs.enforce(of(v), of(ONE), of(v).add(x), v))).toThrow(/can't define/)
    expect(define((cs, v, x) => cs.enforce(of(x), of(ONE), of(x), v))).toThrow(/can't define/)
    expect(
      define((cs, v, x) => {
        cs.enforce(of(x), of(ONE), of(v), v)
        cs.enforce(of(x), of(ONE), of(v), v)
      }),
    ).toThrow(/can't define/)
  })
})

describe('linear combinations', () => {
  it('merge terms and drop those that vanish', () => {
    const of = LinearCombination.of
    const shape = gadgetShape((cs) => {
      const [x, y] = [allocateNum(cs), allocateNum(cs)]
      const sum = sumOf(x, y).add(x, 4n).subtract(y).addAll(differenceOf(y, x), 3n).subtractAll(of(y, 3n))
      cs.enforce(sum, of(x, -1n), of(x, FR_MODULUS))
    })
    expect(rowsOf(shape)).toEqual([[['2x0'], ['-1x0'], []]])
  })
})

describe('arrays of templates', () => {
  it('are shared where they are equal', () => {
    const shape = gadgetShape((cs) => {
      const x = allocateNum(cs)
      for (const factor of [2n, 3n]) {
        cs.template(`times ${factor}`, { nums: [x] }, (body, { nums: [u] }) => {
          body.enforce(LinearCombination.of(u as Variable, factor), LinearCombination.of(ONE), new LinearCombination())
          return {}
        })
      }
    })
    const [twice, thrice] = shape.root.steps.flatMap((step) => (step.kind === 'child' ? [step.template.matrix] : []))
    expect(thrice?.termVariable).toBe(twice?.termVariable)
    expect(thrice?.termCoefficient).not.toEqual(twice?.termCoefficient)
  })
})

describe('the coefficient table', () => {
  it('begins with 1 and −1, also where a circuit uses neither', () => {
    expect(gadgetShape(() => {}).coefficients).toEqual([1n, FR_MODULUS - 1n])
  })
})

describe('aux classes', () => {
  it('come in order of allocation, runs merged', () => {
    const shape = gadgetShape((cs) => {
      cs.allocate('bit')
      cs.allocate('bit')
      cs.template('child', {}, (body) => {
        body.allocate('wide')
        return {}
      })
      cs.allocate('wide')
    })
    const runs: [string, number, number][] = []
    walkAux(shape, (...run) => runs.push(run))
    expect(runs).toEqual([
      ['bit', 0, 2],
      ['wide', 2, 1],
      ['wide', 3, 1],
    ])
    expect(shape.root.totals).toMatchObject({ bits: 2, wide: 2, derived: 0, aux: 4 })
  })
})

describe('density', () => {
  it('counts variables through wires and at every offset of nested instances', () => {
    const shape = gadgetShape((cs) => {
      const x = allocateNum(cs)
      // 33 instances of 3 variables: their bits cross the borders of words.
      for (let i = 0; i < 33; i++) {
        cs.template('three', { nums: [x] }, (body, { nums: [u] }) => {
          const [p, q] = [allocateNum(body), allocateNum(body)]
          allocateNum(body)
          body.enforce(LinearCombination.of(p), sumOf(q, u as Variable), new LinearCombination())
          return {}
        })
      }
    })
    const expected = (isSet: (i: number) => boolean): number[] =>
      Array.from({ length: 104 / 8 }, (_, byte) =>
        Array.from({ length: 8 }, (_, bit) => 8 * byte + bit).reduce(
          (sum, i) => sum + (i < 100 && isSet(i) ? 1 << (i % 8) : 0),
          0,
        ),
      )
    expect([...shape.density.aAux.subarray(0, 13)]).toEqual(expected((i) => i % 3 === 1))
    expect([...shape.density.bAux.subarray(0, 13)]).toEqual(expected((i) => i === 0 || (i > 0 && i % 3 === 2)))
    expect(shape.density.aAuxCount).toBe(33)
    expect(shape.density.bAuxCount).toBe(34)
    expect(shape.density.aAux.length).toBe(16)
  })

  it('refuses a public input in B', () => {
    const misuse = (cs: ConstraintSystem): void => {
      const input = cs.allocateInput()
      cs.template('child', { nums: [input] }, (body, { nums: [u] }) => {
        body.enforce(LinearCombination.of(ONE), LinearCombination.of(u as Variable), new LinearCombination())
        return {}
      })
    }
    expect(() => gadgetShape(misuse)).toThrow(/a public input occurs in B/)
  })
})
