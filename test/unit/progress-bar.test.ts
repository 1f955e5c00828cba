/** What the examples show of their progress, on a terminal and in a log. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { progressBar } from '../../examples/support/progress-bar.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const output = (isTTY: boolean) => {
  const lines: string[] = []
  const out = { isTTY, write: (text: string) => void lines.push(text) } as unknown as NodeJS.WriteStream
  return { lines, out }
}

test('a log gets a line every ten seconds, also while nothing is told, and none after the end', () => {
  const { lines, out } = output(false)
  const bar = progressBar('parameters', out)
  vi.advanceTimersByTime(9_999)
  expect(lines).toEqual(['  parameters …\n'])
  for (let share = 0; share < 0.425; share += 0.001) bar.update(share)
  vi.advanceTimersByTime(10_001)
  expect(lines.slice(1)).toEqual(['  parameters:  42 % after 10.0 s\n', '  parameters:  42 % after 20.0 s\n'])
  vi.advanceTimersByTime(500)
  bar.done()
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(3)).toEqual(['  parameters: 20.5 s\n'])
})

test('a terminal gets one line, drawn anew ten times a second at most', () => {
  const { lines, out } = output(true)
  const bar = progressBar('parameters', out)
  for (let ms = 0; ms < 1_000; ms += 10) {
    vi.advanceTimersByTime(10)
    bar.update(ms / 1_000)
  }
  bar.done()
  vi.advanceTimersByTime(60_000)
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.length).toBeLessThan(13)
  expect(lines.every((text) => text.startsWith('\r'))).toBe(true)
  expect(lines.filter((text) => text.endsWith('\n'))).toEqual([lines.at(-1)])
})
