/**
 * Evaluation domains of Fr: the powers of a 2^k-th root of unity, and the coset shifted by the multiplicative
 * generator. Both constants are those of the Rust crate `blstrs`; bellperson's domains are made from them.
 */
import { FR_MODULUS, frInv, frMul, frPow } from '../../field/fr.ts'

/** r − 1 is 2^32 times an odd number. */
export const TWO_ADICITY = 32

/**
 * Smallest generator of Fr's multiplicative group: shifts a domain to the coset on which no polynomial 1 − x^m
 * vanishes.
 */
export const COSET_GENERATOR = 7n

/** 7^((r − 1) / 2^32), of order 2^32. */
export const ROOT_OF_UNITY: bigint = frPow(COSET_GENERATOR, (FR_MODULUS - 1n) >> BigInt(TWO_ADICITY))

/** A primitive root of unity of order 2^log2. */
export function rootOfUnity(log2: number): bigint {
  if (!Number.isInteger(log2) || log2 < 0 || log2 > TWO_ADICITY)
    throw new RangeError(`Fr has no domain of size 2^${log2}`)
  let root = ROOT_OF_UNITY
  for (let order = TWO_ADICITY; order > log2; order--) root = frMul(root, root)
  return root
}

/** 1 / 2^log2. */
export function inverseOfSize(log2: number): bigint {
  return frInv(1n << BigInt(log2))
}

/** Value of x^m − 1 on the whole coset of the domain of m = 2^log2 elements: 7^m − 1. */
export function vanishingOnCoset(log2: number): bigint {
  return frPow(COSET_GENERATOR, 1n << BigInt(log2)) - 1n
}
