/**
 * A small circuit of everything that templates do: instances of a subtree that share a variable of the root, nesting,
 * inputs, constants.
 */
import type { ConstraintSystem } from '../../src/circuit/constraint-system.ts'
import { allocateBits } from '../../src/circuit/gadgets/boolean.ts'
import { insert } from '../../src/circuit/gadgets/insertion.ts'
import { allocateNum, enforceEqual, inputize } from '../../src/circuit/gadgets/num.ts'
import { packIntoInputs } from '../../src/circuit/gadgets/packing.ts'
import { poseidon } from '../../src/circuit/gadgets/poseidon.ts'
import type { CircuitShape, CompactWitness, Variable } from '../../src/circuit/shape.ts'
import { FR_MODULUS } from '../../src/field/fr.ts'
import { compactWitness, gadgetShape } from './circuits.ts'
import { frStream } from './fr-vectors.ts'

const TREES = 3

function synthesizeForest(cs: ConstraintSystem, trees: number): void {
  const shared = allocateNum(cs)
  inputize(cs, shared)
  for (let tree = 0; tree < trees; tree++) {
    cs.template('tree', { nums: [shared] }, (body, { nums: [outer] }) => {
      const leaf = allocateNum(body)
      const bits = allocateBits(body, 3)
      const siblings = Array.from({ length: 7 }, () => allocateNum(body))
      const root = poseidon(body, insert(body, leaf, bits, siblings))
      packIntoInputs(body, bits)
      enforceEqual(body, poseidon(body, [root, outer as Variable]), poseidon(body, [root, outer as Variable]))
      return {}
    })
  }
}

/** @param trees at most 3 */
export const forestShape = (trees: number = TREES): CircuitShape => gadgetShape((cs) => synthesizeForest(cs, trees))

export function forestWitness(trees: number = TREES): CompactWitness {
  const next = frStream(3)
  const shared = next()
  const places = [0, 5, 7].slice(0, trees)
  const wide = [shared, 0n, FR_MODULUS - 1n, ...Array.from({ length: 8 * TREES - 2 }, next)]
  return compactWitness({
    inputs: [shared, ...places.map(BigInt)],
    bits: places.flatMap((place) => [place & 1, (place >> 1) & 1, place >> 2]),
    wide: wide.slice(0, 1 + 8 * trees),
  })
}
