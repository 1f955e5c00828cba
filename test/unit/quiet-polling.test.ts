import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { noteSubmission, pollQuietly } from '../../src/webgpu/quiet-polling.ts'

/** Turns of the event loop, each asked for by the one before as Dawn does, while `done` does not hold. */
function turns(done: (count: number) => boolean): Promise<number> {
  let count = 0
  return new Promise((resolve) => {
    const look = (): void => {
      if (done(++count)) resolve(count)
      else setImmediate(look)
    }
    setImmediate(look)
  })
}

const during = (ms: number): ((count: number) => boolean) => {
  const end = performance.now() + ms
  return () => performance.now() >= end
}

test.skipIf(process.platform === 'win32')(
  'rests between two looks where nothing was submitted for long, and not right after that',
  async () => {
    pollQuietly()
    // Once is enough.
    pollQuietly()
    // Rests of 0.2 ms.
    expect(await turns(during(100))).toBeLessThanOrEqual(500)
    const wait = vi.spyOn(Atomics, 'wait')
    try {
      // Right after a submission a rest would be shorter than timers are good for; on a machine that does much else a
      // turn may come late.
      await turns((count) => {
        noteSubmission()
        return count >= 100
      })
      expect(wait.mock.calls.length).toBeLessThan(50)
      wait.mockClear()
      await delay(20)
      await turns((count) => count >= 10)
      expect(wait.mock.calls.map(([, , , ms]) => ms)).toEqual(Array(10).fill(0.2))
    } finally {
      wait.mockRestore()
    }
  },
)

test('leaves callbacks their arguments, and lets them be cancelled', async () => {
  pollQuietly()
  const told: unknown[] = []
  const cancelled = setImmediate(() => told.push('cancelled'))
  clearImmediate(cancelled)
  await new Promise<void>((resolve) => {
    setImmediate(
      (...args: readonly unknown[]) => {
        told.push(...args)
        resolve()
      },
      1,
      'two',
    )
  })
  expect(told).toEqual([1, 'two'])
})
