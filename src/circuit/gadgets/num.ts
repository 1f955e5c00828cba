/**
 * Field elements and small relations between them (`AllocatedNum` in bellpepper-core; `constraint.rs` in
 * storage-proofs-core).
 */
import { FR_BITS } from '../../field/fr.ts'
import { addBit, type Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { LinearCombination, sumOf } from '../linear-combination.ts'
import { ONE, type Variable } from '../shape.ts'
import { allocateBits } from './boolean.ts'

/** A new field element of the witness, free of constraints. */
export function allocateNum(cs: ConstraintSystem): Variable {
  return cs.allocate('wide')
}

/** Makes a public input equal to v: input · 1 = v. */
export function inputize(cs: ConstraintSystem, v: Variable): void {
  const input = cs.allocateInput()
  cs.enforce(LinearCombination.of(input), LinearCombination.of(ONE), LinearCombination.of(v))
}

/** A new p = a · b. */
export function multiply(cs: ConstraintSystem, a: Variable, b: Variable): Variable {
  const p = cs.allocate('derived')
  cs.enforce(LinearCombination.of(a), LinearCombination.of(b), LinearCombination.of(p), p)
  return p
}

/** A new p = a². */
export function square(cs: ConstraintSystem, a: Variable): Variable {
  return multiply(cs, a, a)
}

/** A new variable with the value of a linear combination: sum · 1 = v. */
export function allocateSum(cs: ConstraintSystem, sum: LinearCombination): Variable {
  const v = cs.allocate('derived')
  cs.enforce(sum, LinearCombination.of(ONE), LinearCombination.of(v), v)
  return v
}

/** A new s = a + b: (a + b) · 1 = s. */
export function add(cs: ConstraintSystem, a: Variable, b: Variable): Variable {
  return allocateSum(cs, sumOf(a, b))
}

/** a · 1 = b. The sides matter: a stands in A, b in C. */
export function enforceEqual(cs: ConstraintSystem, a: Variable, b: Variable): void {
  cs.enforce(LinearCombination.of(a), LinearCombination.of(ONE), LinearCombination.of(b))
}

/**
 * The 255 bits of a, least significant first: 0 · 0 = Σ 2^i·bit_i − a.
 * A value below 2^255 − r has a second decomposition; the witness of an honest prover is the canonical one.
 */
export function toBits(cs: ConstraintSystem, a: Variable): Bit[] {
  const bits = allocateBits(cs, FR_BITS)
  const zero = new LinearCombination()
  cs.enforce(zero, zero, weightedSum(bits).subtract(a))
  return bits
}

/** Σ 2^i · bit_i. */
export function weightedSum(bits: readonly Bit[]): LinearCombination {
  const sum = new LinearCombination()
  for (const [i, bit] of bits.entries()) addBit(sum, bit, 1n << BigInt(i))
  return sum
}
