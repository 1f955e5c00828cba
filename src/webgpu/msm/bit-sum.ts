/** Sums of selected points: a tree of pairs over a list of their numbers, down to a few points. */
import type { BufferRange } from '../commands.ts'
import { ADDITION_COST, type BatchAffine, type Group, POINT_BYTES, slicePairsIn } from '../curve/batch-affine.ts'
import type { UnitStream } from '../unit-stream.ts'
import type { NumberList } from './split-scalars.ts'

/** Past this, an addition no longer pays for the latency of its kernels. */
const MOST_SLICE: Readonly<Record<Group, number>> = { g1: 2 ** 23, g2: 2 ** 21 }

/** Pairs that the rounds of a tree add at a time: an eighth of the memory at most. */
export const treeSlice = (group: Group, selected: number, memoryBytes: number): number =>
  Math.max(64, slicePairsIn(group, Math.min(Math.ceil(selected / 2), MOST_SLICE[group]), memoryBytes / 8))

/** Bytes of the sums of a first round, and of a second. */
export const treeBuffers = (group: Group, selected: number): readonly [number, number] => [
  POINT_BYTES[group] * Math.ceil(selected / 2),
  POINT_BYTES[group] * Math.ceil(selected / 4),
]

/** Work of a tree, as {@link UnitStream} counts it. */
export const treeWork = (group: Group, selected: number): number => ADDITION_COST[group] * selected

/**
 * Records the rounds of a tree.
 * @param numbers of the points, more than `left`
 * @param buffers of the sizes that {@link treeBuffers} tells
 * @param left how many sums may be left
 * @returns the sums that are left
 */
export async function recordTree(
  stream: UnitStream,
  adder: BatchAffine,
  points: BufferRange,
  { numbers, count: selected }: NumberList,
  buffers: readonly [GPUBuffer, GPUBuffer],
  left: number,
): Promise<{ readonly buffer: GPUBuffer; readonly count: number }> {
  let [sums, other] = buffers
  let count = Math.ceil(selected / 2)
  await adder.recordRound(stream, { points, source: { kind: 'list', pairs: numbers, operands: selected }, sums }, count)
  while (count > left) {
    const operands = count
    count = Math.ceil(count / 2)
    const round = { points: sums, source: { kind: 'adjacent', operands }, sums: other } as const
    await adder.recordRound(stream, round, count)
    ;[sums, other] = [other, sums]
  }
  return { buffer: sums, count }
}
