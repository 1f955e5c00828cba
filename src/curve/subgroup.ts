/**
 * Membership of many points of G1 in the subgroup of order r at once.
 *
 * A point that is on the curve but outside the subgroup is non-zero in E(Fq)/subgroup, a group of order
 * h = 3 · 11² · 10177² · 859267² · 52437899². Weights modulo a large number would be of no use there, since the
 * smallest factor is 3; so sums of random subsets are tested: a set with a bad point gives a bad sum with probability
 * at least 1/2 each time, and passes s independent sums with at most 2^−s. The s subsets are chosen by one random s-bit
 * number a point, and all sums are made together: windows of w bits, one bucket a value (n additions), then for each
 * bit the sum of the buckets that have it set.
 */
import { G1, type G1Point } from './points.ts'

/** Random sums, s above: what passes wrongly is below 2^−64, and whoever made the file can't know the subsets. */
const SUMS = 64
const WINDOW_BITS = 8

/**
 * @param randomBytes gives that many unpredictable bytes
 * @returns false if a point lies outside the subgroup (except with probability 2^−64). All points must be on the curve.
 */
export function allInG1Subgroup(points: readonly G1Point[], randomBytes: (count: number) => Uint8Array): boolean {
  // Below this, the sums (s tests and their additions) would cost more than a test for each point.
  if (points.length <= 2 * SUMS) return points.every((point) => point.isTorsionFree())
  for (let window = 0; window < SUMS / WINDOW_BITS; window++) {
    const subset = randomBytes(points.length)
    const buckets: G1Point[] = new Array(2 ** WINDOW_BITS).fill(G1.ZERO)
    for (const [i, point] of points.entries()) {
      const value = subset[i] ?? 0
      buckets[value] = (buckets[value] as G1Point).add(point)
    }
    for (let bit = 0; bit < WINDOW_BITS; bit++) {
      const sum = buckets.reduce(
        (total, bucket, value) => (((value >> bit) & 1) === 1 ? total.add(bucket) : total),
        G1.ZERO,
      )
      if (!sum.isTorsionFree()) return false
    }
  }
  return true
}
