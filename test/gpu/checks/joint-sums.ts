/** Sums of several queries at once: each equals its own sum by bigints, whatever stands beside it. */
import assert from 'node:assert/strict'
import type { Group } from '../../../src/webgpu/curve/batch-affine.ts'
import { jointInput, jointSums, jointSumsBytes, type QueryTerms } from '../../../src/webgpu/msm/joint-sums.ts'
import type { PlanOptions } from '../../../src/webgpu/msm/plan.ts'
import { FR } from '../../../src/webgpu/prelude/digit-field.ts'
import { DEFAULT_TUNING } from '../../../src/webgpu/tuning.ts'
import { bufferOf, type Check, plainWords, Random } from '../harness.ts'
import { affineOf, packPoints, randomPoints, referenceSum } from '../points.ts'

const run = { signal: new AbortController().signal, unit: () => {} }
const r = FR.modulus
/** Parameters of units, and what is read back. */
const SMALL_BYTES = 2 ** 17

const SCALARS: readonly ((i: number, random: Random) => bigint)[] = [
  (_, random) => random.below(r),
  (i) => [0n, 1n, r - 1n, (r + 1n) / 2n][i % 4] as bigint,
  () => 0n,
  () => 0x1234567890abcdefn ** 3n,
]

const joint =
  (
    group: Group,
    sizes: readonly (readonly number[])[],
    options: PlanOptions & { readonly memoryBytes?: number; readonly bucketCost?: number } = {},
  ): Check =>
  async (gpu) => {
    const random = new Random()
    const points = randomPoints(group, 40, random)
    const parts = sizes.map((counts) => counts.reduce((total, count) => total + count, 0))
    const terms = sizes.flat().map((count, k) => {
      const scalarOf = SCALARS[k % SCALARS.length] as (i: number, random: Random) => bigint
      return Array.from({ length: count }, (_, i) => ({
        point: points[(i + 7 * k) % points.length] as (typeof points)[number],
        scalar: scalarOf(i, random),
      }))
    })
    const buffers: GPUBuffer[] = []
    const queries: QueryTerms[] = []
    for (const [k, own] of terms.entries()) {
      // Another query's scalars stand before.
      const words = new Uint32Array(8 * (own.length + k))
      words.fill(5, 0, 8 * k)
      for (const [i, { scalar }] of own.entries()) words.set(plainWords(scalar, 8), 8 * (k + i))
      const packed = packPoints(own.length === 0 ? points.slice(0, 1) : own.map(({ point }) => point), group)
      const [held, scalars] = [await bufferOf(gpu, packed, 'points'), await bufferOf(gpu, words, 'scalars')]
      buffers.push(held, scalars)
      queries.push({ points: held, scalars: { buffer: scalars, first: k }, count: own.length })
    }
    const { memoryBytes, bucketCost = DEFAULT_TUNING.bucketCost, ...plan } = options
    const input = jointInput({ group, parts, bindingBytes: gpu.bindingBytes, memoryBytes })
    assert.ok(input !== undefined, 'so few points are summed together')
    gpu.trim()
    const { usedBytes: used, allocatedBytes: allocated } = gpu
    const left = [...queries]
    const grouped = sizes.map(({ length }) => left.splice(0, length))
    const before = gpu.tuning
    gpu.tune({ ...before, bucketCost })
    const sums = await jointSums(gpu, input, grouped, run, plan).finally(() => gpu.tune(before))
    assert.equal(gpu.usedBytes, used, 'every work buffer is released')
    const grown = gpu.allocatedBytes - allocated
    const most = jointSumsBytes(input) + SMALL_BYTES
    if (Object.keys(plan).length === 0) assert.ok(grown <= most, `${grown} bytes where ${most} were counted`)
    for (const buffer of buffers) gpu.release(buffer)
    assert.deepEqual(
      sums.map((sum) => affineOf(group, sum)),
      grouped.map((own) =>
        referenceSum(
          group,
          own.flatMap((query) => terms[queries.indexOf(query)] ?? []),
        ),
      ),
    )
  }

export const jointSumChecks: Record<string, Check> = {
  'g1: joint sums of one query': joint('g1', [[70]]),
  'g1: joint sums of four queries': joint('g1', [[130, 64], [3], [97]]),
  'g1: joint sums, one without points': joint('g1', [[33, 0], [1], [], [20], [65]], { window: 5 }),
  'g1: joint sums in runs of windows': joint('g1', [[60], [35, 20]], { window: 6, windowsAtOnce: 10, slicePairs: 64 }),
  // More memory is allowed than is counted, and the window that suits the adapter would take a fifth more than that.
  'g1: joint sums on an adapter with cheap buckets': joint('g1', Array(8).fill([40]), {
    memoryBytes: 2 ** 26,
    bucketCost: 0.5,
  }),
  'g2: joint sums of two queries': joint('g2', [[40], [25]], { window: 5 }),
}
