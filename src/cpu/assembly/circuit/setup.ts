/**
 * Vectors of scalars that a set-up needs. Factors are limb records in Montgomery form, vectors 32 bytes a scalar,
 * canonical.
 */
import { addBytes, isCanonical, negateBytes } from './bytes'
import { addProductBytes, clearColumns } from './columns'
import { fromMontgomery, invertMany, multiply, multiplyBytes } from './fr'
import { reduceToBytes } from './reduce'
import { LIMBS, temporary } from './scratch'

/** out[i] = start · factor^i. */
export function powers(out: usize, count: u32, start: usize, factor: usize): void {
  const power = temporary + LIMBS
  memory.copy(power, start, LIMBS)
  for (let i: u32 = 0; i < count; i++, out += 32) {
    fromMontgomery(out, power)
    multiply(power, power, factor)
  }
}

/**
 * Lagrange coefficients at tau of the domain of m-th roots of unity: L_i(tau) = Z(tau)/m · w^i / (tau − w^i), Z(x) =
 * x^m − 1.
 * @param start w^first
 * @param root w
 * @param tau as 32 bytes, canonical
 * @param scale Z(tau)/m
 * @param space 40 · count bytes
 */
export function lagrangeCoefficients(
  out: usize,
  count: u32,
  start: usize,
  root: usize,
  tau: usize,
  scale: usize,
  space: usize,
): void {
  const power = temporary + LIMBS
  const value = temporary + 2 * LIMBS
  memory.copy(power, start, LIMBS)
  for (let i: u32 = 0; i < count; i++) {
    fromMontgomery(value, power)
    negateBytes(value, value)
    addBytes(out + (i << 5), tau, value)
    multiply(power, power, root)
  }
  invertMany(out, count, space)
  multiply(power, start, scale)
  for (let i: u32 = 0; i < count; i++, out += 32) {
    multiplyBytes(out, power, out)
    multiply(power, power, root)
  }
}

/** out[i] = a · u[i] + b · v[i] + c · w[i]. */
export function combine(out: usize, count: u32, u: usize, v: usize, w: usize, a: usize, b: usize, c: usize): void {
  for (let i: u32 = 0; i < count; i++, out += 32, u += 32, v += 32, w += 32) {
    clearColumns()
    addProductBytes(a, u)
    addProductBytes(b, v)
    addProductBytes(c, w)
    reduceToBytes(out)
  }
}

/** out[i] = factor · values[i]. */
export function scale(out: usize, count: u32, values: usize, factor: usize): void {
  for (let i: u32 = 0; i < count; i++, out += 32, values += 32) multiplyBytes(out, factor, values)
}

/** sums[i] += values[i]. */
export function accumulate(sums: usize, values: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++, sums += 32, values += 32) addBytes(sums, sums, values)
}

/** Index of the first of `count` scalars that is not below r, or `count`. */
export function firstNotCanonical(values: usize, count: u32): u32 {
  for (let i: u32 = 0; i < count; i++) if (!isCanonical(values + (<usize>i << 5))) return i
  return count
}
