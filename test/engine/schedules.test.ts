/**
 * Random jobs, aborts, faults and moments, on fake devices and a fake clock. Whatever happens: the budget holds, jobs keep their
 * order, each promise settles once, each job's events are a legal sequence, and nothing is left at the end.
 *
 * `SCHEDULES=10000 npx vitest run test/engine/schedules.test.ts` tries more of them.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Engine } from '../../src/engine.ts'
import { GpuDeviceLostError, WorkerExitedError } from '../../src/errors.ts'
import type { EngineStatus } from '../../src/status.ts'
import { FakeMachine, type Fault, type Operation } from '../support/fake-device.ts'
import { advance, outcome, settle, useFakeTime, value } from '../support/fake-time.ts'
import { winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

const SCHEDULES = Number(process.env.SCHEDULES ?? 300)
const WINDOWS = [1, 2, 3, 5].map((partitions) => syntheticWindowRequest('2k', 2 * partitions))
const WINNING = winningRequest()
const faults: fc.Arbitrary<Fault> = fc.constantFrom<Fault>(
  { kind: 'throw', error: new WorkerExitedError('gone') },
  { kind: 'throw', error: new GpuDeviceLostError('reset') },
  { kind: 'throw', error: new TypeError('a bug') },
  { kind: 'hang' },
  { kind: 'deaf', ms: 30 },
  { kind: 'die' },
  { kind: 'wrong' },
)

const jobs = fc.record({
  window: fc.option(fc.integer({ min: 0, max: WINDOWS.length - 1 })),
  priority: fc.constantFrom(undefined, 'low', 'normal', 'high', 'critical' as const),
  startMs: fc.integer({ min: 0, max: 60 }),
  abortMs: fc.option(fc.integer({ min: 0, max: 120 }), { freq: 1 }),
  deadlineMs: fc.option(fc.integer({ min: 1, max: 200 }), { freq: 1 }),
})

const schedules = fc.record({
  devices: fc.integer({ min: 1, max: 2 }),
  concurrency: fc.integer({ min: 1, max: 3 }),
  lookahead: fc.integer({ min: 0, max: 2 }),
  budgetMiB: fc.constantFrom(420, 700, 4096),
  jobs: fc.array(jobs, { minLength: 1, maxLength: 6 }),
  faults: fc.array(
    fc.tuple(
      fc.constantFrom<Operation>('warm', 'synthesize', 'prove', 'verify', 'locate'),
      fc.integer({ min: 1, max: 8 }),
      faults,
    ),
    { maxLength: 4 },
  ),
  forceMs: fc.oneof(
    { arbitrary: fc.constant(null), weight: 6 },
    { arbitrary: fc.integer({ min: 0, max: 150 }), weight: 1 },
  ),
})

test('any schedule keeps the budget, the order and every promise', { timeout: 3_600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      const machine = new FakeMachine({ devices: schedule.devices, units: 3, unitMs: 2 })
      for (const [operation, nth, fault] of schedule.faults) {
        // What no device does ends by abort alone when it hangs: there is nothing to take its place.
        if (fault.kind === 'hang' && operation !== 'prove' && operation !== 'warm') continue
        machine.fail(operation, nth, fault)
      }
      const { concurrency, lookahead } = schedule
      const options = {
        memory: { totalBytes: schedule.budgetMiB * 2 ** 20, evictionMinIdleMs: 50 },
        cpu: { threads: 2 },
      }
      const engine = await value(machine.engine({ ...options, synthesis: { concurrency, lookahead } }, { stallMs: 60 }))
      const watch = new Watch(engine)
      const settled: number[] = schedule.jobs.map(() => 0)
      const end = (k: number): void => {
        settled[k] = (settled[k] ?? 0) + 1
      }
      const runs = schedule.jobs.map(async (job, k) => {
        await new Promise((resolve) => setTimeout(resolve, job.startMs))
        const abort = new AbortController()
        if (job.abortMs !== null) setTimeout(() => abort.abort(`abort ${k}`), job.abortMs)
        const request = job.window === null ? WINNING : (WINDOWS[job.window] as (typeof WINDOWS)[number])
        const deadline = job.deadlineMs === null ? undefined : new Date(Date.now() + job.deadlineMs)
        const proving = engine.prove({ ...request, priority: job.priority, deadline }, { signal: abort.signal })
        await proving.then(
          () => end(k),
          () => end(k),
        )
      })
      if (schedule.forceMs !== null) setTimeout(() => void engine.close({ force: true }), schedule.forceMs)
      await outcome(Promise.all(runs))
      expect(settled).toEqual(schedule.jobs.map(() => 1))
      // What hangs without listening is left behind for a moment.
      await advance(200, 5)
      if (schedule.forceMs === null) watch.expectIdle()
      await outcome(engine.close({ force: true }))
      await settle()
      watch.expectEnded()
      expect(machine.open).toBe(0)
    }),
    { numRuns: SCHEDULES, ...(process.env.SEED !== undefined && { seed: Number(process.env.SEED) }) },
  )
})

/** What a job was told of so far. */
type Told = 'queued' | 'active' | 'ended'

