/** SHA-256 in circuits: the reference's rows, and the digests that node:crypto finds. */
import { createHash, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bit, constantBit } from '../../src/circuit/bit.ts'
import type { ConstraintSystem } from '../../src/circuit/constraint-system.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { allocateBit, allocateBits } from '../../src/circuit/gadgets/boolean.ts'
import { merklePath } from '../../src/circuit/gadgets/merkle-path.ts'
import { MultiEq } from '../../src/circuit/gadgets/multi-eq.ts'
import { allocateNum, enforceEqual, inputize } from '../../src/circuit/gadgets/num.ts'
import { compressInCircuit, SHA256_INITIAL_STATE, sha256 } from '../../src/circuit/gadgets/sha256.ts'
import { planCompression, type WordForm } from '../../src/circuit/gadgets/sha256-bits.ts'
import { SHA256_TREE, sha256Elements } from '../../src/circuit/gadgets/sha256-tree.ts'
import { addMany, constantWord, type UInt32, wordsFromBits } from '../../src/circuit/gadgets/uint32.ts'
import { label } from '../../src/circuit/porep/label.ts'
import { NUMBER_MASK, type Variable } from '../../src/circuit/shape.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { assign, compactWitness, firstUnsatisfied, gadgetShape, referenceHasher } from '../support/circuits.ts'
import {
  constantForm,
  ELEMENT_FORMS,
  fillCompression,
  fillSha256,
  planSha256,
  variableForms,
} from '../support/sha256-bits.ts'
import { vectorJson } from '../support/vectors.ts'

/** The digest of a message as eight words. */
function sha256Words(message: Uint8Array): number[] {
  const digest = createHash('sha256').update(message).digest()
  return Array.from({ length: 8 }, (_, i) => digest.readUInt32BE(4 * i))
}

function wordValue(word: UInt32, value: (variable: Variable) => boolean): number {
  const truth = (bit: Bit): boolean =>
    bit.kind === 'constant' ? bit.value : value(bit.variable) !== (bit.kind === 'not')
  return word.reduce((sum, bit, i) => sum + (truth(bit) ? 2 ** i : 0), 0)
}

const nums = (cs: ConstraintSystem, count: number): Variable[] => Array.from({ length: count }, () => allocateNum(cs))

/** A Merkle path with a public root. */
function por(cs: ConstraintSystem, arities: readonly number[]): void {
  const computed = merklePath(cs, SHA256_TREE, allocateNum(cs), arities)
  const root = allocateNum(cs)
  enforceEqual(cs, computed, root)
  inputize(cs, root)
}

const GADGETS: Record<string, (cs: ConstraintSystem) => unknown> = {
  'sha256-compression': (cs) =>
    compressInCircuit(cs, SHA256_INITIAL_STATE.map(constantWord), wordsFromBits(allocateBits(cs, 512))),
  'sha256-512': (cs) => sha256(cs, allocateBits(cs, 512)),
  'sha256-hash2': (cs) => sha256Elements(cs, nums(cs, 2)),
  'por-sha256-2-0-0-64': (cs) => por(cs, [2, 2, 2, 2, 2, 2]),
  label: (cs) => {
    const parents = Array.from({ length: 37 }, () => allocateBits(cs, 256))
    const node = Array.from({ length: 64 }, (_, i) => constantBit(((22 >> i) & 1) === 1 && i < 32))
    label(cs, allocateBits(cs, 256), 3, node, parents)
  },
}

describe('digests of gadgets', () => {
  it.each(Object.entries(GADGETS))('%s', async (gadget, synthesize) => {
    const expected = vectorJson('gadgets.json').find((vector: { gadget: string }) => vector.gadget === gadget)
    const digest = await circuitDigest(gadgetShape(synthesize), new CircuitMachine())
    const { inputs, aux, constraints, hash } = digest
    expect({ gadget, inputs, aux, constraints, hash }).toEqual(expected)
  })

  it('are the same by the reference walker', async () => {
    const shape = gadgetShape(GADGETS['sha256-hash2'] as (cs: ConstraintSystem) => void)
    expect(await circuitDigest(shape, referenceHasher)).toEqual(await circuitDigest(shape, new CircuitMachine()))
  })
})

