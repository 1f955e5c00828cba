/** Bits packed into field elements (`multipack.rs` in bellperson). */
import { FR_BITS } from '../../field/fr.ts'
import type { Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { LinearCombination } from '../linear-combination.ts'
import { ONE, type Variable } from '../shape.ts'
import { allocateSum, weightedSum } from './num.ts'

/** Bits that any field element can hold. */
export const PACKED_BITS: number = FR_BITS - 1

/** A public input for every 254 bits, least significant first; none for no bits. (Σ 2^i·bit_i) · 1 = input. */
export function packIntoInputs(cs: ConstraintSystem, bits: readonly Bit[]): void {
  for (let from = 0; from < bits.length; from += PACKED_BITS) {
    const input = cs.allocateInput()
    const sum = weightedSum(bits.slice(from, from + PACKED_BITS))
    cs.enforce(sum, LinearCombination.of(ONE), LinearCombination.of(input))
  }
}

/** One new variable with the value of the first 254 bits; also of no bits, which makes it 0. */
export function packBits(cs: ConstraintSystem, bits: readonly Bit[]): Variable {
  return allocateSum(cs, weightedSum(bits.slice(0, PACKED_BITS)))
}

/** The same packing on values, for public inputs. */
export function packValues(bits: readonly boolean[]): bigint[] {
  const packed: bigint[] = []
  for (let from = 0; from < bits.length; from += PACKED_BITS) {
    packed.push(bits.slice(from, from + PACKED_BITS).reduce((sum, bit, i) => (bit ? sum | (1n << BigInt(i)) : sum), 0n))
  }
  return packed
}
