import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { IdleWork } from '../../src/device/idle-work.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Work that takes a second, and two milliseconds to stop. */
function recorded() {
  const told: string[] = []
  const work = (signal: AbortSignal): Promise<void> => {
    told.push('begun')
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        told.push('done')
        resolve()
      }, 1000)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        setTimeout(() => {
          told.push('stopped')
          reject(signal.reason)
        }, 2)
      })
    })
  }
  return { told, work }
}

test('is done once, after a while in which nothing else was', async () => {
  const { told, work } = recorded()
  const idle = new IdleWork(work, { idleMs: 100, attempts: 3 })
  await vi.advanceTimersByTimeAsync(60)
  const other = await idle.giveWay()
  const another = await idle.giveWay()
  await vi.advanceTimersByTimeAsync(500)
  other[Symbol.dispose]()
  other[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(500)
  expect(told).toEqual([])
  another[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(99)
  expect(told).toEqual([])
  await vi.advanceTimersByTimeAsync(2000)
  expect(told).toEqual(['begun', 'done'])
  ;(await idle.giveWay())[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(5000)
  expect(told).toEqual(['begun', 'done'])
})

test('is done again after other things, if it is to be, until the end', async () => {
  const { told, work } = recorded()
  const idle = new IdleWork(work, { idleMs: 100, attempts: 1, repeats: true })
  await vi.advanceTimersByTimeAsync(5000)
  expect(told).toEqual(['begun', 'done'])
  const other = await idle.giveWay()
  await vi.advanceTimersByTimeAsync(5000)
  expect(told).toEqual(['begun', 'done'])
  other[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(5000)
  expect(told).toEqual(['begun', 'done', 'begun', 'done'])
  const last = await idle.giveWay()
  await idle.end()
  last[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(5000)
  expect(told.length).toBe(4)
})

test('stops before anything else begins, and begins again a bounded number of times', async () => {
  const { told, work } = recorded()
  const idle = new IdleWork(work, { idleMs: 100, attempts: 2 })
  for (let i = 0; i < 4; i++) {
    await vi.advanceTimersByTimeAsync(150)
    const giving = idle.giveWay().then((other) => {
      told.push('other')
      other[Symbol.dispose]()
    })
    await vi.advanceTimersByTimeAsync(5)
    await giving
  }
  expect(told).toEqual(['begun', 'stopped', 'other', 'begun', 'stopped', 'other', 'other', 'other'])
})

test('a failure is tried again, and the end is for good', async () => {
  let failed = 0
  const failing = new IdleWork(() => Promise.reject(new Error(`${++failed}`)), { idleMs: 100, attempts: 3 })
  await vi.advanceTimersByTimeAsync(1000)
  expect(failed).toBe(3)
  await failing.end()
  const { told, work } = recorded()
  const idle = new IdleWork(work, { idleMs: 100, attempts: 3 })
  await vi.advanceTimersByTimeAsync(150)
  const ending = idle.end()
  await vi.advanceTimersByTimeAsync(5)
  await ending
  await vi.advanceTimersByTimeAsync(5000)
  expect(told).toEqual(['begun', 'stopped'])
  expect(vi.getTimerCount()).toBe(0)
})