describe('counts that the tests of the reference assert', () => {
  it.each([
    [[2, 2, 2, 2, 2, 2], 272_295],
    [[4, 4, 4], 216_258],
    [[8, 8], 250_987],
  ])('Merkle path of arities %j', (arities, constraints) => {
    const shape = gadgetShape((cs) => por(cs, arities))
    expect({ inputs: shape.inputs, constraints: shape.constraints }).toEqual({ inputs: 3, constraints })
  })

  it('a digest of nothing costs nothing', () => {
    let digest: Bit[] = []
    const shape = gadgetShape((cs) => {
      digest = sha256(cs, [])
    })
    expect([shape.constraints, shape.aux]).toEqual([0, 0])
    const found = wordsFromBits(digest).map((word) => wordValue(word, () => false))
    expect(found).toEqual(sha256Words(Buffer.alloc(0)))
  })

  it.each([
    [2, 33],
    [3, 34],
    [4, 34],
    [5, 35],
    [8, 35],
    [9, 36],
    [10, 36],
  ])('a sum of %i words has %i bits', (count, bits) => {
    const shape = gadgetShape((cs) => {
      const equations = new MultiEq(cs)
      addMany(cs, equations, wordsFromBits(allocateBits(cs, 32 * count)))
      equations.close()
    })
    expect([shape.aux, shape.constraints]).toEqual([32 * count + bits, 32 * count + bits + 1])
  })
})

describe('bits that a witness sends', () => {
  const ALL = 0xffff_ffff
  const initial = SHA256_INITIAL_STATE.map(constantForm)
  const padding = (words: number, bits: number): WordForm[] =>
    Array.from({ length: words }, (_, i) => constantForm(i === 0 ? 0x8000_0000 : i === words - 1 ? bits : 0))

  const FORMS: Record<string, readonly [WordForm[], WordForm[]]> = {
    'of all variables': [variableForms(8), variableForms(16)],
    'of the initial state and two field elements': [initial, [...ELEMENT_FORMS, ...ELEMENT_FORMS]],
    'of a padding block': [variableForms(8), padding(16, 512)],
    'of a label’s first block': [
      initial,
      [...ELEMENT_FORMS, constantForm(11), ...variableForms(2), ...new Array<WordForm>(5).fill(constantForm(0))],
    ],
    'of a label’s last block': [variableForms(8), [...ELEMENT_FORMS, ...padding(8, 9984)]],
    'of words with constants of both values': [
      Array.from({ length: 8 }, (_, i) => ({
        variables: (0x0f1e_2d3c * (i + 1)) >>> 0,
        value: (0x9e37_79b9 * i) >>> 0,
      })),
      Array.from({ length: 16 }, (_, i) => ({
        variables: (0x1b87_3593 * i) >>> 0,
        value: (0x85eb_ca6b * (i + 1)) >>> 0,
      })),
    ],
    'of no variables': [initial, padding(16, 0)],
  }

  it.each(Object.entries(FORMS))('satisfy a compression %s', (_, [stateForm, blockForm]) => {
    const plan = planCompression(stateForm, blockForm)
    const forms = [...stateForm, ...blockForm]
    fc.assert(
      fc.property(fc.array(fc.nat(ALL), { minLength: 24, maxLength: 24 }), (random) => {
        const words = forms.map(
          ({ variables, value }, i) => (((random[i] as number) & variables) | (value & ~variables)) >>> 0,
        )
        const bits: number[] = []
        for (const [i, { variables }] of forms.entries()) {
          for (let b = 0; b < 32; b++) if ((variables >>> b) & 1) bits.push(((words[i] as number) >>> b) & 1)
        }
        const before = bits.length
        const expected = fillCompression(plan, words.slice(0, 8), words.slice(8), (bit) => bits.push(bit))
        expect(bits.length - before).toBe(plan.bits)

        let result: UInt32[] = []
        const shape = gadgetShape((cs) => {
          const allocated = forms.map(({ variables, value }) =>
            constantWord(value).map((bit, i) => ((variables >>> i) & 1 ? allocateBit(cs) : bit)),
          )
          result = compressInCircuit(cs, allocated.slice(0, 8), allocated.slice(8))
        })
        expect(shape.aux).toBe(bits.length)
        const assignment = assign(shape, compactWitness({ bits }))
        expect(firstUnsatisfied(shape, assignment)).toBe(-1)
        expect(result.map((word) => wordValue(word, (v) => assignment.aux[v & NUMBER_MASK] === 1n))).toEqual(expected)
      }),
      { numRuns: 1 },
    )
  })

  it.each([0, 1, 13, 14, 16, 312])('of a message of %i words come with the digest', (count) => {
    const message = randomBytes(4 * count)
    const words = Array.from({ length: count }, (_, i) => message.readUInt32BE(4 * i))
    const plans = planSha256(variableForms(count))
    let bits = 0
    const digest = fillSha256(plans, words, () => {
      bits++
    })
    expect(digest).toEqual(sha256Words(message))
    expect(bits).toBe(plans.reduce((sum, plan) => sum + plan.bits, 0))
    const shape = gadgetShape((cs) => sha256(cs, allocateBits(cs, 32 * count)))
    expect(shape.aux).toBe(32 * count + bits)
  })
})
