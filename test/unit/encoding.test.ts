import { bls12_381 } from '@noble/curves/bls12-381.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeG1,
  decodeG1Compressed,
  decodeG2,
  decodeG2Compressed,
  decodeSumG1,
  decodeSumG2,
  encodeG1,
  encodeG1Compressed,
  encodeG2,
  encodeG2Compressed,
  PointEncodingError,
  type PointFault,
} from '../../src/curve/encoding.ts'
import { bigintMultiexp, sumOfMultiples } from '../../src/curve/multiexp.ts'
import { FQ_MODULUS, G1, type G1Point, G2 } from '../../src/curve/points.ts'
import { allInG1Subgroup } from '../../src/curve/subgroup.ts'
import { fromBytesBE, fromBytesLE, writeBytesBE, writeBytesLE } from '../../src/field/bytes.ts'

const CHECKED = { subgroup: true }
const ORDER = bls12_381.fields.Fr.ORDER
const scalar = fc.bigInt({ min: 1n, max: ORDER - 1n })

const faultOf = (decode: () => unknown): PointFault | undefined => {
  try {
    decode()
  } catch (error) {
    if (error instanceof PointEncodingError) return error.fault
    throw error
  }
  return undefined
}

const with48 = (value: bigint, at: number, length: number, flags = 0): Uint8Array => {
  const out = new Uint8Array(length)
  writeBytesBE(value, out.subarray(at, at + 48))
  out[0] = (out[0] as number) | flags
  return out
}

/** (4, √68): on the curve, outside the subgroup. */
const stray = (): G1Point => G1.fromAffine({ x: 4n, y: bls12_381.fields.Fp.sqrt(68n) })

describe('integers', () => {
  it('survive both byte orders', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 384n - 1n }), (value) => {
        const out = new Uint8Array(48)
        writeBytesLE(value, out)
        expect(fromBytesLE(out)).toBe(value)
        expect(fromBytesBE(out.slice().reverse())).toBe(value)
        writeBytesBE(value, out)
        expect(fromBytesBE(out)).toBe(value)
      }),
    )
  })

  it('too large or negative are refused', () => {
    for (const write of [writeBytesLE, writeBytesBE]) {
      expect(() => write(2n ** 64n, new Uint8Array(8))).toThrow(RangeError)
      expect(() => write(-1n, new Uint8Array(8))).toThrow(RangeError)
    }
  })
})

describe('points', () => {
  it('survive all four encodings, which are those of noble', () => {
    fc.assert(
      fc.property(scalar, (k) => {
        const p = G1.BASE.multiplyUnsafe(k)
        const q = G2.BASE.multiplyUnsafe(k)
        expect(decodeG1(encodeG1(p), CHECKED).equals(p)).toBe(true)
        expect(decodeG1Compressed(encodeG1Compressed(p), CHECKED).equals(p)).toBe(true)
        expect(decodeG2(encodeG2(q), CHECKED).equals(q)).toBe(true)
        expect(decodeG2Compressed(encodeG2Compressed(q), CHECKED).equals(q)).toBe(true)
        const noble1 = bls12_381.G1.Point.BASE.multiplyUnsafe(k) as unknown as {
          toBytes(compressed: boolean): Uint8Array
        }
        const noble2 = bls12_381.G2.Point.BASE.multiplyUnsafe(k) as unknown as {
          toBytes(compressed: boolean): Uint8Array
        }
        expect(encodeG1(p)).toEqual(noble1.toBytes(false))
        expect(encodeG1Compressed(p)).toEqual(noble1.toBytes(true))
        expect(encodeG2(q)).toEqual(noble2.toBytes(false))
        expect(encodeG2Compressed(q)).toEqual(noble2.toBytes(true))
      }),
      { numRuns: 20 },
    )
  })

  it('infinity is written with its flag, read as a sum, and refused elsewhere', () => {
    expect(encodeG1(G1.ZERO)).toEqual(with48(0n, 0, 96, 0x40))
    expect(encodeG2(G2.ZERO)).toEqual(with48(0n, 0, 192, 0x40))
    expect(encodeG1Compressed(G1.ZERO)).toEqual(with48(0n, 0, 48, 0xc0))
    expect(encodeG2Compressed(G2.ZERO)).toEqual(with48(0n, 0, 96, 0xc0))
    expect(decodeSumG1(encodeG1(G1.ZERO)).is0()).toBe(true)
    expect(decodeSumG2(encodeG2(G2.ZERO)).is0()).toBe(true)
    expect(faultOf(() => decodeG1(encodeG1(G1.ZERO), CHECKED))).toBe('infinity')
    expect(faultOf(() => decodeG2(encodeG2(G2.ZERO), CHECKED))).toBe('infinity')
    expect(faultOf(() => decodeG1Compressed(encodeG1Compressed(G1.ZERO), CHECKED))).toBe('infinity')
    expect(faultOf(() => decodeG2Compressed(encodeG2Compressed(G2.ZERO), CHECKED))).toBe('infinity')
  })

  it('each fault is named', () => {
    const good = encodeG1(G1.BASE)
    expect(faultOf(() => decodeG1(good.subarray(1), CHECKED))).toBe('length')
    expect(faultOf(() => decodeG1(encodeG1Compressed(G1.BASE), CHECKED))).toBe('length')
    expect(faultOf(() => decodeG1Compressed(with48(4n, 0, 48), CHECKED))).toBe('flags')
    expect(faultOf(() => decodeG1(with48(4n, 0, 96, 0x80), CHECKED))).toBe('flags')
    expect(faultOf(() => decodeG1(with48(4n, 0, 96, 0x20), CHECKED))).toBe('flags')
    expect(faultOf(() => decodeG1(with48(FQ_MODULUS, 0, 96), CHECKED))).toBe('coordinate not below p')
    expect(faultOf(() => decodeG1(with48(FQ_MODULUS, 48, 96), CHECKED))).toBe('coordinate not below p')
    for (const at of [0, 48, 96, 144]) {
      expect(faultOf(() => decodeG2(with48(FQ_MODULUS, at, 192), CHECKED))).toBe('coordinate not below p')
    }
    expect(faultOf(() => decodeG1Compressed(with48(FQ_MODULUS + 1n, 0, 48, 0x80), CHECKED))).toBe(
      'coordinate not below p',
    )
    const moved = good.slice()
    moved[95] = (moved[95] as number) ^ 1
    expect(faultOf(() => decodeG1(moved, CHECKED))).toBe('off the curve')
    const moved2 = encodeG2(G2.BASE)
    moved2[100] = (moved2[100] as number) ^ 1
    expect(faultOf(() => decodeG2(moved2, CHECKED))).toBe('off the curve')
    // x = 1: 1 + 4 = 5 is no square modulo p.
    expect(faultOf(() => decodeG1Compressed(with48(1n, 0, 48, 0x80), CHECKED))).toBe('off the curve')
    expect(faultOf(() => decodeG1(encodeG1(stray()), CHECKED))).toBe('outside the subgroup')
    expect(faultOf(() => decodeG1(encodeG1(stray()), { subgroup: false }))).toBeUndefined()
    expect(faultOf(() => decodeG1Compressed(with48(4n, 0, 48, 0x80), CHECKED))).toBe('outside the subgroup')
  })
})

