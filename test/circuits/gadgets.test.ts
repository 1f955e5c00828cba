/** Gadgets have the very rows of the reference crates: their digests are equal. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bit, not } from '../../src/circuit/bit.ts'
import type { ConstraintSystem } from '../../src/circuit/constraint-system.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { allocateBit, allocateBits, and, choice, majority, nor, xor } from '../../src/circuit/gadgets/boolean.ts'
import { insert, select } from '../../src/circuit/gadgets/insertion.ts'
import { merklePath, POSEIDON_TREE } from '../../src/circuit/gadgets/merkle-path.ts'
import { add, allocateNum, enforceEqual, inputize, multiply, square, toBits } from '../../src/circuit/gadgets/num.ts'
import { packBits, packIntoInputs, packValues } from '../../src/circuit/gadgets/packing.ts'
import { poseidon } from '../../src/circuit/gadgets/poseidon.ts'
import { customTag } from '../../src/circuit/poseidon/constants.ts'
import { poseidonHash } from '../../src/circuit/poseidon/hash.ts'
import { synthesizePost } from '../../src/circuit/post/post-circuit.ts'
import { treeArities } from '../../src/circuit/sector-tree.ts'
import { NUMBER_MASK, type Variable } from '../../src/circuit/shape.ts'
import { FR_MODULUS } from '../../src/field/fr.ts'
import { assign, compactWitness, firstUnsatisfied, gadgetShape, referenceHasher } from '../support/circuits.ts'
import { vectorJson } from '../support/vectors.ts'

const element = fc.bigInt({ min: 0n, max: FR_MODULUS - 1n })

const nums = (cs: ConstraintSystem, count: number): Variable[] => Array.from({ length: count }, () => allocateNum(cs))
const bits3 = (cs: ConstraintSystem): [Bit, Bit, Bit] => allocateBits(cs, 3) as [Bit, Bit, Bit]
const numberOf = (variable: Variable): number => variable & NUMBER_MASK

const GADGETS: Record<string, (cs: ConstraintSystem) => unknown> = {
  empty: () => {},
  bit: allocateBit,
  xor: (cs) => xor(cs, allocateBit(cs), allocateBit(cs)),
  ch: (cs) => choice(cs, ...bits3(cs)),
  maj: (cs) => majority(cs, ...bits3(cs)),
  'poseidon-2': (cs) => poseidon(cs, nums(cs, 2)),
  'poseidon-4': (cs) => poseidon(cs, nums(cs, 4)),
  'poseidon-8': (cs) => poseidon(cs, nums(cs, 8)),
  'poseidon-11': (cs) => poseidon(cs, nums(cs, 11)),
  'poseidon-2-custom-1': (cs) => poseidon(cs, nums(cs, 2), customTag(1)),
  'insert-2': (cs) => insertion(cs, 2),
  'insert-4': (cs) => insertion(cs, 4),
  'insert-8': (cs) => insertion(cs, 8),
  'select-8': (cs) => select(cs, nums(cs, 8), allocateBits(cs, 3)),
  'por-poseidon-8-8-0-512': (cs) => {
    const computed = merklePath(cs, POSEIDON_TREE, allocateNum(cs), [8, 8, 8])
    const root = allocateNum(cs)
    enforceEqual(cs, computed, root)
    inputize(cs, root)
  },
  'post-32GiB-1-sector': (cs) => synthesizePost(cs, { sectors: 1, challenges: 10, arities: treeArities('32g') }),
}

/** Siblings, the element, index bits; then the insertion. */
function insertion(cs: ConstraintSystem, size: number): Variable[] {
  const siblings = nums(cs, size - 1)
  const inserted = allocateNum(cs)
  return insert(cs, inserted, allocateBits(cs, Math.log2(size)), siblings)
}

interface GadgetVector {
  readonly gadget: string
  readonly inputs: number
  readonly aux: number
  readonly constraints: number
  readonly hash: string
}

const vectors: readonly GadgetVector[] = vectorJson('gadgets.json')

describe('digests of single gadgets', () => {
  it.each(Object.entries(GADGETS))('%s', async (gadget, synthesize) => {
    const expected = vectors.find((vector) => vector.gadget === gadget)
    const digest = await circuitDigest(gadgetShape(synthesize), referenceHasher)
    const { inputs, aux, constraints, hash } = digest
    expect({ gadget, inputs, aux, constraints, hash }).toEqual(expected)
  })
})

