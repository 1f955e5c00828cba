/**
 * The last few hundred additions of an MSM, in noble's projective arithmetic: window sums Σ (k + 1) S_k from what
 * {@link reduceBuckets} left, then Horner over the windows.
 */
import { encodeG1, encodeG2 } from '../../curve/encoding.ts'
import { G1, type G1Point, G2, type G2Point } from '../../curve/points.ts'
import { type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import { FQ, invert, mod, montgomeryFactor, unpackDigits } from '../prelude/digit-field.ts'
import { reducedPoints } from './bucket-reduction.ts'

const FROM_MONTGOMERY = invert(montgomeryFactor(FQ), FQ.modulus)

interface Arithmetic<P> {
  readonly ZERO: P
  fromAffine(point: { x: never; y: never }): P
}
interface Addable<P> {
  add(other: P): P
  double(): P
}

/**
 * @param words packed points, {@link reducedPoints} a window, lowest window first
 * @returns uncompressed big-endian encoding
 */
export function combineWindows(words: Uint32Array, group: Group, windows: number, window: number): Uint8Array {
  return group === 'g1'
    ? encodeG1(horner<G1Point>(G1 as unknown as Arithmetic<G1Point>, words, group, windows, window))
    : encodeG2(horner<G2Point>(G2 as unknown as Arithmetic<G2Point>, words, group, windows, window))
}

function horner<P extends Addable<P>>(
  curve: Arithmetic<P>,
  words: Uint32Array,
  group: Group,
  windows: number,
  window: number,
): P {
  const v = window - 1
  const perWindow = reducedPoints(v)
  const size = POINT_BYTES[group] / 4
  const point = (w: number, k: number): P => {
    const at = (w * perWindow + k) * size
    return unpack(curve, words.subarray(at, at + size))
  }
  let sum = curve.ZERO
  for (let w = windows - 1; w >= 0; w--) {
    for (let i = 0; i < window; i++) sum = sum.double()
    // 2^(v−1) A_1 + Σ 2^l T_l, by Horner again, and A_0 + A_1.
    let weighted = point(w, 1)
    for (let l = v - 2; l >= 0; l--) weighted = weighted.double().add(point(w, 2 + l))
    sum = sum.add(weighted).add(point(w, 0)).add(point(w, 1))
  }
  return sum
}

function unpack<P>(curve: Arithmetic<P>, words: Uint32Array): P {
  const half = words.length / 2
  if (words.subarray(0, half).every((word) => word === 0)) return curve.ZERO
  const coordinate = (at: number): bigint =>
    mod(unpackDigits(words.subarray(at, at + FQ.words), FQ) * FROM_MONTGOMERY, FQ.modulus)
  const element = (at: number): unknown =>
    half === FQ.words ? coordinate(at) : { c0: coordinate(at), c1: coordinate(at + FQ.words) }
  return curve.fromAffine({ x: element(0) as never, y: element(half) as never })
}
