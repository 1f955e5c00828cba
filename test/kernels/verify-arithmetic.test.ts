import { normalizeZ } from '@noble/curves/abstract/curve.js'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { describe, expect, it } from 'vitest'
import { wasmArithmetic, wasmMultiexp } from '../../src/cpu/verify-arithmetic.ts'
import { encodeG1, encodeG2 } from '../../src/curve/encoding.ts'
import { bigintMultiexp } from '../../src/curve/multiexp.ts'
import { G1, G2 } from '../../src/curve/points.ts'
import { FR_MODULUS, frFromBytes, frInv, frMul, frReduce, frToBytes } from '../../src/field/fr.ts'
import { encodeProof } from '../../src/groth16/proof.ts'
import { prepareInputs, verifyPrepared, verifyProofs } from '../../src/groth16/verify.ts'
import { parseVerifyingKey } from '../../src/params/verifying-key.ts'
import { proofVector } from '../support/vectors.ts'

const points = (count: number, step: bigint): Uint8Array => {
  const out = []
  let point = G1.BASE.multiplyUnsafe(step)
  for (let i = 0; i < count; i++, point = point.add(G1.BASE)) out.push(encodeG1(point))
  return new Uint8Array(Buffer.concat(out))
}
const scalars = (count: number, of: (i: bigint) => bigint): Uint8Array =>
  new Uint8Array(Buffer.concat(Array.from({ length: count }, (_, i) => frToBytes(of(BigInt(i)) % FR_MODULUS))))

describe('sums over a key', () => {
  it.each([
    ['of one point', 1, (i: bigint) => i + 5n],
    ['of two', 2, (i: bigint) => i + 5n],
    ['of full scalars', 301, (i: bigint) => (i + 3n) ** 50n],
    ['of zeros', 50, () => 0n],
    ['of ones', 50, () => 1n],
    ['of equal ones and short ones', 133, (i: bigint) => (i % 2n === 0n ? 3n ** 150n : i * 0x1234567n)],
    ['of r − 1', 50, () => FR_MODULUS - 1n],
    ['of short and full scalars', 400, (i: bigint) => (i % 11n === 0n ? (i + 3n) ** 50n : i * 0x1234567n)],
  ] as const)('%s equal the bigint reference', (_, count, of) => {
    const [p, s] = [points(count, 77n), scalars(count, of)]
    expect(wasmMultiexp(p, s)).toEqual(bigintMultiexp(p, s))
    // Again with the points that are imported already.
    expect(wasmMultiexp(p, s)).toEqual(bigintMultiexp(p, s))
  })

  it('of more keys than are kept', () => {
    const keys = Array.from({ length: 10 }, (_, k) => points(20, BigInt(k * 1000 + 1)))
    const s = scalars(20, (i) => i * i + 1n)
    for (const p of [...keys, ...keys]) expect(wasmMultiexp(p, s)).toEqual(bigintMultiexp(p, s))
  })

  it('no points, wrong lengths, a point off the curve', () => {
    expect(wasmMultiexp(new Uint8Array(0), new Uint8Array(0))).toEqual(encodeG1(G1.ZERO))
    expect(() => wasmMultiexp(points(2, 3n), new Uint8Array(32))).toThrow(RangeError)
    const bad = points(3, 3n)
    bad[150] = (bad[150] as number) ^ 1
    expect(() => wasmMultiexp(bad, new Uint8Array(96))).toThrow('not on the curve')
  })

  it('verify the reference proofs', () => {
    for (const [folder, name, key] of [
      ['2KiB/a', 'window-3', 'window-2KiB'],
      ['32GiB', 'winning', 'winning-32GiB'],
    ] as const) {
      const { vk, publicInputs, proof } = proofVector(folder, name, key)
      const prepared = parseVerifyingKey(vk, { file: key })
      expect(verifyProofs(prepared, publicInputs, proof, wasmArithmetic)).toBe(true)
      const [first, ...rest] = publicInputs as [Uint8Array[], ...Uint8Array[][]]
      const changed = [[first[1], first[0], ...first.slice(2)] as Uint8Array[], ...rest]
      expect(verifyProofs(prepared, changed, proof, wasmArithmetic)).toBe(false)
    }
  })

  it('verify against as many inputs as a 32 GiB WindowPoSt has', () => {
    // A key with known logarithms: ic[i] = (k + i)·g, and a proof whose C is solved from A·B = α·β + x·γ + c·δ.
    const inputs = 25_840
    const k = 2n ** 200n + 12345n
    const list: InstanceType<typeof bls12_381.G1.Point>[] = []
    for (
      let point = bls12_381.G1.Point.BASE.multiply(k);
      list.length < inputs;
      point = point.add(bls12_381.G1.Point.BASE)
    ) {
      list.push(point)
    }
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
    const publicInputs = values.map(frToBytes)
    const key = parseVerifyingKey(vk, { file: 'large.vk', trusted: true })
    expect(verifyProofs(key, [publicInputs], proof, wasmArithmetic)).toBe(true)
    const prepared = prepareInputs(key, [publicInputs], wasmArithmetic)
    expect(verifyPrepared(key, prepared, proof, wasmArithmetic)).toBe(true)
    for (const changed of [0, 12_345, inputs - 2]) {
      const other = publicInputs.with(changed, frToBytes(frFromBytes(publicInputs[changed] as Uint8Array) + 1n))
      expect(verifyProofs(key, [other], proof, wasmArithmetic)).toBe(false)
    }
  })
})
