/** Draws the secrets of a set-up. */
import { encodeG1, encodeG2 } from '../curve/encoding.ts'
import { G1, G2 } from '../curve/points.ts'
import { frPow } from '../field/fr.ts'
import { randomScalar } from '../groth16/blinding.ts'
import type { ToxicScalars, ToxicWaste } from '../params/toxic-waste.ts'

/** Whether a set-up can use these: none is 0, and τ is no root of unity of the domain (the chance is below 2^−220). */
export function isUsable({ alpha, beta, gamma, delta, tau }: ToxicScalars, log2Domain: number): boolean {
  return (
    [alpha, beta, gamma, delta, tau].every((secret) => secret !== 0n) && frPow(tau, 1n << BigInt(log2Domain)) !== 1n
  )
}

/**
 * Fresh secrets from the operating system's generator, over the generators of the standard. They are forgotten with the
 * last reference: JavaScript can't overwrite a bigint.
 */
export function drawToxicWaste(log2Domain: number): ToxicWaste {
  for (;;) {
    const scalars = {
      alpha: randomScalar(),
      beta: randomScalar(),
      gamma: randomScalar(),
      delta: randomScalar(),
      tau: randomScalar(),
    }
    if (isUsable(scalars, log2Domain)) return { ...scalars, g1: encodeG1(G1.BASE), g2: encodeG2(G2.BASE) }
  }
}
