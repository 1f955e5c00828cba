import { describe, expect, it } from 'vitest'
import { wasmArithmetic, wasmMultiexp } from '../../src/cpu/verify-arithmetic.ts'
import { encodeG1 } from '../../src/curve/encoding.ts'
import { bigintMultiexp } from '../../src/curve/multiexp.ts'
import { G1 } from '../../src/curve/points.ts'
import { FR_MODULUS, frFromBytes, frToBytes } from '../../src/field/fr.ts'
import { prepareInputs, verifyPrepared, verifyProofs } from '../../src/groth16/verify.ts'
import { parseVerifyingKey } from '../../src/params/verifying-key.ts'
import { largeVerification } from '../support/large-verification.ts'
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
    const inputs = 25_840
    const { key, publicInputs, proof } = largeVerification(inputs)
    expect(verifyProofs(key, [publicInputs], proof, wasmArithmetic)).toBe(true)
    const prepared = prepareInputs(key, [publicInputs], wasmArithmetic)
    expect(verifyPrepared(key, prepared, proof, wasmArithmetic)).toBe(true)
    for (const changed of [0, 12_345, inputs - 2]) {
      const other = publicInputs.with(changed, frToBytes(frFromBytes(publicInputs[changed] as Uint8Array) + 1n))
      expect(verifyProofs(key, [other], proof, wasmArithmetic)).toBe(false)
    }
  })
})
