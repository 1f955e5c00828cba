/** A long queue stays cheap: what each job costs beside its checks, what a snapshot and an event cost. */
import { expect, test } from 'vitest'
import { FakeMachine } from '../support/fake-device.ts'
import { winningRequest } from '../support/fixtures.ts'
import { measureEvents, measureQueue } from '../support/queue-load.ts'

const JOBS = 10_000

/** The limits are for an idle machine; a busy one gets three times as much. */
const BUSY = 3

test('10,000 jobs: at most 50 µs each to queue and place, and to take off again, 5 ms for all their rows', async () => {
  const { queuedUs, leftUs, statusMs, order, waiting } = await measureQueue(JOBS)
  expect(waiting).toEqual([JOBS, 0])
  expect(order).toEqual(['critical', 'high', 'normal', 'low'].flatMap((priority) => Array(JOBS / 4).fill(priority)))
  expect(queuedUs).toBeLessThan(50 * BUSY)
  expect(leftUs).toBeLessThan(50 * BUSY)
  expect(statusMs).toBeLessThan(5 * BUSY)
})

test('an event costs at most 5 µs beside its listener', () => {
  const { eventUs, calls } = measureEvents(10_000)
  expect(calls).toBe(50_000)
  expect(eventUs).toBeLessThan(5 * BUSY)
})

test('an idle engine that made 300 proofs holds nothing of them', async () => {
  const machine = new FakeMachine({ unitMs: 0, units: 1 })
  const engine = await machine.engine({ synthesis: { concurrency: 2, lookahead: 2 } })
  for (let round = 0; round < 15; round++) {
    await Promise.all(Array.from({ length: 20 }, () => engine.prove(winningRequest())))
  }
  const { queue, jobs, totals, memory, shapes, srs } = engine.status()
  expect(queue).toEqual({ queued: 0, active: 0 })
  expect(jobs.length).toBe(100)
  expect(totals.completed['winning-post']).toBe(300)
  expect(memory.usedBytes).toBe([...shapes, ...srs].reduce((sum, { bytes }) => sum + bytes, 0))
  await engine.close()
})
