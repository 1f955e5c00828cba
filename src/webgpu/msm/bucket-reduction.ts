/**
 * From the sums S_0 … S_(2^v − 1) of a window's buckets to Σ (k + 1) S_k, in rounds of pair sums.
 *
 * Σ k S_k = Σ_l 2^l T_l with T_l the sum of those S_k whose k has bit l. Halving A_j = S_2j + S_(2j+1) shifts the bits down by one, and T_l
 * is the sum of the odd points of A after l halvings. So a round takes [A | T_0 … T_(s−1)] (2h points, and s blocks of h) to
 * [A' | T_0' … T_s'] (h points, and s + 1 blocks of h/2), where T_s' are the pair sums of A's odd points: nothing is copied and all
 * windows go in one round. With 2h = 4 it ends in A = (A_0, A_1) and v − 1 sums T_l; A_1 is T_(v−1), and A_0 + A_1 = Σ S_k.
 * Two additions a bucket in all.
 */

import { BufferSet } from '../buffer-set.ts'
import { type BatchAffine, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import type { Gpu } from '../gpu.ts'

/** Points that are left of a window: A_0, A_1, T_0 … T_(v−2). */
export const reducedPoints = (v: number): number => v + 1

/**
 * @param sums bucket sums of all windows, 2^v each, v at least 2; overwritten
 * @returns a buffer of {@link reducedPoints} points a window, which the caller releases; `sums` or a new one
 */
export async function reduceBuckets(
  gpu: Gpu,
  group: Group,
  adder: BatchAffine,
  sums: GPUBuffer,
  windows: number,
  v: number,
): Promise<{ readonly points: GPUBuffer; release(): void }> {
  const buffers = new BufferSet(gpu)
  try {
    // The first round gives 3/4 of the points it reads, each later one less.
    const other = await buffers.allocate(windows * 2 ** v * POINT_BYTES[group], 'reduced buckets')
    let [points, next] = [sums, other]
    let commands = gpu.commands('bucket reduction')
    for (let blocks = 0, half = 2 ** (v - 1); half >= 2; blocks++, half /= 2) {
      const pairs = windows * (half + ((blocks + 1) * half) / 2)
      for (let first = 0; first < pairs; first += adder.slicePairs) {
        const round = { points, source: { kind: 'tree', blocks, half }, sums: next } as const
        adder.record(commands, round, first, Math.min(adder.slicePairs, pairs - first))
      }
      ;[points, next] = [next, points]
      await commands.submit()
      commands = gpu.commands('bucket reduction')
    }
    if (points === other) return { points, release: () => buffers.release() }
    buffers.release()
    return { points, release: () => {} }
  } catch (error) {
    buffers.release()
    throw error
  }
}