class Watch {
  readonly #engine: Engine
  readonly #told = new Map<string, Told>()
  /** Retried or being stopped: apart from the order. */
  readonly #apart = new Set<string>()
  readonly #wrong: string[] = []

  constructor(engine: Engine) {
    this.#engine = engine
    engine.on('error', (error) => this.#wrong.push(`error ${error.message}`))
    engine.on('queued', ({ job }) => this.#step(job.id, undefined, 'queued'))
    engine.on('active', ({ job }) => this.#step(job.id, 'queued', 'active'))
    engine.on('partition', ({ job, state, previous }) => {
      if (state === 'pending' || previous === 'done') this.#apart.add(job.id)
      // A job that fails while it waits has its partitions fail.
      if (this.#told.get(job.id) !== 'active' && state !== 'failed') this.#wrong.push(`${state} of a job not active`)
      this.#check()
    })
    engine.on('progress', ({ job }) => {
      if (this.#told.get(job.id) !== 'active') this.#wrong.push('progress of a job not active')
    })
    engine.on('completed', ({ job }) => this.#step(job.id, 'active', 'ended'))
    engine.on('failed', ({ job }) => this.#step(job.id, 'any', 'ended'))
    engine.on('cancelled', ({ job }) => this.#step(job.id, 'any', 'ended'))
  }

  #step(id: string, from: Told | 'any' | undefined, to: Told): void {
    const told = this.#told.get(id)
    const legal = from === 'any' ? told === 'queued' || told === 'active' : told === from
    if (!legal) this.#wrong.push(`${told} → ${to}`)
    this.#told.set(id, to)
    this.#check()
  }

  #check(): void {
    const status = this.#engine.status()
    const { usedBytes, totalBytes } = status.memory
    if (usedBytes > totalBytes) this.#wrong.push(`${usedBytes} of ${totalBytes} bytes`)
    this.#checkOrder(status)
  }

  /** Started partitions of jobs of equal rank, by arrival and index, are a prefix. */
  #checkOrder({ jobs }: EngineStatus): void {
    const ranks = new Map<string, boolean>()
    for (const { job, state, priority, deadline, partitions } of jobs) {
      if (state !== 'queued' && state !== 'active') continue
      if (this.#apart.has(job.id) || partitions.some((partition) => partition.state === 'failed')) continue
      const rank = `${priority} ${deadline?.getTime()}`
      const started = partitions.map((partition) => partition.state !== 'pending')
      for (const begun of state === 'queued' ? [false] : started) {
        if (begun && ranks.get(rank) === true) this.#wrong.push(`out of order: ${jobs.map(describe).join('; ')}`)
        if (!begun) ranks.set(rank, true)
      }
    }
  }

  expectIdle(): void {
    expect(this.#wrong).toEqual([])
    expect([...this.#told.values()].every((told) => told === 'ended')).toBe(true)
    const { memory, queue, shapes, srs, buffers, gpus } = this.#engine.status()
    const kept = [...shapes, ...srs].reduce((sum, { bytes }) => sum + bytes, 0)
    expect({ held: memory.usedBytes - kept, waiting: memory.waiting, queue, witnesses: buffers.witnesses }).toEqual({
      held: 0,
      waiting: 0,
      queue: { queued: 0, active: 0 },
      witnesses: 0,
    })
    expect(gpus.every(({ jobId }) => jobId === undefined)).toBe(true)
  }

  expectEnded(): void {
    expect(this.#wrong).toEqual([])
    const { memory, state, buffers } = this.#engine.status()
    expect({ state, used: memory.usedBytes, waiting: memory.waiting, buffers }).toEqual({
      state: 'closed',
      used: 0,
      waiting: 0,
      buffers: { witnesses: 0, witnessBytes: 0, stagingBytes: 0 },
    })
  }
}

const describe = ({ job, state, priority, deadline, partitions }: EngineStatus['jobs'][number]): string =>
  `${job.id.slice(0, 4)} ${state} ${priority} ${deadline?.getTime()} ${partitions.map((p) => p.state).join()}`
