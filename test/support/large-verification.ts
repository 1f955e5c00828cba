/** A proof of as many public inputs as the circuit of a WindowPoSt has, without that circuit. */
import { normalizeZ } from '@noble/curves/abstract/curve.js'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { encodeG1, encodeG2 } from '../../src/curve/encoding.ts'
import { G1, G2 } from '../../src/curve/points.ts'
import { frInv, frMul, frReduce, frToBytes } from '../../src/field/fr.ts'
import { encodeProof } from '../../src/groth16/proof.ts'
import { parseVerifyingKey, type VerifyingKey } from '../../src/params/verifying-key.ts'

export interface LargeVerification {
  readonly key: VerifyingKey
  /** 32 bytes little-endian each, ONE left out. */
  readonly publicInputs: readonly Uint8Array[]
  /** It holds for them. */
  readonly proof: Uint8Array
}

/**
 * A key with known logarithms: ic[i] = (k + i)·g, and a proof whose C is solved from A·B = α·β + x·γ + c·δ.
 * @param inputs of the key, ONE included
 */
export function largeVerification(inputs: number): LargeVerification {
  const k = 2n ** 200n + 12345n
  const list: InstanceType<typeof bls12_381.G1.Point>[] = []
  const { BASE } = bls12_381.G1.Point
  for (let point = BASE.multiply(k); list.length < inputs; point = point.add(BASE)) list.push(point)
  const ic = normalizeZ(bls12_381.G1.Point, list) as unknown as (typeof G1.BASE)[]
  const [alpha, beta, gamma, delta] = [3n, 5n, 7n, 11n] as const
  const [g1, g2] = [G1.BASE, G2.BASE]
  const length = Buffer.alloc(4)
  length.writeUInt32BE(inputs)
  const vk = new Uint8Array(
    Buffer.concat([
      ...[alpha, beta].map((e) => encodeG1(g1.multiplyUnsafe(e))),
      ...[beta, gamma].map((e) => encodeG2(g2.multiplyUnsafe(e))),
      encodeG1(g1.multiplyUnsafe(delta)),
      encodeG2(g2.multiplyUnsafe(delta)),
      length,
      ...ic.map(encodeG1),
    ]),
  )
  // As in a WindowPoSt: one commitment, then ten numbers of leaves.
  const values = Array.from({ length: inputs - 1 }, (_, i) => {
    const leaf = BigInt((i * 2_654_435_761) % 2 ** 30)
    return i % 11 === 0 ? frReduce((leaf + 2n) ** 15n) : leaf
  })
  const x = frReduce(values.reduce((sum, value, i) => sum + value * (k + BigInt(i + 1)), k))
  const [a, b] = [frReduce(99n ** 40n), frReduce(77n ** 41n)]
  const c = frMul(frReduce(a * b - alpha * beta - x * gamma), frInv(delta))
  const proof = encodeProof({ a: g1.multiplyUnsafe(a), b: g2.multiplyUnsafe(b), c: g1.multiplyUnsafe(c) })
  return {
    key: parseVerifyingKey(vk, { file: 'large.vk', trusted: true }),
    publicInputs: values.map(frToBytes),
    proof,
  }
}
