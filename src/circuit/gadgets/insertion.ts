/** Placing an element among its siblings, and selecting one of many (`insertion.rs` in storage-proofs-core). */
import { addBit, type Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { differenceOf, LinearCombination } from '../linear-combination.ts'
import type { Variable } from '../shape.ts'
import { and, nor } from './boolean.ts'

/** A new variable: a if the condition holds, else b. (b − a) · condition = b − picked. */
export function pick(cs: ConstraintSystem, condition: Bit, a: Variable, b: Variable): Variable {
  const picked = cs.allocate('derived')
  cs.enforce(differenceOf(b, a), addBit(new LinearCombination(), condition), differenceOf(b, picked), picked)
  return picked
}

type Pick = (condition: Bit, a: Variable, b: Variable) => Variable

/**
 * The siblings with the element inserted at the position that the index bits give (least significant first), as a
 * template.
 * @param siblings 1, 3 or 7 of them, in rising position
 */
export function insert(
  cs: ConstraintSystem,
  element: Variable,
  index: readonly Bit[],
  siblings: readonly Variable[],
): Variable[] {
  const size = siblings.length + 1
  if (index.length !== Math.log2(size)) throw new RangeError(`${index.length} index bits for ${size} positions`)
  const operands = { nums: [element, ...siblings], bits: index }
  const { nums } = cs.template(`insert-${size}`, operands, (body, { nums, bits }) => {
    const choose: Pick = (condition, a, b) => pick(body, condition, a, b)
    switch (size) {
      case 2:
        return { nums: insert2(choose, nums as Variables<2>, bits as Bits<1>) }
      case 4:
        return { nums: insert4(choose, nums as Variables<4>, bits as Bits<2>) }
      case 8:
        return { nums: insert8(body, choose, nums as Variables<8>, bits as Bits<3>) }
      default:
        throw new RangeError(`no insertion among ${size} positions`)
    }
  })
  return [...nums]
}

type Variables<N extends number> = FixedArray<Variable, N>
type Bits<N extends number> = FixedArray<Bit, N>
type FixedArray<T, N extends number, A extends readonly T[] = readonly []> = A['length'] extends N
  ? A
  : FixedArray<T, N, readonly [...A, T]>

// In the three below, a is the element and b, c, d, … are the siblings; b0, b1, b2 are the index bits.

function insert2(pick: Pick, [a, b]: Variables<2>, [b0]: Bits<1>): Variable[] {
  return [pick(b0, b, a), pick(b0, a, b)]
}

function insert4(pick: Pick, [a, b, c, d]: Variables<4>, [b0, b1]: Bits<2>): Variable[] {
  return [
    pick(b1, b, pick(b0, b, a)),
    pick(b1, c, pick(b0, a, b)),
    pick(b1, pick(b0, d, a), c),
    pick(b1, pick(b0, a, d), d),
  ]
}

function insert8(
  cs: ConstraintSystem,
  pick: Pick,
  [a, b, c, d, e, f, g, h]: Variables<8>,
  [b0, b1, b2]: Bits<3>,
): Variable[] {
  // Exactly one of the low positions 0 to 3 is the element's: 0 if neither bit is set, 3 if both are.
  const neither = nor(cs, b0, b1, 'derived')
  const both = and(cs, b0, b1, 'derived')
  return [
    pick(b2, b, pick(neither, a, b)),
    pick(b2, c, pick(b1, c, pick(b0, a, b))),
    pick(b2, d, pick(b1, pick(b0, d, a), c)),
    pick(b2, e, pick(both, a, d)),
    pick(b2, pick(neither, a, f), e),
    pick(b2, pick(b1, g, pick(b0, a, f)), f),
    pick(b2, pick(b1, pick(b0, h, a), g), g),
    pick(b2, pick(both, a, h), h),
  ]
}

/**
 * The element whose position the index bits give, least significant first: halves the list from the highest bit down.
 */
export function select(cs: ConstraintSystem, elements: readonly Variable[], index: readonly Bit[]): Variable {
  if (elements.length !== 2 ** index.length)
    throw new RangeError(`${index.length} bits for ${elements.length} elements`)
  let state = elements
  for (const bit of index.toReversed()) {
    const half = state.length / 2
    state = state.slice(0, half).map((low, j) => pick(cs, bit, state[half + j] as Variable, low))
  }
  return state[0] as Variable
}