describe('many points', () => {
  const points = Array.from({ length: 200 }, (_, i) => G1.BASE.multiplyUnsafe(BigInt(i + 1) ** 20n))
  const random = (seed: number) => (count: number) =>
    Uint8Array.from({ length: count }, (_, i) => (i * i * 31 + seed * 17 + (i >> 3)) & 255)

  it('in the subgroup are accepted', () => {
    expect(allInG1Subgroup(points, random(1))).toBe(true)
    expect(allInG1Subgroup(points.slice(0, 5), random(1))).toBe(true)
  })

  it('with one outside the subgroup are refused, also if only its part of order 3 is left', () => {
    // x = 0 is a root of the 3-division polynomial 3x(x³ + 16), so (0, 2) has order 3.
    const order3 = G1.fromAffine({ x: 0n, y: 2n })
    expect(order3.is0()).toBe(false)
    expect(order3.add(order3).add(order3).is0()).toBe(true)
    for (const bad of [stray(), order3, points[7]?.add(order3) as G1Point]) {
      const seeded = (seed: number) => allInG1Subgroup([...points, bad], random(seed))
      expect([1, 2, 3].map(seeded)).toEqual([false, false, false])
      expect(allInG1Subgroup([bad], random(1))).toBe(false)
    }
  })
})

describe('sums of multiples', () => {
  it('equal the sum of single multiples, with zeros, small and large scalars', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(scalar, fc.constantFrom(0n, 1n, 2n, ORDER - 1n)), { maxLength: 20 }), (scalars) => {
        const points = scalars.map((_, i) => G1.BASE.multiplyUnsafe(BigInt(i + 2)))
        const expected = scalars.reduce((sum, k, i) => sum.add((points[i] as G1Point).multiplyUnsafe(k)), G1.ZERO)
        expect(sumOfMultiples(points, scalars).equals(expected)).toBe(true)
      }),
      { numRuns: 15 },
    )
  })

  it('work on bytes', () => {
    const points = new Uint8Array([...encodeG1(G1.BASE), ...encodeG1(G1.BASE.double())])
    const scalars = new Uint8Array(64)
    scalars[0] = 5
    scalars[32] = 7
    expect(bigintMultiexp(points, scalars)).toEqual(encodeG1(G1.BASE.multiplyUnsafe(19n)))
    expect(bigintMultiexp(new Uint8Array(0), new Uint8Array(0))).toEqual(encodeG1(G1.ZERO))
  })
})
