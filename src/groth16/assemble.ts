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
import { decodeSumG1, decodeSumG2 } from '../curve/encoding.ts'
import type { G1Point } from '../curve/points.ts'
import { frMul } from '../field/fr.ts'
import type { Query } from '../params/layout.ts'
import type { VerifyingKey } from '../params/verifying-key.ts'
import type { Blinding } from './blinding.ts'
import { encodeProof } from './proof.ts'

/** One sum a query, as devices return them: uncompressed big-endian, infinity with the flag 0x40. */
export type QuerySums = Readonly<Record<Query, Uint8Array>>

/** The points of a key that a proof is made with. */
export type ProvingElements = Pick<VerifyingKey, 'alphaG1' | 'betaG1' | 'betaG2' | 'deltaG1' | 'deltaG2'>

/**
 * @returns the proof, 192 bytes
 * @throws {PointEncodingError} a sum is no point: the device computed wrong
 */
export function assembleProof(key: ProvingElements, sums: QuerySums, { r, s }: Blinding): Uint8Array {
  const aSum = decodeSumG1(sums.a)
  const times = (point: G1Point, scalar: bigint): G1Point => point.multiplyUnsafe(scalar)
  return encodeProof({
    a: key.alphaG1.add(aSum).add(times(key.deltaG1, r)),
    b: key.betaG2.add(decodeSumG2(sums.b_g2)).add(key.deltaG2.multiplyUnsafe(s)),
    c: decodeSumG1(sums.h)
      .add(decodeSumG1(sums.l))
      .add(times(key.alphaG1.add(aSum), s))
      .add(times(key.betaG1.add(decodeSumG1(sums.b_g1)), r))
      .add(times(key.deltaG1, frMul(r, s))),
  })
}
