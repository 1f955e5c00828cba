/**
 * The last step of a proof: three points from five sums, the key and the blinding (Groth 2016, §3.2).
 *
 *     A = α + A' + r·δ                    in G1
 *     B = β + B' + s·δ                    in G2
 *     C = H + L + s·A + r·B₁ − r·s·δ      in G1, with B₁ = β + B₁' + s·δ
 *
 * A', B', B₁' are the sums over the queries a, b_g2, b_g1; H and L those over h and l. Written out,
 * C = H + L + s·A' + r·B₁' + r·s·δ + s·α + r·β, which is how `bellperson` adds it up.
 */
import { decodeSumG1, decodeSumG2, encodeG1, encodeG2 } from '../curve/encoding.ts'
import type { G1Point, G2Point } from '../curve/points.ts'
import { frMul } from '../field/fr.ts'
import type { Query } from '../params/layout.ts'
import type { VerifyingKey } from '../params/verifying-key.ts'
import type { Blinding } from './blinding.ts'
import { encodeProof } from './proof.ts'
import type { ShortSum } from './proving-device.ts'

/** One sum a query, as devices return them: uncompressed big-endian, infinity with the flag 0x40. */
export type QuerySums = Readonly<Record<Query, Uint8Array>>

/** The points of a key that a proof is made with. */
export type ProvingElements = Pick<VerifyingKey, 'alphaG1' | 'betaG1' | 'betaG2' | 'deltaG1' | 'deltaG2'>

type Terms<P> = readonly (readonly [P, bigint])[]

/** What of a proof its sums have no part in. Secret as the blinding is. */
export interface BlindedElements {
  /** α + r·δ, in G1. */
  readonly a: G1Point
  /** β + s·δ, in G2. */
  readonly b: G2Point
  /** r·s·δ + s·α + r·β, in G1. */
  readonly c: G1Point
  readonly blinding: Blinding
}

/**
 * Half of the work of a proof's last step, which may be done while a device still sums.
 * @param shortSum sums of multiples; bigints without it
 */
export function blindElements(key: ProvingElements, blinding: Blinding, shortSum?: ShortSum): BlindedElements {
  const { r, s } = blinding
  const { g1, g2 } = sumsBy(shortSum)
  return {
    a: g1([
      [key.alphaG1, 1n],
      [key.deltaG1, r],
    ]),
    b: g2([
      [key.betaG2, 1n],
      [key.deltaG2, s],
    ]),
    c: g1([
      [key.deltaG1, frMul(r, s)],
      [key.alphaG1, s],
      [key.betaG1, r],
    ]),
    blinding,
  }
}

/**
 * @param shortSum sums of multiples; bigints without it
 * @returns the proof, 192 bytes
 * @throws {PointEncodingError} a sum is no point: the device computed wrong
 */
export function assembleProof(
  { a, b, c, blinding }: BlindedElements,
  sums: QuerySums,
  shortSum?: ShortSum,
): Uint8Array {
  const { g1 } = sumsBy(shortSum)
  const sumA = decodeSumG1(sums.a)
  return encodeProof({
    a: a.add(sumA),
    b: b.add(decodeSumG2(sums.b_g2)),
    c: g1([
      [c, 1n],
      [decodeSumG1(sums.h), 1n],
      [decodeSumG1(sums.l), 1n],
      [sumA, blinding.s],
      [decodeSumG1(sums.b_g1), blinding.r],
    ]),
  })
}

function sumsBy(shortSum: ShortSum | undefined): {
  g1(terms: Terms<G1Point>): G1Point
  g2(terms: Terms<G2Point>): G2Point
} {
  return {
    g1: (terms) => (shortSum === undefined ? total(terms) : decodeSumG1(shortSum('g1', ...split(terms, encodeG1)))),
    g2: (terms) => (shortSum === undefined ? total(terms) : decodeSumG2(shortSum('g2', ...split(terms, encodeG2)))),
  }
}

function total<P extends { add(other: P): P; multiplyUnsafe(scalar: bigint): P }>(terms: Terms<P>): P {
  return terms.map(([point, scalar]) => point.multiplyUnsafe(scalar)).reduce((sum, term) => sum.add(term))
}

function split<P>(terms: Terms<P>, encode: (point: P) => Uint8Array): [Uint8Array[], bigint[]] {
  return [terms.map(([point]) => encode(point)), terms.map(([, scalar]) => scalar)]
}
