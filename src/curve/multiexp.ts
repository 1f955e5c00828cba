/**
 * Sums Σ kᵢ·Pᵢ in G1 with bigint arithmetic: Pippenger's buckets. The truth that kernels are tested against, and the
 * fallback of verification where no WebAssembly is at hand.
 */

import { fromBytesLE } from '../field/bytes.ts'
import { decodeG1, encodeG1, G1_UNCOMPRESSED_BYTES } from './encoding.ts'
import { G1, type G1Point } from './points.ts'

/**
 * A sum of multiples in G1.
 * @param points uncompressed big-endian, 96 bytes each, on the curve, none of them infinity
 * @param scalars 32 bytes little-endian each, canonical, as many as points
 * @returns the sum, uncompressed big-endian (infinity has the flag 0x40)
 */
export type G1Multiexp = (points: Uint8Array, scalars: Uint8Array) => Uint8Array

/**
 * Sums bucket by bucket, window by window. Zero digits cost nothing, so short scalars are cheap.
 * With n terms and windows of c bits: 255/c · (n + 2^(c+1)) additions at most; c ≈ log2(n) − 2 keeps both parts alike.
 */
export function sumOfMultiples(points: readonly G1Point[], scalars: readonly bigint[]): G1Point {
  const bits = scalars.reduce((union, scalar) => union | scalar, 0n).toString(2).length
  const c = Math.max(2, Math.min(12, Math.floor(Math.log2(points.length + 1)) - 2))
  const mask = BigInt(2 ** c - 1)
  let total = G1.ZERO
  for (let window = Math.ceil(bits / c) - 1; window >= 0; window--) {
    for (let k = 0; k < c; k++) total = total.double()
    const shift = BigInt(window * c)
    const buckets: (G1Point | undefined)[] = new Array(2 ** c)
    for (const [i, point] of points.entries()) {
      const digit = Number(((scalars[i] ?? 0n) >> shift) & mask)
      if (digit !== 0) buckets[digit] = buckets[digit]?.add(point) ?? point
    }
    // Σ d·bucket[d] as a sum of suffix sums.
    let running = G1.ZERO
    let sum = G1.ZERO
    for (let digit = buckets.length - 1; digit > 0; digit--) {
      const bucket = buckets[digit]
      if (bucket !== undefined) running = running.add(bucket)
      sum = sum.add(running)
    }
    total = total.add(sum)
  }
  return total
}

/** {@link G1Multiexp} by bigints. */
export const bigintMultiexp: G1Multiexp = (points, scalars) => {
  const count = points.length / G1_UNCOMPRESSED_BYTES
  const decoded = Array.from({ length: count }, (_, i) =>
    decodeG1(points.subarray(i * G1_UNCOMPRESSED_BYTES, (i + 1) * G1_UNCOMPRESSED_BYTES), { subgroup: false }),
  )
  const values = Array.from({ length: count }, (_, i) => fromBytesLE(scalars.subarray(i * 32, i * 32 + 32)))
  return encodeG1(sumOfMultiples(decoded, values))
}
