import { describe, expect, it } from 'vitest'
import { UnitPace } from '../../src/webgpu/unit-pace.ts'

/** Units as full as allowed on an adapter of so many additions a millisecond, with a latency. */
function limitAfter(units: number, rate: number, latencyMs: number): { limit: number; longestMs: number } {
  const pace = new UnitPace()
  let longestMs = 0
  for (let k = 0; k < units; k++) {
    const ms = latencyMs + pace.limit / rate
    longestMs = Math.max(longestMs, ms)
    pace.note(pace.limit, ms)
  }
  return { limit: pace.limit, longestMs }
}

describe('the work of a unit', () => {
  it('grows on a fast adapter to the most that is useful', () => {
    expect(limitAfter(4, 1e6, 0.2).limit).toBe(2 ** 25)
  })

  it('settles near 80 ms on a slow one, after one unit that is too long at most', () => {
    for (const rate of [50, 500, 5000, 50_000]) {
      const { limit, longestMs } = limitAfter(8, rate, 1)
      expect(limit / rate).toBeGreaterThan(60)
      expect(limit / rate).toBeLessThan(100)
      expect(longestMs).toBeLessThan(Math.max(100, 1.1 * (2 ** 16 / rate)))
    }
  })

  it('does not take latency for slowness', () => {
    const pace = new UnitPace()
    const before = pace.limit
    for (let k = 0; k < 10; k++) pace.note(100, 3)
    expect(pace.limit).toBe(before)
  })
})
