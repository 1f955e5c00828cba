/**
 * The last few hundred additions of an MSM, on the host by WebAssembly: what {@link recordReduction} left of each
 * window stands for a power of two each, so that one Horner scheme over all bits takes everything up, 255 doublings in
 * all.
 */
import { sumOfWindows } from '../../cpu/local-kernels.ts'
import { type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import { reducedPoints } from './bucket-reduction.ts'
import type { MultiexpPlan } from './plan.ts'

/**
 * @param encoded points, uncompressed big-endian, {@link reducedPoints} a sum and window, lowest window first
 * @returns the sums, uncompressed big-endian
 */
export const combineReduced = (encoded: Uint8Array, plan: MultiexpPlan): Uint8Array[] =>
  plan.parts.map((_, sum) => combineSum(encoded, plan, sum))

function combineSum(encoded: Uint8Array, { group, parts, windows, window }: MultiexpPlan, sum: number): Uint8Array {
  const v = window - 1
  const size = POINT_BYTES[group]
  const bits: Uint8Array[][] = Array.from({ length: windows * window }, () => [])
  for (let w = 0; w < windows; w++) {
    const point = (k: number): Uint8Array => {
      const at = ((w * parts.length + sum) * reducedPoints(v) + k) * size
      return encoded.subarray(at, at + size)
    }
    const add = (bit: number, k: number): unknown => bits[w * window + bit]?.push(point(k))
    // A_0 + A_1 = Σ S_k, and Σ k S_k = 2^(v−1) A_1 + Σ_l 2^l T_l.
    add(0, 0)
    add(0, 1)
    add(v - 1, 1)
    for (let l = 0; l < v - 1; l++) add(l, 2 + l)
  }
  return sumOfWindows(group, 1, bits)
}

/** Adds encoded sums up. */
export const addSums = (group: Group, sums: readonly Uint8Array[]): Uint8Array => sumOfWindows(group, 1, [sums])
