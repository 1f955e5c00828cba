/**
 * From the sums S_0 … S_(2^v − 1) of a window's buckets to Σ (k + 1) S_k, in rounds of pair sums.
 *
 * Σ k S_k = Σ_l 2^l T_l with T_l the sum of those S_k whose k has bit l. Halving A_j = S_2j + S_(2j+1) shifts the bits
 * down by one, and T_l is the sum of the odd points of A after l halvings. So a round takes [A | T_0 … T_(s−1)] (2h
 * points, and s blocks of h) to [A' | T_0' … T_s'] (h points, and s + 1 blocks of h/2), where T_s' are the pair sums of
 * A's odd points: nothing is copied and all windows go in one round. With 2h = 4 it ends in A = (A_0, A_1) and v − 1
 * sums T_l; A_1 is T_(v−1), and A_0 + A_1 = Σ S_k. Two additions a bucket in all.
 */
import type { BatchAffine } from '../curve/batch-affine.ts'
import type { UnitStream } from '../unit-stream.ts'

/** Points that are left of a window: A_0, A_1, T_0 … T_(v−2). */
export const reducedPoints = (v: number): number => v + 1

/** The pairs of each round. */
function rounds(windows: number, v: number): { blocks: number; half: number; pairs: number }[] {
  return Array.from({ length: v - 1 }, (_, blocks) => {
    const half = 2 ** (v - 1 - blocks)
    return { blocks, half, pairs: windows * (half + ((blocks + 1) * half) / 2) }
  })
}

/** Additions of a reduction. */
export const reductionAdditions = (windows: number, v: number): number =>
  rounds(windows, v).reduce((sum, { pairs }) => sum + pairs, 0)

/**
 * @param sums bucket sums of all windows, 2^v each, v at least 2; overwritten
 * @param other room for as many points
 * @returns which of the two buffers receives {@link reducedPoints} points a window
 */
export async function recordReduction(
  stream: UnitStream,
  adder: BatchAffine,
  { sums, other, windows, v }: { sums: GPUBuffer; other: GPUBuffer; windows: number; v: number },
): Promise<GPUBuffer> {
  let [points, next] = [sums, other]
  for (const { blocks, half, pairs } of rounds(windows, v)) {
    await adder.recordRound(stream, { points, source: { kind: 'tree', blocks, half }, sums: next }, pairs)
    ;[points, next] = [next, points]
  }
  return points
}
