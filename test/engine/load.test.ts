/** A long queue stays cheap: what each job costs beside its checks, what a snapshot and an event cost. */
import { expect, test } from 'vitest'
import { MemoryBudget } from '../../src/budget/memory-budget.ts'
import { GuardedEmitter } from '../../src/events.ts'
import { silentLogger } from '../../src/logger.ts'
import { JobDesk } from '../../src/queue/job-desk.ts'
import { SynthesisScheduler } from '../../src/queue/synthesis-scheduler.ts'
import type { Ticket } from '../../src/queue/ticket.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { winningRequest } from '../support/fixtures.ts'

const JOBS = 10_000

/** The limits are for an idle machine; a busy one gets three times as much. */
const BUSY = 3

/** Of this process: the machine may be busy with something else. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** The least of some tries: others use the machine too. */
function fastest(tries: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let k = 0; k < tries; k++) {
    const from = performance.now()
    work()
    least = Math.min(least, performance.now() - from)
  }
  return least
}

test('10,000 jobs: at most 50 µs each to queue and place, and to take off again, 5 ms for all their rows', async () => {
  const clock = { now: () => performance.now() }
  const options = { maxQueued: Number.POSITIVE_INFINITY, hasRoom: () => true, devices: () => 1, onSettled: () => {} }
  const desk = new JobDesk({ clock, events: new GuardedEmitter(silentLogger), logger: silentLogger, ...options })
  const budget = new MemoryBudget(1)
  const lanes = { concurrency: 1, lookahead: 0, freeDevices: () => 0 }
  const scheduler = new SynthesisScheduler({ budget, ...lanes, now: clock.now })
  const requests = (['low', 'normal', 'high', 'critical'] as const).map((priority) =>
    validateRequest({ ...winningRequest(), priority }),
  )
  const tickets: Ticket[] = []
  const turns: Promise<unknown>[] = []
  const from = cpuMs()
  for (let k = 0; k < JOBS; k++) {
    const ticket = desk.accept(requests[k % 4] as (typeof requests)[number])
    desk.announce(ticket)
    tickets.push(ticket)
    for (const partition of ticket.job.partitions) {
      const { signal } = ticket.job
      turns.push(scheduler.turn({ partition, bytes: () => 1, signal, onWait: () => {}, onGrant: () => {} }))
    }
  }
  const queuedUs = ((cpuMs() - from) / JOBS) * 1000
  expect(desk.queued).toBe(JOBS)
  const statusMs = fastest(5, () => desk.rows())
  const order = desk.rows().map(({ priority }) => priority)
  expect(order).toEqual(['critical', 'high', 'normal', 'low'].flatMap((priority) => Array(JOBS / 4).fill(priority)))
  const settling = Promise.allSettled(turns)
  const leaving = cpuMs()
  for (const ticket of tickets) {
    ticket.wait({}).catch(() => {})
    ticket.cancel('enough')
    desk.settle(ticket, { kind: 'cancelled', reason: 'enough' })
  }
  const leftUs = ((cpuMs() - leaving) / JOBS) * 1000
  await settling
  expect(desk.queued).toBe(0)
  console.log(
    `${queuedUs.toFixed(1)} µs to queue, ${leftUs.toFixed(1)} µs to leave, ${statusMs.toFixed(1)} ms a snapshot`,
  )
  expect(queuedUs).toBeLessThan(50 * BUSY)
  expect(leftUs).toBeLessThan(50 * BUSY)
  expect(statusMs).toBeLessThan(5 * BUSY)
})

test('an event costs at most 5 µs beside its listener', () => {
  const events = new GuardedEmitter(silentLogger)
  let count = 0
  events.on('drained', () => count++)
  const ms = fastest(5, () => {
    for (let k = 0; k < 10_000; k++) events.emit('drained')
  })
  expect(count).toBe(50_000)
  expect((ms / 10_000) * 1000).toBeLessThan(5 * BUSY)
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
