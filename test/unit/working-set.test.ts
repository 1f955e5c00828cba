import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { digitsBytes } from '../../src/cpu/msm/multiexp.ts'
import { cpuWorkingSetBytes, RANGE_POINTS } from '../../src/cpu/working-set.ts'

const GIB = 2 ** 30

describe('cpuWorkingSetBytes', () => {
  const winning = circuitShape('winning-32g')

  it('counts a winning-32g proof', () => {
    const bytes = cpuWorkingSetBytes(winning, { threads: 2 })
    // z of 375,343 scalars and h of 2^19 are at rest. Of b_g1's 272,185 points the second half is summed (point,
    // scalar, scalar in digits) while b_g2's are imported: 256 bytes each, and encodings of 192 bytes for 2 times 8
    // units of 4,096 points a thread.
    const [half, staged] = [136_093, 2 * 8 * 4_096 * 2]
    const last = half * (128 + 32) + digitsBytes(half) + 272_185 * 256 + staged * 192
    const counted = 32 * (375_343 + 2 ** 19) + last
    // Less than that takes the sum of b_g2 itself, after which nothing comes.
    expect(272_185 * (256 + 32) + digitsBytes(272_185)).toBeLessThan(last)
    expect(bytes).toBeGreaterThan(counted)
    expect(bytes).toBeLessThan(counted + 64 * 2 ** 20)
    const kept = cpuWorkingSetBytes(winning, { threads: 2, keepPoints: true })
    // All 1,456,011 points of G1 and 272,185 of G2 stay: the sum is as above, but for the points of its ranges.
    const points = 128 * (524_287 + 375_210 + 284_329 + 272_185) + 256 * 272_185
    expect(Math.abs(kept - bytes - (points - half * 128 - 272_185 * 256))).toBeLessThan(2 ** 10)
  })

  it('grows by what a partition holds at rest', () => {
    const [one, two] = [1, 2].map((partitions) => cpuWorkingSetBytes(winning, { threads: 4, partitions }))
    expect((two as number) - (one as number)).toBe(32 * (375_343 + 2 ** 19))
  })

  it('lets the largest circuit of a domain of 2^24 fit 4 GiB, in batches of two', () => {
    const none = new Uint8Array(0)
    // snap-8m: 9,998,039 aux, 5 inputs.
    const density = { aAux: none, aAuxCount: 9_981_015, bAux: none, bAuxCount: 2_567_921 }
    const snap = { inputs: 5, aux: 9_998_039, log2Domain: 24, density }
    expect(cpuWorkingSetBytes(snap, { threads: 2 })).toBeLessThan(2 * GIB)
    expect(cpuWorkingSetBytes(snap, { threads: 2, partitions: 2 })).toBeLessThan(3 * GIB)
    expect(cpuWorkingSetBytes(snap, { threads: 64 })).toBeLessThan(3 * GIB)
    expect(RANGE_POINTS.g2).toBeGreaterThanOrEqual(RANGE_POINTS.g1)
  })
})
