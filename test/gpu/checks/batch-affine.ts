import assert from 'node:assert/strict'
import { BatchAffine, type Group, NEGATE, NO_POINT, POINT_BYTES } from '../../../src/webgpu/curve/batch-affine.ts'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import { bufferOf, type Check, dirtyBuffer, Random, readWords } from '../harness.ts'
import { type Affine, packPoints, randomPoints, referenceSum, unpackPoints } from '../points.ts'

const negative = (value: number): bigint => (value >= NEGATE ? -1n : 1n)
const number = (value: number): number => value % NEGATE

async function sumsOf(
  gpu: Gpu,
  group: Group,
  points: readonly Affine[],
  pairs: readonly (readonly [number, number])[],
  slicePairs: number,
): Promise<Affine[]> {
  const adder = await BatchAffine.create(gpu, group, slicePairs)
  const buffers = [
    await bufferOf(gpu, packPoints(points, group), 'points'),
    await bufferOf(gpu, Uint32Array.from(pairs.flat()), 'pairs'),
    await dirtyBuffer(gpu, pairs.length * POINT_BYTES[group], 'sums'),
  ] as const
  try {
    const [pointBuffer, list, sums] = buffers
    const commands = gpu.commands('sums of pairs')
    for (let first = 0; first < pairs.length; first += slicePairs) {
      const round = { points: pointBuffer, source: { kind: 'list', pairs: list }, sums } as const
      adder.record(commands, round, first, Math.min(slicePairs, pairs.length - first))
    }
    await commands.submit()
    return unpackPoints(await readWords(gpu, sums, (pairs.length * POINT_BYTES[group]) / 4), group)
  } finally {
    adder.release()
    for (const buffer of buffers) gpu.release(buffer)
  }
}

/**
 * Random pairs, and each special one: P + P, P − P, −P − P, infinity on either side and on both, a copy, a negated
 * copy.
 */
const pairSums =
  (group: Group, count: number, slicePairs: number): Check =>
  async (gpu) => {
    const random = new Random()
    const points: Affine[] = [...randomPoints(group, 12, random), undefined, undefined]
    const infinity = 12
    const special: [number, number][] = [
      [0, 0],
      [0, NEGATE + 0],
      [NEGATE + 1, 1],
      [NEGATE + 2, NEGATE + 2],
      [3, infinity],
      [infinity, 4],
      [infinity, NEGATE + 5],
      [infinity, 13],
      [6, NO_POINT],
      [NEGATE + 7, NO_POINT],
      [infinity, NO_POINT],
      [NEGATE + 8, infinity],
    ]
    const operand = (): number => random.integer(14) + (random.integer(2) === 1 ? NEGATE : 0)
    const pairs = Array.from({ length: count }, (_, i): [number, number] => special[i] ?? [operand(), operand()])
    const sums = await sumsOf(gpu, group, points, pairs, slicePairs)
    for (const [i, [left, right]] of pairs.entries()) {
      const terms = [{ point: points[number(left)], scalar: negative(left) }]
      if (right !== NO_POINT) terms.push({ point: points[number(right)], scalar: negative(right) })
      assert.deepEqual(
        sums[i],
        referenceSum(group, terms),
        `${group}: pair ${i} of ${count}, operands ${left} and ${right}`,
      )
    }
  }

export const batchAffineChecks: Record<string, Check> = Object.fromEntries(
  (['g1', 'g2'] as const).flatMap((group) =>
    [1, 2, 3, 65, 300].map((count) => [`${group}: ${count} sums of pairs`, pairSums(group, count, 128)]),
  ),
)
