/** Circuits on bigints: the slow, plain truth that tests compare with. */
import { blake2s } from '@noble/hashes/blake2.js'
import { recordCircuit } from '../../src/circuit/circuit-shape.ts'
import type { ConstraintSystem } from '../../src/circuit/constraint-system.ts'
import { type RowHasher, walkingHasher } from '../../src/circuit/digest.ts'
import {
  type CircuitShape,
  type CompactWitness,
  INPUT,
  KIND_MASK,
  NUMBER_MASK,
  type Variable,
} from '../../src/circuit/shape.ts'
import { type Row, type Terms, walkAux, walkRows } from '../../src/circuit/walk-rows.ts'
import { FR_BYTES, frFromBytes, frInv, frMul, frReduce, frSub, frToBytes } from '../../src/field/fr.ts'

/** BLAKE2s of @noble/hashes over the rows as the reference walker gives them. */
export const referenceHasher: RowHasher = walkingHasher(() => blake2s.create())

/** The shape of a few gadgets. Its id only has to be one: nothing in a recorded circuit depends on it. */
export function gadgetShape(synthesize: (cs: ConstraintSystem) => void): CircuitShape {
  return recordCircuit('winning-2k', synthesize)
}

/** All values of a circuit. */
export interface Assignment {
  /** ONE first. */
  readonly inputs: readonly bigint[]
  readonly aux: readonly bigint[]
}

export function evaluate(shape: CircuitShape, terms: Terms, value: (variable: Variable) => bigint): bigint {
  let sum = 0n
  for (let i = 0; i < terms.count; i++) {
    const coefficient = shape.coefficients[terms.coefficients[i] as number] as bigint
    sum += coefficient * value(terms.variables[i] as number)
  }
  return frReduce(sum)
}

/** Fills in what is derived, row by row. */
export function assign(shape: CircuitShape, witness: CompactWitness): Assignment {
  const inputs = scalars(witness.inputs)
  const wide = scalars(witness.wide)
  const aux = new Array<bigint | undefined>(shape.aux)
  let [nextBit, nextWide] = [0, 0]
  walkAux(shape, (auxClass, first, count) => {
    for (let i = first; i < first + count; i++) {
      if (auxClass === 'wide') aux[i] = wide[nextWide++]
      if (auxClass !== 'bit') continue
      aux[i] = BigInt(((witness.bits[nextBit >>> 3] as number) >>> (nextBit & 7)) & 1)
      nextBit++
    }
  })
  if (nextWide !== wide.length) throw new Error(`${wide.length} wide values for ${nextWide} variables`)
  walkRows(shape, (row) => {
    if (row.defines < 0) return
    const { defines, c } = row
    const at = c.variables.subarray(0, c.count).findIndex((v) => v === (0x4000_0000 | defines))
    const coefficient = shape.coefficients[c.coefficients[at] as number] as bigint
    // A·B = coefficient · v + rest.
    const value = valueIn({ inputs, aux: aux as bigint[] })
    const rest = evaluate(shape, c, (variable) => (variable === c.variables[at] ? 0n : value(variable)))
    const product = frMul(evaluate(shape, row.a, value), evaluate(shape, row.b, value))
    aux[defines] = frMul(frSub(product, rest), frInv(coefficient))
  })
  return { inputs, aux: aux as bigint[] }
}

/** Number of the first row that does not hold, or −1. */
export function firstUnsatisfied(shape: CircuitShape, assignment: Assignment): number {
  let found = -1
  walkRows(shape, (row) => {
    if (found >= 0) return
    const [a, b, c] = products(shape, row, assignment)
    if (frMul(a, b) !== c) found = row.index
  })
  return found
}

/** A·z, B·z and C·z of a row. */
export function products(shape: CircuitShape, row: Row, assignment: Assignment): [bigint, bigint, bigint] {
  const value = valueIn(assignment)
  return [evaluate(shape, row.a, value), evaluate(shape, row.b, value), evaluate(shape, row.c, value)]
}

function valueIn({ inputs, aux }: Assignment): (variable: Variable) => bigint {
  return (variable) => {
    const number = variable & NUMBER_MASK
    const value = (variable & KIND_MASK) >>> 0 === INPUT ? inputs[number] : aux[number]
    if (value === undefined) throw new Error(`variable 0x${variable.toString(16)} is read before it is known`)
    return value
  }
}

function scalars(bytes: Uint8Array): bigint[] {
  return Array.from({ length: bytes.length / FR_BYTES }, (_, i) => frFromBytes(bytes, FR_BYTES * i))
}

/** A compact witness of plain values. `inputs` are without ONE. */
export function compactWitness(values: {
  readonly inputs?: readonly bigint[]
  readonly bits?: readonly (boolean | number)[]
  readonly wide?: readonly bigint[]
}): CompactWitness {
  const { inputs = [], bits = [], wide = [] } = values
  const bytes = new Uint8Array(8 * Math.ceil(bits.length / 64))
  for (const [i, bit] of bits.entries()) bytes[i >>> 3] = (bytes[i >>> 3] as number) | (Number(bit) << (i & 7))
  return {
    inputs: Uint8Array.from([1n, ...inputs].flatMap((value) => [...frToBytes(value)])),
    bits: bytes,
    wide: Uint8Array.from(wide.flatMap((value) => [...frToBytes(value)])),
  }
}
