/**
 * What a long queue costs, measured on the engine's own parts: for the tests that bound it and the soak that reports
 * it.
 */
import { MemoryBudget } from '../../src/budget/memory-budget.ts'
import { GuardedEmitter } from '../../src/events.ts'
import { silentLogger } from '../../src/logger.ts'
import { JobDesk } from '../../src/queue/job-desk.ts'
import { SynthesisScheduler } from '../../src/queue/synthesis-scheduler.ts'
import type { Ticket } from '../../src/queue/ticket.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { winningRequest } from './fixtures.ts'

export interface QueueCosts {
  /** CPU time a job to accept it, place it and put its partition in line, µs. */
  readonly queuedUs: number
  /** To cancel it and take it off again. */
  readonly leftUs: number
  /** A snapshot of all rows, the fastest of five, ms. */
  readonly statusMs: number
  /** Priorities in order of the rows. */
  readonly order: readonly string[]
  /** Jobs that waited when all had come, and at the end. */
  readonly waiting: readonly [number, number]
}

/** Of this process: the machine may be busy with something else. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** CPU time, the least of some tries, ms. */
function fastest(tries: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let k = 0; k < tries; k++) {
    const from = cpuMs()
    work()
    least = Math.min(least, cpuMs() - from)
  }
  return least
}

/** Queues so many jobs of mixed priority, none of which can begin, and cancels them. */
export async function measureQueue(jobs: number): Promise<QueueCosts> {
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
  const coming = cpuMs()
  for (let k = 0; k < jobs; k++) {
    const ticket = desk.accept(requests[k % 4] as (typeof requests)[number])
    desk.announce(ticket)
    tickets.push(ticket)
    for (const partition of ticket.job.partitions) {
      const { signal } = ticket.job
      turns.push(scheduler.turn({ partition, bytes: () => 1, signal, onWait: () => {}, onGrant: () => {} }))
    }
  }
  const queuedUs = ((cpuMs() - coming) / jobs) * 1000
  const all = desk.queued
  const statusMs = fastest(5, () => desk.rows())
  const order = desk.rows().map(({ priority }) => priority)
  const settling = Promise.allSettled(turns)
  const leaving = cpuMs()
  for (const ticket of tickets) {
    ticket.wait({}).catch(() => {})
    ticket.cancel('enough')
    desk.settle(ticket, { kind: 'cancelled', reason: 'enough' })
  }
  const leftUs = ((cpuMs() - leaving) / jobs) * 1000
  await settling
  return { queuedUs, leftUs, statusMs, order, waiting: [all, desk.queued] }
}

/** What an event costs beside its listener, µs, and how often the listener was called. */
export function measureEvents(events: number): { eventUs: number; calls: number } {
  const emitter = new GuardedEmitter(silentLogger)
  let calls = 0
  emitter.on('drained', () => calls++)
  const ms = fastest(5, () => {
    for (let k = 0; k < events; k++) emitter.emit('drained')
  })
  return { eventUs: (ms / events) * 1000, calls }
}
