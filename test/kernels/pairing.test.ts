import { createHash } from 'node:crypto'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { describe, expect, it } from 'vitest'
import { Fq2Field, type Fq2Value } from '../../src/cpu/pairing/fq2.ts'
import { Fq12Field } from '../../src/cpu/pairing/fq12.ts'
import { PairingProduct } from '../../src/cpu/pairing/pairing-product.ts'
import { bigintPairings } from '../../src/curve/pairing.ts'
import { FQ_MODULUS, G1, type G1Point, G2, type G2Point } from '../../src/curve/points.ts'
import { FR_MODULUS } from '../../src/field/fr.ts'
import { KERNEL_MODULES, kernelInstance } from './kernel-instance.ts'

const { Fp12 } = bls12_381.fields
type Element = Parameters<typeof Fp12.mul>[0]

/** Uniform enough, and the same each time. */
const number = (seed: string): bigint => BigInt(`0x${createHash('sha512').update(seed).digest('hex')}`)
const random = (seed: string): Fq2Value[] =>
  Array.from({ length: 6 }, (_, k) => [number(`${seed} ${k}`) % FQ_MODULUS, number(`${k} ${seed}`) % FQ_MODULUS])
const constant = (c0: bigint, c1: bigint): Fq2Value[] => Array.from({ length: 6 }, () => [c0, c1])
const reference = (parts: readonly Fq2Value[]): Element =>
  Fp12.fromBigTwelve(parts.flat() as unknown as Parameters<typeof Fp12.fromBigTwelve>[0])
const valuesOf = ({ c0, c1 }: Element): Fq2Value[] =>
  [c0, c1].flatMap((half) => [half.c0, half.c1, half.c2].map((part): Fq2Value => [part.c0, part.c1]))

const ELEMENTS: readonly Fq2Value[][] = [
  random('a'),
  random('b'),
  constant(FQ_MODULUS - 1n, FQ_MODULUS - 1n),
  constant(1n, FQ_MODULUS - 1n),
  [[1n, 0n], ...constant(0n, 0n).slice(1)],
  random('c'),
]

describe.each(KERNEL_MODULES)('pairings by %s', (name) => {
  const instance = kernelInstance(name)
  const fq12 = new Fq12Field(new Fq2Field(instance, instance.arena))
  const { lanes } = fq12.fq2
  const [x, y, out] = [fq12.allocate(), fq12.allocate(), fq12.allocate()] as const
  const product = new PairingProduct(instance, instance.arena)

  /** Elements a lane, which differ. */
  const inLanes = (k: number): readonly Fq2Value[][] =>
    Array.from({ length: lanes }, (_, lane) => ELEMENTS[(k + lane) % ELEMENTS.length] as Fq2Value[])
  const expectIn = (address: number, k: number, of: (a: Element) => Element): void =>
    expect(fq12.get(address)).toEqual(inLanes(k).map((lane) => valuesOf(of(reference(lane)))))

  it.each([...ELEMENTS.keys()])('operations of Fq12 equal the bigint reference, from element %i', (k) => {
    fq12.set(x, inLanes(k))
    fq12.set(y, inLanes(k + 1))
    fq12.mul(out, x, y)
    const others = inLanes(k + 1).map(reference)
    let lane = 0
    expectIn(out, k, (a) => Fp12.mul(a, others[lane++] as Element))
    fq12.sqr(out, x)
    expectIn(out, k, (a) => Fp12.sqr(a))
    fq12.inv(out, x)
    expectIn(out, k, (a) => Fp12.inv(a))
    fq12.conjugate(out, x)
    expectIn(out, k, (a) => Fp12.conjugate(a))
    for (const power of [1, 2] as const) {
      fq12.frobenius(out, x, power)
      expectIn(out, k, (a) => Fp12.frobeniusMap(a, power))
    }
    // In place.
    fq12.mul(x, x, y)
    fq12.mul(out, x, x)
    fq12.sqr(x, x)
    expect(fq12.get(x)).toEqual(fq12.get(out))
  })

  it('a sparse product equals a full one', () => {
    const [c0, c1, c4] = random('line') as [Fq2Value, Fq2Value, Fq2Value]
    const zero: Fq2Value = [0n, 0n]
    fq12.set(x, inLanes(0))
    fq12.set(y, [[c0, c1, zero, zero, c4, zero]])
    const { bytes } = fq12.fq2
    fq12.mul(out, x, y)
    fq12.mulByLine(x, x, y, y + bytes, y + 4 * bytes)
    expect(fq12.get(x)).toEqual(fq12.get(out))
  })

  it('a square in the cyclotomic subgroup equals any other', () => {
    // a^((p^6 − 1)(p² + 1)) lies in it.
    fq12.set(x, inLanes(0))
    fq12.inv(y, x)
    fq12.conjugate(x, x)
    fq12.mul(x, x, y)
    fq12.frobenius(y, x, 2)
    fq12.mul(x, x, y)
    fq12.sqr(out, x)
    fq12.sqrCyclotomic(x, x)
    expect(fq12.get(x)).toEqual(fq12.get(out))
  })

  const p = (k: bigint): G1Point => G1.BASE.multiplyUnsafe(((k % FR_MODULUS) + FR_MODULUS) % FR_MODULUS)
  const q = (k: bigint): G2Point => G2.BASE.multiplyUnsafe(((k % FR_MODULUS) + FR_MODULUS) % FR_MODULUS)
  const [a, b, c, d] = ['p', 'q', 'r', 's'].map((seed) => number(seed) % FR_MODULUS) as [bigint, bigint, bigint, bigint]

  it.each<[string, boolean, [bigint, bigint][]]>([
    ['none', true, []],
    ['one', false, [[a, b]]],
    [
      'two that cancel',
      true,
      [
        [a, b],
        [-a * b, 1n],
      ],
    ],
    [
      'two that do not',
      false,
      [
        [a, b],
        [-a * b - 1n, 1n],
      ],
    ],
    [
      'three that cancel',
      true,
      [
        [a, b],
        [c, d],
        [1n, -a * b - c * d],
      ],
    ],
    [
      'three that do not',
      false,
      [
        [a, b],
        [c, d],
        [1n, -a * b],
      ],
    ],
    [
      'four, as of a proof',
      true,
      [
        [a, b],
        [-c, d],
        [-(a * b - c * d - 7n), 1n],
        [-1n, 7n],
      ],
    ],
    [
      'four, the last wrong',
      false,
      [
        [a, b],
        [-c, d],
        [-(a * b - c * d - 7n), 1n],
        [-1n, 8n],
      ],
    ],
    [
      'five, the same twice among them',
      true,
      [
        [a, b],
        [a, b],
        [c, 1n],
        [-2n * a, b],
        [-1n, c],
      ],
    ],
  ])('a product of %s is 1: %s', (_, expected, scalars) => {
    const terms = scalars.map(([k, l]) => [p(k), q(l)] as const)
    expect(product.isOne(terms)).toBe(expected)
    expect(bigintPairings(terms)).toBe(expected)
  })
})
