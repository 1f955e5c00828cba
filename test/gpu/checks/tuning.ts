/** Sums are the same bytes whatever an adapter is tuned to, also to what no calibration would choose there. */
import assert from 'node:assert/strict'
import { calibrate } from '../../../src/webgpu/calibrate.ts'
import type { Group } from '../../../src/webgpu/curve/batch-affine.ts'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import { multiexp } from '../../../src/webgpu/msm/multiexp.ts'
import { windowBits } from '../../../src/webgpu/msm/plan.ts'
import { QuerySum } from '../../../src/webgpu/msm/query-sum.ts'
import { FR } from '../../../src/webgpu/prelude/digit-field.ts'
import { asTuning, DEFAULT_TUNING, type Tuning } from '../../../src/webgpu/tuning.ts'
import { bufferOf, type Check, plainWords, Random } from '../harness.ts'
import { affineOf, packPoints, randomPoints, referenceSum } from '../points.ts'

const run = { signal: new AbortController().signal, unit: () => {} }

/** Both ends of every range. */
const EXTREMES: readonly Tuning[] = [
  { workgroupSize: 32, inversionBatch: 64, bucketCost: 0.5, firstUnit: 2 ** 12 },
  { workgroupSize: 128, inversionBatch: 16, bucketCost: 8, firstUnit: 2 ** 24 },
]

async function under<T>(gpu: Gpu, tuning: Tuning, work: () => Promise<T>): Promise<T> {
  const before = gpu.tuning
  gpu.tune(tuning)
  try {
    return await work()
  } finally {
    gpu.tune(before)
  }
}

const tuned =
  (group: Group, count: number): Check =>
  async (gpu) => {
    const random = new Random()
    const distinct = randomPoints(group, 40, random)
    const terms = Array.from({ length: count }, (_, i) => ({
      point: distinct[i % distinct.length] as (typeof distinct)[number],
      // One in three is 0 or 1, as in a query of bits.
      scalar: i % 3 === 0 ? BigInt(i & 1) : random.below(FR.modulus),
    }))
    const words = new Uint32Array(8 * count)
    for (const [i, { scalar }] of terms.entries()) words.set(plainWords(scalar, 8), 8 * i)
    const packed = packPoints(
      terms.map(({ point }) => point),
      group,
    )
    const points = await bufferOf(gpu, packed, 'points')
    const scalars = await bufferOf(gpu, words, 'scalars')
    const expected = referenceSum(group, terms)
    try {
      for (const tuning of EXTREMES) {
        assert.deepEqual(asTuning(tuning), tuning)
        const { usedBytes } = gpu
        await under(gpu, tuning, async () => {
          const sum = await multiexp(gpu, group, points, scalars, 0, count, run)
          assert.deepEqual(affineOf(group, sum), expected, JSON.stringify(tuning))
          const ofBits = new QuerySum(gpu, group, { mostTerms: count, treeLeaves: 4 })
          await ofBits.add(points, { buffer: scalars, first: 0 }, count, run)
          assert.deepEqual(affineOf(group, await ofBits.finish(run)), expected, JSON.stringify(tuning))
          ofBits.release()
        })
        assert.equal(gpu.usedBytes, usedBytes)
      }
      const window = ({ bucketCost }: Tuning) =>
        windowBits({ group, count, bindingBytes: gpu.bindingBytes, bucketCost })
      assert.ok((window(EXTREMES[1] as Tuning) as number) < (window(EXTREMES[0] as Tuning) as number))
    } finally {
      gpu.release(points)
      gpu.release(scalars)
    }
    assert.deepEqual(gpu.tuning, DEFAULT_TUNING)
  }

/** What is found is a tuning; nothing is left behind, nor by one that is aborted. */
const calibration: Check = async (gpu) => {
  const { usedBytes, tuning } = gpu
  const found = await calibrate(gpu, run)
  assert.deepEqual(asTuning(found.tuning), found.tuning)
  assert.ok(found.additionsPerMs > 0)
  assert.deepEqual(
    found.trials.map(({ what }) => what),
    ['workgroupSize', 'inversionBatch', 'window'],
  )
  for (const { tried, chosen } of found.trials) {
    assert.ok(tried.every(({ ms }) => ms > 0))
    const [usual] = tried
    const winner = tried.find(({ value }) => value === chosen)
    assert.ok(usual !== undefined && winner !== undefined)
    // A default gives way to what is faster by three in a hundred.
    assert.ok(winner === usual || winner.ms <= 0.97 * usual.ms)
  }
  assert.deepEqual([gpu.usedBytes, gpu.tuning], [usedBytes, tuning])
  const stop = new AbortController()
  const aborted = calibrate(gpu, { signal: stop.signal, unit: () => {} })
  setTimeout(() => stop.abort(new Error('a proof came')), 20)
  await assert.rejects(aborted, /a proof came/)
  assert.deepEqual([gpu.usedBytes, gpu.tuning], [usedBytes, tuning])
}

export const tuningChecks: Record<string, Check> = {
  'tuning: sums of 300 points in g1, extremes': tuned('g1', 300),
  'tuning: sums of 100 points in g2, extremes': tuned('g2', 100),
  'tuning: calibration': calibration,
}
