/**
 * A circuit of a few rows with everything that matters to a prover: bits, wide and derived variables, a nested template
 * that is used twice, a public input, variables that do not occur in A or in B. It says: y = x⁴ + x² + 3·bit + 5.
 */

import { recordCircuit } from '../../src/circuit/circuit-shape.ts'
import { LinearCombination } from '../../src/circuit/linear-combination.ts'
import type { CircuitShape, CompactWitness } from '../../src/circuit/shape.ts'
import { ONE, type Variable } from '../../src/circuit/shape.ts'
import { frReduce, frToBytes } from '../../src/field/fr.ts'

export function tinyCircuit(): CircuitShape {
  return recordCircuit('winning-2k', (cs) => {
    const bit = cs.allocate('bit')
    const of = LinearCombination.of
    cs.enforce(of(ONE).subtract(bit), of(bit), new LinearCombination())
    const x = cs.allocate('wide')
    const square = (v: Variable): Variable =>
      cs.template('square', { nums: [v] }, (child, { nums: [w] }) => {
        const result = child.allocate('derived')
        child.enforce(of(w as Variable), of(w as Variable), of(result), result)
        return { nums: [result] }
      }).nums[0] as Variable
    const x2 = square(x)
    const x4 = square(x2)
    const y = cs.allocateInput()
    cs.enforce(of(x4).add(x2).add(bit, 3n).add(ONE, 5n), of(ONE), of(y))
  })
}

export function tinyWitness(x: bigint, bit: 0 | 1): CompactWitness {
  const y = frReduce(x ** 4n + x * x + 3n * BigInt(bit) + 5n)
  return {
    inputs: new Uint8Array([...frToBytes(1n), ...frToBytes(y)]),
    bits: Uint8Array.of(bit, 0, 0, 0, 0, 0, 0, 0),
    wide: frToBytes(x),
  }
}
