/** Points of both groups between noble's bigint arithmetic and the packed form of the shaders. */
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { decodeSumG1, decodeSumG2 } from '../../src/curve/encoding.ts'
import type { Group } from '../../src/webgpu/curve/batch-affine.ts'
import { FQ, packMontgomery, unpackMontgomery } from '../../src/webgpu/prelude/digit-field.ts'
import type { Random } from './harness.ts'

/** Coordinates in Fq: x, y for G1; x.c0, x.c1, y.c0, y.c1 for G2. Absent for infinity. */
export type Affine = readonly bigint[] | undefined

const G1: typeof bls12_381.G1.Point = bls12_381.G1.Point
const G2: typeof bls12_381.G2.Point = bls12_381.G2.Point

export const fqPerPoint = (group: Group): number => (group === 'g1' ? 2 : 4)

export function toNoble(group: 'g1', point: Affine): InstanceType<typeof G1>
export function toNoble(group: 'g2', point: Affine): InstanceType<typeof G2>
export function toNoble(group: Group, point: Affine): InstanceType<typeof G1> | InstanceType<typeof G2> {
  if (point === undefined) return group === 'g1' ? G1.ZERO : G2.ZERO
  const [a, b, c, d] = point as [bigint, bigint, bigint, bigint]
  return group === 'g1' ? G1.fromAffine({ x: a, y: b }) : G2.fromAffine({ x: { c0: a, c1: b }, y: { c0: c, c1: d } })
}

function fromNoble(point: InstanceType<typeof G1> | InstanceType<typeof G2>): Affine {
  if (point.is0()) return undefined
  const { x, y } = point.toAffine()
  return typeof x === 'bigint'
    ? [x, y as bigint]
    : [x.c0, x.c1, (y as { c0: bigint; c1: bigint }).c0, (y as { c0: bigint; c1: bigint }).c1]
}

/** The point of an encoded sum. */
export const affineOf = (group: Group, bytes: Uint8Array): Affine =>
  fromNoble(group === 'g1' ? (decodeSumG1(bytes) as never) : (decodeSumG2(bytes) as never))

/** Σ k_i P_i, by noble. */
export function referenceSum(
  group: Group,
  terms: readonly { readonly point: Affine; readonly scalar: bigint }[],
): Affine {
  if (group === 'g1') {
    let sum = G1.ZERO
    for (const { point, scalar } of terms) sum = sum.add(times(toNoble('g1', point), scalar))
    return fromNoble(sum)
  }
  let sum = G2.ZERO
  for (const { point, scalar } of terms) sum = sum.add(times(toNoble('g2', point), scalar))
  return fromNoble(sum)
}

interface Scalable<T> {
  negate(): T
  multiplyUnsafe(scalar: bigint): T
}
const times = <T extends Scalable<T>>(point: T, scalar: bigint): T =>
  scalar < 0n ? point.negate().multiplyUnsafe(-scalar) : point.multiplyUnsafe(scalar)

/** Distinct points k·G with small random k. */
export function randomPoints(group: Group, count: number, random: Random): Affine[] {
  const start = BigInt(random.integer(1 << 30)) + 2n
  const step = BigInt(random.integer(1 << 20)) + 1n
  const base = group === 'g1' ? G1.BASE : G2.BASE
  let point = base.multiplyUnsafe(start) as InstanceType<typeof G1>
  const add = base.multiplyUnsafe(step) as InstanceType<typeof G1>
  return Array.from({ length: count }, () => {
    point = point.add(add)
    return fromNoble(point)
  })
}

export function packPoints(points: readonly Affine[], group: Group): Uint32Array {
  const size = fqPerPoint(group) * FQ.words
  const words = new Uint32Array(points.length * size)
  for (const [i, point] of points.entries()) {
    if (point === undefined) continue
    for (const [k, coordinate] of point.entries()) words.set(packMontgomery(coordinate, FQ), i * size + k * FQ.words)
  }
  return words
}

export function unpackPoints(words: Uint32Array, group: Group): Affine[] {
  const size = fqPerPoint(group) * FQ.words
  return Array.from({ length: words.length / size }, (_, i) => {
    const point = words.subarray(i * size, (i + 1) * size)
    if (point.subarray(0, size / 2).every((word) => word === 0)) return undefined
    return Array.from({ length: fqPerPoint(group) }, (_, k) =>
      unpackMontgomery(point.subarray(k * FQ.words, (k + 1) * FQ.words), FQ),
    )
  })
}
