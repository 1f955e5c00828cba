import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  FR_BITS,
  FR_MODULUS,
  frAdd,
  frFromBytes,
  frInv,
  frInvBatch,
  frMul,
  frNeg,
  frPow,
  frReduce,
  frSub,
  frToBytes,
  integerFromBytes,
} from '../../src/field/fr.ts'

const r = FR_MODULUS
const element = fc.oneof(fc.constantFrom(0n, 1n, 2n, r - 1n, r - 2n), fc.bigInt({ min: 0n, max: r - 1n }))
const nonzero = element.filter((a) => a !== 0n)

describe('Fr', () => {
  it('has the order of the BLS12-381 groups, x⁴ − x² + 1 for x = −0xd201000000010000', () => {
    const x = -0xd201000000010000n
    expect(r).toBe(x ** 4n - x ** 2n + 1n)
    expect(r.toString(2).length).toBe(FR_BITS)
  })

  it('adds, subtracts, negates and multiplies as integers do modulo r', () => {
    fc.assert(
      fc.property(element, element, (a, b) => {
        expect(frAdd(a, b)).toBe((a + b) % r)
        expect(frSub(a, b)).toBe((a - b + r) % r)
        expect(frNeg(a)).toBe((r - a) % r)
        expect(frMul(a, b)).toBe((a * b) % r)
      }),
    )
  })

  it('reduces negative integers to the canonical representative', () => {
    expect(frReduce(-1n)).toBe(r - 1n)
    expect(frReduce(-r)).toBe(0n)
    expect(frReduce(r * r + 5n)).toBe(5n)
  })

  it('inverts by two methods alike: Euclid and Fermat', () => {
    fc.assert(
      fc.property(nonzero, (a) => {
        expect(frMul(frInv(a), a)).toBe(1n)
        expect(frPow(a, r - 2n)).toBe(frInv(a))
      }),
      { numRuns: 20 },
    )
  })

  it('inverts batches', () => {
    fc.assert(
      fc.property(fc.array(nonzero, { maxLength: 9 }), (elements) => {
        expect(frInvBatch(elements)).toEqual(elements.map(frInv))
      }),
      { numRuns: 20 },
    )
  })

  it('refuses to invert 0, alone or in a batch', () => {
    expect(() => frInv(0n)).toThrow(RangeError)
    expect(() => frInvBatch([1n, 0n])).toThrow(RangeError)
  })

  it('round-trips bytes, least significant first', () => {
    expect(frToBytes(0x0102n).subarray(0, 3)).toEqual(Uint8Array.of(2, 1, 0))
    fc.assert(
      fc.property(element, (a) => {
        expect(frFromBytes(frToBytes(a))).toBe(a)
        expect(integerFromBytes(Uint8Array.of(7, ...frToBytes(a)), 1)).toBe(a)
      }),
    )
  })

  it('refuses bytes of integers from r upwards', () => {
    expect(frFromBytes(frToBytes(r - 1n))).toBe(r - 1n)
    expect(() => frFromBytes(frToBytes(r))).toThrow(/not a canonical element/)
    expect(() => frFromBytes(new Uint8Array(32).fill(255))).toThrow(RangeError)
  })
})