describe('counts that the tests of rust-fil-proofs assert', () => {
  /** Base levels over 64 leaves of one arity, then the upper ones; the root is public. */
  it.each([
    [[2, 2, 2, 2, 2, 2], 1887],
    [[4, 4, 4], 1164],
    [[8, 8], 1063],
    [[8, 8, 2], 1377],
    [[8, 8, 8], 1593],
    [[8, 8, 4, 2], 1764],
    [[8, 8, 8, 2], 1907],
    [[8, 8, 2, 4], 1764],
  ])('Merkle path of arities %j', (arities, constraints) => {
    const shape = gadgetShape((cs) => {
      const computed = merklePath(cs, POSEIDON_TREE, allocateNum(cs), arities)
      const root = allocateNum(cs)
      enforceEqual(cs, computed, root)
      inputize(cs, root)
    })
    expect({ inputs: shape.inputs, constraints: shape.constraints }).toEqual({ inputs: 3, constraints })
  })

  it.each([
    [3, [8, 8], 19, 16_869],
    [3, [8, 8, 4], 19, 22_674],
    [3, [8, 8, 4, 2], 19, 27_384],
    [2, [8, 8], 13, 11_246],
  ])('PoSt of %i sectors with 5 challenges in trees of arities %j', (sectors, arities, inputs, constraints) => {
    const shape = gadgetShape((cs) => synthesizePost(cs, { sectors, challenges: 5, arities }))
    expect({ inputs: shape.inputs, constraints: shape.constraints }).toEqual({ inputs, constraints })
  })
})

describe('witnesses of gadgets', () => {
  /** Builds, assigns and checks a gadget; gives the values of the variables it returned. */
  function run(
    synthesize: (cs: ConstraintSystem) => readonly Variable[],
    values: Parameters<typeof compactWitness>[0],
  ): bigint[] {
    let results: readonly Variable[] = []
    const shape = gadgetShape((cs) => {
      results = synthesize(cs)
    })
    const assignment = assign(shape, compactWitness(values))
    expect(firstUnsatisfied(shape, assignment)).toBe(-1)
    return results.map((variable) => assignment.aux[numberOf(variable)] as bigint)
  }

  it.each([2, 4, 8])('insertion among %i puts the element at every index', (size) => {
    const siblings = Array.from({ length: size - 1 }, (_, i) => BigInt(100 + i))
    for (let index = 0; index < size; index++) {
      const bits = Array.from({ length: Math.log2(size) }, (_, i) => (index >> i) & 1)
      const found = run((cs) => insertion(cs, size), { wide: [...siblings, 7n], bits })
      expect(found).toEqual(siblings.toSpliced(index, 0, 7n))
    }
  })

  it('insertion refuses a wrong number of index bits and other sizes', () => {
    expect(() => gadgetShape((cs) => insert(cs, allocateNum(cs), allocateBits(cs, 2), nums(cs, 1)))).toThrow(RangeError)
    expect(() => gadgetShape((cs) => insertion(cs, 16))).toThrow(/no insertion among 16/)
  })

  it('selection gives the element at the index', () => {
    for (let index = 0; index < 8; index++) {
      const wide = Array.from({ length: 8 }, (_, i) => BigInt(50 + i))
      const bits = [index & 1, (index >> 1) & 1, index >> 2]
      expect(run((cs) => [select(cs, nums(cs, 8), allocateBits(cs, 3))], { wide, bits })).toEqual([wide[index]])
    }
  })

  it.each([2, 4, 8, 11])('Poseidon of arity %i computes the hash', (arity) => {
    fc.assert(
      fc.property(fc.array(element, { minLength: arity, maxLength: arity }), (wide) => {
        expect(run((cs) => [poseidon(cs, nums(cs, arity))], { wide })).toEqual([poseidonHash(wide)])
        const tag = customTag(1)
        expect(run((cs) => [poseidon(cs, nums(cs, arity), tag)], { wide })).toEqual([poseidonHash(wide, tag)])
      }),
      { numRuns: 2 },
    )
  })

  it('Poseidon of the same variable twice is right too, though its terms merge', () => {
    const hash = (cs: ConstraintSystem): Variable[] => {
      const x = allocateNum(cs)
      return [poseidon(cs, [x, x])]
    }
    expect(run(hash, { wide: [5n] })).toEqual([poseidonHash([5n, 5n])])
  })

  it('arithmetic', () => {
    fc.assert(
      fc.property(element, element, (a, b) => {
        const found = run(
          (cs) => {
            const [x, y] = nums(cs, 2) as [Variable, Variable]
            return [multiply(cs, x, y), square(cs, x), add(cs, x, y)]
          },
          { wide: [a, b] },
        )
        expect(found).toEqual([(a * b) % FR_MODULUS, (a * a) % FR_MODULUS, (a + b) % FR_MODULUS])
      }),
      { numRuns: 10 },
    )
  })

  it('bits of a number, and back', () => {
    fc.assert(
      fc.property(element, (a) => {
        const bits = Array.from({ length: 255 }, (_, i) => ((a >> BigInt(i)) & 1n) === 1n)
        const found = run((cs) => [packBits(cs, toBits(cs, allocateNum(cs)))], { wide: [a], bits })
        expect(found).toEqual(packValues(bits).slice(0, 1))
      }),
      { numRuns: 5 },
    )
  })

  it('packing takes an input for every 254 bits, and none for none', () => {
    const shape = gadgetShape((cs) => packIntoInputs(cs, allocateBits(cs, 255)))
    expect(shape.inputs).toBe(3)
    const bits = Array.from({ length: 255 }, (_, i) => i % 3 === 0)
    const witness = compactWitness({ bits, inputs: packValues(bits) })
    expect(firstUnsatisfied(shape, assign(shape, witness))).toBe(-1)
    expect(gadgetShape((cs) => packIntoInputs(cs, [])).inputs).toBe(1)
    expect(run((cs) => [packBits(cs, [])], {})).toEqual([0n])
  })

  it('a wrong witness leaves a row unsatisfied', () => {
    const shape = gadgetShape((cs) => {
      const [x, y] = nums(cs, 2) as [Variable, Variable]
      inputize(cs, x)
      enforceEqual(cs, multiply(cs, x, y), y)
    })
    const check = (x: bigint, y: bigint, input = x): number =>
      firstUnsatisfied(shape, assign(shape, compactWitness({ wide: [x, y], inputs: [input] })))
    expect(check(1n, 9n)).toBe(-1)
    expect(check(1n, 9n, 2n)).toBe(0)
    expect(check(2n, 9n)).toBe(2)
  })
})

