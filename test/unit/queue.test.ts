/** Ranks, states of jobs and partitions, progress. */
import { describe, expect, test } from 'vitest'
import type { JobProgress } from '../../src/events.ts'
import { type Clock, Job } from '../../src/queue/job.ts'
import { JobMeter, Rates } from '../../src/queue/progress.ts'
import { ProofQueue } from '../../src/queue/proof-queue.ts'
import { AGING_STEP_MS, compareJobs, type Placed, rankOf } from '../../src/queue/rank.ts'
import { PRIORITIES, type Priority } from '../../src/request/proof-request.ts'

class FakeClock implements Clock {
  ms = 0
  now(): number {
    return this.ms
  }
}

let arrivals = 0
function job(clock: Clock, priority: Priority = 'normal', total = 2, moves: string[] = []): Job {
  const input = { id: `job ${arrivals}`, kind: 'window-post', circuitId: 'wpost-2k', priority, total } as const
  return new Job(
    input,
    arrivals++,
    {
      partitionMoved: ({ index, state }, previous, elapsedMs) =>
        moves.push(`${index} ${previous} → ${state} ${elapsedMs}`),
    },
    clock,
  )
}

describe('rank', () => {
  test('rises by one for each half hour of waiting, never to critical', () => {
    const rank = (priority: Priority, steps: number): number => rankOf({ priority, waitedMs: steps * AGING_STEP_MS })
    expect(PRIORITIES.map((priority) => rank(priority, 0))).toEqual([0, 1, 2, 3])
    expect(PRIORITIES.map((priority) => rank(priority, 0.99))).toEqual([0, 1, 2, 3])
    expect(PRIORITIES.map((priority) => rank(priority, 1))).toEqual([1, 2, 2, 3])
    expect(PRIORITIES.map((priority) => rank(priority, 1000))).toEqual([2, 2, 2, 3])
  })

  test('priority before deadline before arrival', () => {
    const placed = (priority: Priority, deadlineMs: number | undefined, arrival: number): Placed => ({
      priority,
      deadlineMs,
      arrival,
      waitedMs: 0,
    })
    const all = [
      placed('critical', undefined, 5),
      placed('high', 10, 4),
      placed('high', 20, 3),
      placed('high', undefined, 1),
      placed('high', undefined, 2),
      placed('low', 1, 0),
    ]
    expect([...all].reverse().sort(compareJobs)).toEqual(all)
  })

  test('the queue is in order of the moment, and counts by state', () => {
    const clock = new FakeClock()
    const queue = new ProofQueue(() => clock.now())
    const low = job(clock, 'low')
    queue.add(low)
    clock.ms = 2 * AGING_STEP_MS
    const [normal, high] = [job(clock), job(clock, 'high')]
    queue.add(normal)
    queue.add(high)
    expect(queue.inOrder()).toEqual([low, high, normal])
    expect(queue.position(normal)).toBe(2)
    low.move('active')
    queue.activate(low)
    expect([queue.queued, queue.active, queue.position(normal)]).toEqual([2, 1, 1])
    queue.remove(low)
    expect(queue.size).toBe(2)
  })
})

describe('states', () => {
  test('a job goes along its arrows, and no other way', () => {
    const one = job(new FakeClock())
    expect(() => one.move('completed')).toThrow("can't go from queued to completed")
    one.move('active')
    one.move('completed')
    expect(one.ended).toBe(true)
    expect(() => one.move('failed')).toThrow("can't go from completed to failed")
  })

  test('a partition goes along its arrows, tells of each, and is silent once the job has ended', () => {
    const clock = new FakeClock()
    const moves: string[] = []
    const one = job(clock, 'normal', 2, moves)
    const [first, second] = one.partitions
    expect(() => first?.move('gpu')).toThrow("can't go from pending to gpu")
    for (const [ms, state] of [
      [1, 'synthesizing'],
      [10, 'synth_done'],
      [2, 'gpu'],
      [100, 'synth_done'],
      [3, 'gpu'],
      [200, 'done'],
    ] as const) {
      clock.ms += ms
      first?.move(state)
    }
    expect(moves).toEqual([
      '0 pending → synthesizing 1',
      '0 synthesizing → synth_done 10',
      '0 synth_done → gpu 2',
      '0 gpu → synth_done 100',
      '0 synth_done → gpu 3',
      '0 gpu → done 200',
    ])
    expect([first?.synthesisMs, first?.gpuMs]).toEqual([10, 200])
    one.move('failed')
    second?.move('synthesizing')
    expect(second?.state).toBe('pending')
    expect(moves.length).toBe(6)
  })

  test('the first reason to abort stays', () => {
    const one = job(new FakeClock())
    one.abort('first')
    one.abort('second')
    expect(one.signal.reason).toBe('first')
  })
})

describe('progress', () => {
  test('never falls, also when a partition is tried again, and ends at 1', () => {
    const one = job(new FakeClock())
    const [first] = one.partitions
    const seen: JobProgress[] = []
    const meter = new JobMeter(one, new Rates(), (progress) => seen.push(progress))
    if (first === undefined) throw new Error('no partition')
    first.synthesisShare = 1
    for (const share of [0.2, 0.6, 0.1, 0.3, 0.9]) {
      first.gpuShare = share
      meter.update()
    }
    meter.verified(1)
    const fractions = seen.map(({ fraction }) => fraction)
    expect(fractions.length).toBe(4)
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b))
    expect(meter.fraction).toBe(1)
    expect(seen.every(({ remainingMs }) => remainingMs === undefined)).toBe(true)
  })

  test('is weighted by what the circuit took before', () => {
    const rates = new Rates()
    rates.add('wpost-2k', { synthesisMs: 100, gpuMs: 800, verifyMs: 100 })
    const one = job(new FakeClock())
    const seen: JobProgress[] = []
    const meter = new JobMeter(one, rates, (progress) => seen.push(progress))
    for (const partition of one.partitions) partition.synthesisShare = 1
    meter.update()
    expect(seen).toMatchObject([{ fraction: 0.1, done: 0, total: 2, remainingMs: 1800 }])
    rates.add('wpost-2k', { synthesisMs: 200, gpuMs: 800, verifyMs: 100 })
    expect(rates.get('wpost-2k')?.synthesisMs).toBe(130)
  })
})
