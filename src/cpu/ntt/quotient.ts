/**
 * The quotient polynomial of Groth16, h = (A · B − C) / (x^m − 1), from the rows a and b of a satisfied assignment.
 *
 * On the coset g·⟨w⟩ the divisor is the constant g^m − 1. Let a and b also name the polynomials that take these values
 * on the domain, c = a∘b the one with the pointwise products there, and D the polynomial of degree below m with D = a·b
 * on the coset. As a·b = c + (x^m − 1)·h and c, h have degrees below m, D = c + (g^m − 1)·h, so
 *
 *     h = (D − c) / (g^m − 1)
 *
 * by coefficients: c needs no transform to the coset, which leaves six transforms instead of seven.
 */

import { frInv } from '../../field/fr.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { portion } from '../../groth16/run-portion.ts'
import { COSET_GENERATOR, vanishingOnCoset } from './domain.ts'
import type { Transforms } from './transform.ts'

/** Addresses of three vectors of m = 2^log2 elements. */
export interface QuotientVectors {
  /** Rows a, padded with zeros; overwritten. */
  readonly a: number
  /** Rows b, padded with zeros; receives the coefficients of h, of which the last is 0. */
  readonly b: number
  /** Work space; its content does not matter. */
  readonly c: number
}

/** Computes h in place of b: m elements in natural order, canonical, 32 bytes little-endian each. */
export async function computeQuotient(
  transforms: Transforms,
  log2: number,
  vectors: QuotientVectors,
  run: Run,
): Promise<void> {
  const { a, b, c } = vectors
  const scale = frInv(vanishingOnCoset(log2))
  await transforms.analyse(log2, a, { times: b, to: c, scale }, portion(run, 0, 1 / 6))
  for (const [i, rows] of [a, b].entries()) {
    await transforms.analyse(
      log2,
      rows,
      { to: rows, shift: COSET_GENERATOR },
      portion(run, (1 + 2 * i) / 6, (2 + 2 * i) / 6),
    )
    await transforms.synthesise(log2, rows, portion(run, (2 + 2 * i) / 6, (3 + 2 * i) / 6))
  }
  const shift = frInv(COSET_GENERATOR)
  const last = { times: b, to: a, scale, shift, natural: { to: b, minus: c } }
  await transforms.analyse(log2, a, last, portion(run, 5 / 6, 1))
}
