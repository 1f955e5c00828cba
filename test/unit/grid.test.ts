import { expect, it } from 'vitest'
import { grid } from '../../src/webgpu/commands.ts'

it('spreads workgroups over rows of at most the width, and has no more of them than asked for where that can be', () => {
  expect(grid(65_535, 65_535)).toEqual([65_535, 1])
  // A power of two is met exactly: 131,072 = 4 · 32,768.
  expect(grid(131_072, 65_535)).toEqual([32_768, 4])
  for (const [workgroups, width] of [
    [7, 3],
    [65_537, 65_535],
    [1_000_003, 65_535],
  ] as const) {
    const [columns, rows] = grid(workgroups, width)
    expect(columns).toBeLessThanOrEqual(width)
    expect(columns * rows).toBeGreaterThanOrEqual(workgroups)
    expect(columns * rows - workgroups).toBeLessThan(rows)
  }
})
