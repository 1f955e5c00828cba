/**
 * Products of pairings by noble's bigint arithmetic: the truth that kernels are tested against, and the fallback where
 * no WebAssembly is at hand.
 */
import { bls12_381 } from '@noble/curves/bls12-381.js'
import type { G1Point, G2Point } from './points.ts'

/**
 * Whether Π e(Pᵢ, Qᵢ) = 1, e the optimal ate pairing.
 * @param terms points of the subgroups of order r, none of them infinity
 */
export type PairingCheck = (terms: readonly (readonly [G1Point, G2Point])[]) => boolean

/** The lines of a Miller loop for a fixed point of G2. */
type Lines = ReturnType<typeof bls12_381.utils.calcPairingPrecomputes>

/** Worked out once for each point that is used again, as those of a verifying key are: some milliseconds each. */
const known = new WeakMap<G2Point, Lines>()

function linesOf(point: G2Point): Lines {
  let lines = known.get(point)
  if (lines === undefined) {
    lines = bls12_381.utils.calcPairingPrecomputes(
      point as unknown as Parameters<typeof bls12_381.utils.calcPairingPrecomputes>[0],
    )
    known.set(point, lines)
  }
  return lines
}

/** {@link PairingCheck} by bigints. */
export const bigintPairings: PairingCheck = (terms) => {
  if (terms.length === 0) return true
  const { Fp12 } = bls12_381.fields
  const factors = terms.map(([p, q]): [Lines, bigint, bigint] => {
    const { x, y } = p.toAffine()
    return [linesOf(q), x, y]
  })
  return Fp12.eql(Fp12.finalExponentiate(bls12_381.millerLoopBatch(factors)), Fp12.ONE)
}
