/**
 * How sums are cut: every window is taken once, nothing passes a binding, and memory is kept to wherever a plan can.
 */
import { describe, expect, test } from 'vitest'
import { POINT_BYTES } from '../../src/webgpu/curve/batch-affine.ts'
import { carriedSumBytes } from '../../src/webgpu/msm/carried-sum.ts'
import {
  bucketsAtOnce,
  mostPoints,
  multiexpBytes,
  type PlanInput,
  planMultiexp,
  windowBits,
  workBuffers,
} from '../../src/webgpu/msm/plan.ts'

const GIB = 2 ** 30
const BINDINGS = [2 ** 17, 2 ** 20, 128 * 2 ** 20, 2 ** 31 - 4]
const MEMORY = [1, 64 * 2 ** 20, GIB, 4 * GIB, 7 * GIB, Number.POSITIVE_INFINITY]

const inputs = (['g1', 'g2'] as const).flatMap((group) =>
  BINDINGS.flatMap((bindingBytes) => {
    const most = mostPoints(group, bindingBytes)
    return [1, 100, most / 16, most - 1, most].flatMap((count) =>
      MEMORY.flatMap((memoryBytes): PlanInput[] => {
        const input = { group, count: Math.ceil(count), bindingBytes, memoryBytes }
        const parts = [0.4, 0.3, 0.3].map((share) => Math.floor(share * input.count))
        const joint = { ...input, count: parts.reduce((sum, points) => sum + points, 0), parts }
        return joint.count === 0 || windowBits(joint) === undefined ? [input] : [input, joint]
      }),
    )
  }),
)

describe('the plan of a sum', () => {
  test('takes each window once, in runs of about the same length', () => {
    for (const input of inputs) {
      const { runs, windows, window } = planMultiexp(input)
      expect(runs.flatMap(([from, to]) => Array.from({ length: to - from }, (_, k) => from + k))).toEqual(
        Array.from({ length: windows }, (_, k) => k),
      )
      expect(window * windows).toBeGreaterThanOrEqual(255)
      const lengths = runs.map(([from, to]) => to - from)
      expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1)
    }
  })

  test('has no buffer that passes a binding, rounded up by an eighth', () => {
    for (const input of inputs) {
      for (const bytes of Object.values(workBuffers(planMultiexp(input))))
        expect((bytes * 9) / 8).toBeLessThanOrEqual(Math.max(input.bindingBytes, 9 * POINT_BYTES[input.group]))
    }
  })

  test('keeps to the memory where some plan does, and takes no more than is of use', () => {
    for (const input of inputs) {
      const bytes = multiexpBytes(planMultiexp(input))
      const least = multiexpBytes(planMultiexp({ ...input, memoryBytes: 1 }))
      const useful = multiexpBytes(planMultiexp({ ...input, memoryBytes: Number.POSITIVE_INFINITY }))
      expect(bytes).toBeLessThanOrEqual(useful)
      // A tenth of the memory is for slices.
      if ((input.memoryBytes as number) >= 1.25 * least) expect(bytes).toBeLessThanOrEqual(input.memoryBytes as number)
    }
  })

  test('with exactly the memory that is of use is the plan for any memory', () => {
    for (const input of inputs.filter(({ memoryBytes }) => memoryBytes === Number.POSITIVE_INFINITY)) {
      const plan = planMultiexp(input)
      const { slicePairs } = planMultiexp({ ...input, memoryBytes: 1.25 * multiexpBytes(plan) })
      expect(slicePairs).toBe(plan.slicePairs)
    }
  })

  test('carries the buckets of two ranges where they do not fit one binding', () => {
    // 13 windows of 20 bits: 13 · 2^19 buckets of 192 bytes are 1.3 GB.
    const input = { group: 'g2', count: 2 ** 23, bindingBytes: 2 ** 31 - 4 } as const
    expect(bucketsAtOnce(planMultiexp(input)) * planMultiexp(input).windows * 192).toBe(13 * 2 ** 19 * 192)
    const useful = carriedSumBytes(input)
    // Those carried, and a quarter of both, rounded up by an eighth, beside the work buffers of a range.
    expect(useful - multiexpBytes(planMultiexp(input))).toBe(Math.ceil(((9 / 8) * 1.5 * 13 * 2 ** 19) / 8) * 8 * 192)
    for (const share of [1, 0.75, 0.5]) {
      expect(carriedSumBytes({ ...input, memoryBytes: share * useful })).toBeLessThanOrEqual(share * useful)
    }
  })

  test('chooses windows that leave no handful of buckets to the topmost', () => {
    for (let log2 = 12; log2 <= 24; log2++) {
      const window = windowBits({ group: 'g1', count: 2 ** log2, bindingBytes: 2 ** 31 - 4 }) as number
      const topBits = 254 - (Math.ceil(255 / window) - 1) * window
      // Scalars are below 2^254 once their signs are folded; a sum of n terms would meet in 2^topBits buckets.
      expect(topBits).toBeGreaterThanOrEqual(Math.min(window - 2, log2 - 14))
    }
  })

  test('a tile of 2^24 points of G1 fits beside its points in 7 GiB', () => {
    const input = { group: 'g1', count: 2 ** 24, bindingBytes: 2 ** 31 - 4, memoryBytes: 7 * GIB - 1.5 * GIB } as const
    expect(multiexpBytes(planMultiexp(input))).toBeLessThanOrEqual(input.memoryBytes)
  })

  test('what an adapter was tuned to changes windows, and takes no more memory than was counted', () => {
    const windows = [1 / 2, 2, 8].map((bucketCost) =>
      windowBits({ group: 'g1', count: 2 ** 18, bindingBytes: 2 ** 31 - 4, bucketCost }),
    )
    // 17 windows of 15 bits at two additions a bucket; cheaper buckets make them wider, dearer ones narrower.
    expect(windows).toEqual([17, 15, 13])
    for (const bucketCost of [1 / 2, 8]) {
      const changed = inputs.filter((input) => {
        const [counted, plan] = [planMultiexp(input), planMultiexp({ ...input, bucketCost })]
        const limit = input.memoryBytes === Number.POSITIVE_INFINITY ? 0 : (input.memoryBytes as number)
        expect(multiexpBytes(plan)).toBeLessThanOrEqual(Math.max(limit, multiexpBytes(counted)))
        return plan.window !== counted.window
      })
      expect(changed.length).toBeGreaterThan(0)
    }
  })

  test('more points than fit are refused', () => {
    const bindingBytes = 2 ** 20
    const count = mostPoints('g1', bindingBytes) + 1
    expect(() => planMultiexp({ group: 'g1', count, bindingBytes })).toThrow(RangeError)
    expect(() => mostPoints('g1', 2 ** 10)).toThrow(RangeError)
  })
})
