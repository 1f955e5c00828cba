/**
 * Which points a circuit keeps on a device that others use, too: never more memory than is free, passing points
 * counted.
 */
import { describe, expect, it } from 'vitest'
import { keptPoints } from '../../src/device/kept-points.ts'
import type { MemoryPlan } from '../../src/groth16/proving-device.ts'
import { QUERIES } from '../../src/params/layout.ts'

/** All points, 100 bytes, beside a shape of 10. */
const PLAN: MemoryPlan = {
  shapeBytes: 10,
  workingBytes: 50,
  passingBytes: 15,
  rangePoints: { g1: 8, g2: 4 },
  partsAtOnce: 4,
  kept: { h: 40, l: 20, a: 15, b_g1: 10, b_g2: 15 },
}

describe('points that a circuit keeps', () => {
  it('are all of them where they fit', () => {
    expect(keptPoints(PLAN, true, 110)).toEqual({ keep: new Set(QUERIES), bytes: 110 })
  })

  it('are fewer where others have left less, and leave room for those that come and go', () => {
    for (const freeBytes of [109, 80, 60, 26]) {
      const { keep, bytes } = keptPoints(PLAN, true, freeBytes)
      expect(keep.size).toBeLessThan(QUERIES.length)
      expect(bytes).toBeLessThanOrEqual(freeBytes)
      expect(bytes).toBe(10 + 15 + [...keep].reduce((sum, query) => sum + (PLAN.kept[query] ?? 0), 0))
    }
    // 10 and 15, then 40, 20 and 15 of h, l and a; b_g1 finds 9 left.
    expect([...keptPoints(PLAN, true, 109).keep]).toEqual(['h', 'l', 'a'])
  })

  it('are none where none are wanted, or the plan has no room for any', () => {
    expect(keptPoints(PLAN, false, 1_000)).toEqual({ keep: new Set(), bytes: 25 })
    expect(keptPoints({ ...PLAN, passingBytes: 0, kept: {} }, true, 1_000)).toEqual({ keep: new Set(), bytes: 10 })
  })

  it('leave room for the set-up that makes the others', () => {
    const made = { ...PLAN, passingBytes: 0, kept: { h: 40 }, setup: { mostBytes: 60, heldBytes: 30 } }
    expect(keptPoints(made, true, 80)).toEqual({ keep: new Set(['h']), bytes: 80 })
    expect(keptPoints(made, true, 79)).toEqual({ keep: new Set(), bytes: 40 })
    expect(keptPoints({ ...PLAN, setup: made.setup }, true, 110).bytes).toBe(110)
  })
})
