/**
 * Bits and their operations (`AllocatedBit` and `Boolean` in bellpepper-core).
 *
 * The result of an operation on bits is a bit by construction and gets no row of its own that says so. Where bits
 * travel with the witness its class is `bit`; where they are cheap to recompute it is `derived`.
 */
import { addBit, type Bit, constantBit, is, not } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { differenceOf, LinearCombination } from '../linear-combination.ts'
import { ONE, type Variable } from '../shape.ts'

/** Class of an operation's result. */
export type ResultClass = 'bit' | 'derived'

/** A new bit x of the witness: (1 − x) · x = 0. */
export function allocateBit(cs: ConstraintSystem): Bit {
  const x = cs.allocate('bit')
  cs.enforce(differenceOf(ONE, x), LinearCombination.of(x), new LinearCombination())
  return is(x)
}

export function allocateBits(cs: ConstraintSystem, count: number): Bit[] {
  return Array.from({ length: count }, () => allocateBit(cs))
}

/** An allocated result together with the row that relates it: a · b = rest + sign · result. */
function resultOf(
  cs: ConstraintSystem,
  resultClass: ResultClass,
  row: (result: Variable) => readonly [LinearCombination, LinearCombination, LinearCombination],
): Variable {
  const result = cs.allocate(resultClass)
  const [a, b, c] = row(result)
  cs.enforce(a, b, c, resultClass === 'derived' ? result : undefined)
  return result
}

/** c = a ⊕ b: 2a · b = a + b − c. */
function xorVariables(cs: ConstraintSystem, a: Variable, b: Variable, resultClass: ResultClass): Variable {
  return resultOf(cs, resultClass, (c) => [
    LinearCombination.of(a, 2n),
    LinearCombination.of(b),
    LinearCombination.of(a).add(b).subtract(c),
  ])
}

/** a ⊕ b. Constants cost nothing; negations move to the result. */
export function xor(cs: ConstraintSystem, a: Bit, b: Bit, resultClass: ResultClass = 'bit'): Bit {
  if (a.kind === 'constant') return a.value ? not(b) : b
  if (b.kind === 'constant') return b.value ? not(a) : a
  if (a.kind === b.kind) return is(xorVariables(cs, a.variable, b.variable, resultClass))
  // The plain one stands on side A, in whatever order they come.
  const [plain, negated] = a.kind === 'is' ? [a, b] : [b, a]
  return not(is(xorVariables(cs, plain.variable, negated.variable, resultClass)))
}

/** a ∧ b: one row (a) · (b) = c, where a negated operand x stands as 1 − x; the plain one first. */
export function and(cs: ConstraintSystem, a: Bit, b: Bit, resultClass: ResultClass = 'bit'): Bit {
  if (a.kind === 'constant') return a.value ? b : a
  if (b.kind === 'constant') return b.value ? a : b
  const [first, second] = a.kind === 'not' && b.kind === 'is' ? [b, a] : [a, b]
  return is(
    resultOf(cs, resultClass, (c) => [
      addBit(new LinearCombination(), first),
      addBit(new LinearCombination(), second),
      LinearCombination.of(c),
    ]),
  )
}

/** ¬a ∧ ¬b. */
export function nor(cs: ConstraintSystem, a: Bit, b: Bit, resultClass: ResultClass = 'bit'): Bit {
  return and(cs, not(a), not(b), resultClass)
}

/** SHA-256's choice (a ∧ b) ⊕ (¬a ∧ c): (b − c) · a = ch − c, cheaper where operands are constants. */
export function choice(cs: ConstraintSystem, a: Bit, b: Bit, c: Bit): Bit {
  if (a.kind === 'constant' && b.kind === 'constant' && c.kind === 'constant') return a.value ? b : c
  if (isConstant(a, false)) return c
  if (isConstant(b, false)) return and(cs, not(a), c)
  if (isConstant(c, false)) return and(cs, a, b)
  if (isConstant(c, true)) return not(and(cs, a, not(b)))
  if (isConstant(b, true)) return not(and(cs, not(a), not(c)))
  return is(
    resultOf(cs, 'bit', (ch) => [
      addBit(addBit(new LinearCombination(), b), c, -1n),
      addBit(new LinearCombination(), a),
      addBit(LinearCombination.of(ch), c, -1n),
    ]),
  )
}

/** SHA-256's majority of three: bc = b ∧ c, then (2bc − b − c) · a = bc − maj; cheaper where operands are constants. */
export function majority(cs: ConstraintSystem, a: Bit, b: Bit, c: Bit): Bit {
  if (a.kind === 'constant' && b.kind === 'constant' && c.kind === 'constant') {
    return constantBit(Number(a.value) + Number(b.value) + Number(c.value) > 1)
  }
  if (isConstant(a, false)) return and(cs, b, c)
  if (isConstant(b, false)) return and(cs, a, c)
  if (isConstant(c, false)) return and(cs, a, b)
  if (isConstant(c, true)) return not(and(cs, not(a), not(b)))
  if (isConstant(b, true)) return not(and(cs, not(a), not(c)))
  if (isConstant(a, true)) return not(and(cs, not(b), not(c)))
  // The result is allocated before b ∧ c, whose row comes first all the same.
  const maj = cs.allocate('bit')
  const bc = and(cs, b, c)
  cs.enforce(
    addBit(addBit(addBit(new LinearCombination(), bc, 2n), b, -1n), c, -1n),
    addBit(new LinearCombination(), a),
    addBit(new LinearCombination(), bc).subtract(maj),
  )
  return is(maj)
}

function isConstant(bit: Bit, value: boolean): boolean {
  return bit.kind === 'constant' && bit.value === value
}