describe('operations on bits', () => {
  /** How an operand enters: as a variable, its negation, or a constant. */
  const forms = fc.constantFrom('is', 'not', 'true', 'false')
  const operand = (form: string, bit: Bit): Bit =>
    form === 'is' ? bit : form === 'not' ? not(bit) : { kind: 'constant', value: form === 'true' }
  const truthOf = (form: string, bit: boolean): boolean =>
    form === 'is' ? bit : form === 'not' ? !bit : form === 'true'

  it('agree with logic for every form of operands', () => {
    fc.assert(
      fc.property(fc.tuple(forms, forms, forms), fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()), (form, values) => {
        const [x, y, z] = form.map((f, i) => truthOf(f, values[i] as boolean)) as [boolean, boolean, boolean]
        const expected = [x !== y, x && y, !x && !y]
        let results: Bit[] = []
        const shape = gadgetShape((cs) => {
          const [a, b] = allocateBits(cs, 3).map((bit, i) => operand(form[i] as string, bit)) as [Bit, Bit, Bit]
          results = [xor(cs, a, b, 'derived'), and(cs, a, b, 'derived'), nor(cs, a, b, 'derived')]
        })
        const assignment = assign(shape, compactWitness({ bits: values }))
        const found = results.map((bit) => {
          if (bit.kind === 'constant') return bit.value
          return (assignment.aux[numberOf(bit.variable)] === 1n) === (bit.kind === 'is')
        })
        expect(found).toEqual(expected)

        // The results of these two travel as bits: find the values that satisfy the rows, which must be unique.
        for (const [gadget, result] of [
          [choice, x ? y : z],
          [majority, Number(x) + Number(y) + Number(z) > 1],
        ] as const) {
          let output: Bit = { kind: 'constant', value: false }
          const gadgetCircuit = gadgetShape((cs) => {
            const operands = bits3(cs).map((bit, i) => operand(form[i] as string, bit)) as [Bit, Bit, Bit]
            output = gadget(cs, ...operands)
          })
          const extra = gadgetCircuit.aux - 3
          const satisfying = Array.from({ length: 2 ** extra }, (_, k) =>
            assign(
              gadgetCircuit,
              compactWitness({ bits: [...values, ...Array.from({ length: extra }, (_, i) => (k >> i) & 1)] }),
            ),
          ).filter((candidate) => firstUnsatisfied(gadgetCircuit, candidate) === -1)
          expect(satisfying.length).toBe(1)
          const bit = output as Bit
          const value =
            bit.kind === 'constant'
              ? bit.value
              : (satisfying[0]?.aux[numberOf(bit.variable)] === 1n) === (bit.kind === 'is')
          expect(value).toBe(result)
        }
      }),
      { numRuns: 200 },
    )
  })
})
