/**
 * Random jobs, aborts, faults, budgets and moments, on fake devices and a fake clock. Whatever happens: the budget
 * holds, jobs keep their order, each promise settles once, each job's events are a legal sequence, and nothing is left
 * at the end.
 *
 * `SCHEDULES=10000 npx vitest run test/engine/schedules.test.ts` tries more of them; `SEED=…` repeats a run.
 */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { Engine } from '../../src/engine.ts'
import {
  GpuDeviceLostError,
  GpuOutOfMemoryError,
  ProverError,
  SynthesisError,
  WorkerExitedError,
} from '../../src/errors.ts'
import type { PartitionState } from '../../src/events.ts'
import { AGING_STEP_MS, rankOf } from '../../src/queue/rank.ts'
import type { EngineStatus } from '../../src/status.ts'
import { bytesFor } from '../support/budget.ts'
import { FakeMachine, type Fault, type Operation } from '../support/fake-device.ts'
import { advance, outcome, settle, useFakeTime, value } from '../support/fake-time.ts'
import { winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

const SCHEDULES = Number(process.env.SCHEDULES ?? 300)
/** Time moves in steps of so much; what is due in between comes in its order. */
const STEP_MS = 5
const WINDOWS = [1, 2, 3, 5].map((partitions) => syntheticWindowRequest('2k', 2 * partitions))
const WINNING = winningRequest()
/** In partitions of the larger circuit. With room for one, the other circuit has to be given up for it. */
const BUDGETS = { tight: 1, some: 3, ample: 20 }
const faults: fc.Arbitrary<Fault> = fc.constantFrom<Fault>(
  { kind: 'throw', error: new WorkerExitedError('gone') },
  { kind: 'throw', error: new GpuDeviceLostError('reset') },
  { kind: 'throw', error: new GpuOutOfMemoryError('8 GiB do not suffice') },
  { kind: 'throw', error: new TypeError('a bug') },
  { kind: 'throw', error: new SynthesisError('row 5 does not hold') },
  { kind: 'hang' },
  { kind: 'deaf', ms: 30 },
  { kind: 'die' },
  { kind: 'wrong' },
  { kind: 'empty' },
)

/** Absent three times of four, or less often with a greater weight. */
const sometimes = <T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ arbitrary: fc.constant(null), weight: 3 }, { arbitrary, weight })

const jobs = fc.record({
  window: sometimes(3, fc.integer({ min: 0, max: WINDOWS.length - 1 })),
  priority: fc.constantFrom(undefined, 'low', 'normal', 'high', 'critical' as const),
  startMs: fc.integer({ min: 0, max: 60 }),
  abortMs: sometimes(1, fc.integer({ min: 0, max: 120 })),
  deadlineMs: sometimes(1, fc.integer({ min: 1, max: 200 })),
  /** Jobs of one id and request share a run, those of another request are refused. */
  requestId: fc.oneof({ arbitrary: fc.constant(undefined), weight: 5 }, fc.constantFrom('a', 'b')),
})

const schedules = fc.record({
  devices: fc.integer({ min: 1, max: 2 }),
  kind: fc.constantFrom('cpu' as const, 'webgpu' as const),
  /** The devices reach a WindowPoSt of 2 KiB only; a WinningPoSt needs one more. */
  standIn: fc.oneof({ arbitrary: fc.constant(false), weight: 3 }, fc.constant(true)),
  concurrency: fc.integer({ min: 1, max: 3 }),
  lookahead: fc.integer({ min: 0, max: 2 }),
  budget: fc.constantFrom('tight' as const, 'some' as const, 'ample' as const),
  maxQueued: fc.oneof({ arbitrary: fc.constant(Number.POSITIVE_INFINITY), weight: 4 }, fc.constantFrom(0, 2)),
  jobs: fc.array(jobs, { minLength: 1, maxLength: 6 }),
  faults: fc.array(
    fc.tuple(
      fc.constantFrom<Operation>('warm', 'synthesize', 'prove', 'prepare', 'verify', 'locate', 'digest'),
      fc.integer({ min: 1, max: 8 }),
      faults,
    ),
    { maxLength: 4 },
  ),
  /** The clock steps ahead by more than half an hour: ranks rise, and what was silent meanwhile seems to hang. */
  jumpMs: sometimes(1, fc.integer({ min: 0, max: 100 })),
  forceMs: sometimes(1, fc.integer({ min: 0, max: 150 })),
})

type Schedule = typeof schedules extends fc.Arbitrary<infer T> ? T : never

/** What came about, over all schedules: a test of what never happens would prove nothing. */
const met = new Map<string, number>()
const meet = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1)

test('any schedule keeps the budget, the order and every promise', { timeout: 3_600_000 }, async () => {
  await fc.assert(fc.asyncProperty(schedules, run), {
    numRuns: SCHEDULES,
    ...(process.env.SEED !== undefined && { seed: Number(process.env.SEED) }),
  })
  const often = ['completed', 'failed', 'cancelled', 'retry', 'fallback', 'two devices', 'memory waiting', 'evicted']
  const errors = ['ERR_DEADLINE_EXCEEDED', 'ERR_QUEUE_FULL', 'ERR_ENGINE_CLOSED']
  expect([...often, ...errors].filter((what) => (met.get(what) ?? 0) < SCHEDULES / 100)).toEqual([])
  // In a small sample these may be missing.
  const rare = ['stalled', 'verifyFailed', 'joined', 'ERR_REQUEST_CONFLICT', 'begun anew']
  if (SCHEDULES >= 3000) expect(rare.filter((what) => !met.has(what))).toEqual([])
})

async function run(schedule: Schedule): Promise<void> {
  const { devices, kind, standIn, concurrency, lookahead, budget, maxQueued, jumpMs, forceMs } = schedule
  const domains = standIn ? Array.from({ length: devices }, () => 15) : []
  const machine = new FakeMachine({ devices, kind, domains, standIn, units: 3, unitMs: 2 })
  for (const [operation, nth, fault] of schedule.faults) {
    // What no device does ends by abort alone when it hangs: there is nothing to take its place.
    if (fault.kind === 'hang' && operation !== 'prove' && operation !== 'warm') continue
    machine.fail(operation, nth, fault)
  }
  const memory = { totalBytes: BUDGETS[budget] * bytesFor('winning-2k', 2, kind), evictionMinIdleMs: 50 }
  const synthesis = { concurrency, lookahead }
  const engine = await value(
    machine.engine({ memory, synthesis, cpu: { threads: 2 }, maxQueued }, { stallMs: 60 }),
    STEP_MS,
  )
  const watch = new Watch(engine)
  const settled = schedule.jobs.map(() => 0)
  const results: unknown[] = []
  const runs = schedule.jobs.map(async (job, k) => {
    await new Promise((resolve) => setTimeout(resolve, job.startMs))
    const abort = new AbortController()
    const { priority, requestId = `job ${k}` } = job
    const giveUp = (): void => {
      watch.isStopped(requestId)
      abort.abort(`abort ${k}`)
    }
    if (job.abortMs !== null) setTimeout(giveUp, job.abortMs)
    const request = job.window === null ? WINNING : (WINDOWS[job.window] as (typeof WINDOWS)[number])
    const deadline = job.deadlineMs === null ? undefined : new Date(Date.now() + job.deadlineMs)
    await engine.prove({ ...request, priority, deadline, requestId }, { signal: abort.signal }).then(
      ({ jobId }) => {
        settled[k] = (settled[k] ?? 0) + 1
        if (results.includes(jobId)) meet('joined')
        results.push(jobId)
      },
      (error) => {
        settled[k] = (settled[k] ?? 0) + 1
        if (ProverError.is(error)) meet(error.code)
      },
    )
  })
  if (forceMs !== null) setTimeout(() => void engine.close({ force: true }), forceMs)
  if (jumpMs !== null) setTimeout(() => vi.setSystemTime(Date.now() + AGING_STEP_MS + 1), jumpMs)
  await outcome(Promise.all(runs), STEP_MS)
  expect(settled).toEqual(schedule.jobs.map(() => 1))
  // What hangs without listening is left behind for a moment.
  await advance(200, 2 * STEP_MS)
  if (forceMs === null) watch.expectIdle()
  await outcome(engine.close({ force: true }), STEP_MS)
  await settle()
  watch.expectEnded()
  expect(machine.open).toBe(0)
}

/** The arrows between a partition's states. */
const NEXT: Readonly<Record<PartitionState, readonly PartitionState[]>> = {
  pending: ['synthesizing', 'failed'],
  synthesizing: ['synth_done', 'pending', 'failed'],
  synth_done: ['gpu', 'pending', 'failed'],
  gpu: ['done', 'synth_done', 'failed'],
  done: ['pending'],
  failed: [],
}

/** What a job was told of so far. */
type Told = 'queued' | 'active' | 'ended'

class Watch {
  readonly #engine: Engine
  readonly #told = new Map<string, Told>()
  /** Retried, or failed in part: apart from the order. */
  readonly #apart = new Set<string>()
  /** By request id. Until it has come to its end, such a job is still listed, and others may begin. */
  readonly #stopped = new Set<string | undefined>()
  readonly #wrong: string[] = []
  readonly #devices = new Set<number>()

  constructor(engine: Engine) {
    this.#engine = engine
    engine.on('error', (error) => this.#wrong.push(`error ${error.message}`))
    engine.on('queued', ({ job }) => this.#step(job.id, undefined, 'queued'))
    engine.on('active', ({ job }) => this.#step(job.id, 'queued', 'active'))
    engine.on('partition', ({ job, state, previous, gpu }) => {
      if (!NEXT[previous].includes(state)) this.#wrong.push(`partition ${previous} → ${state}`)
      if (state === 'pending' || previous === 'done') this.#apart.add(job.id)
      if (state === 'pending' && previous === 'synth_done') meet('begun anew')
      if (state === 'gpu' && gpu !== undefined) this.#devices.add(gpu)
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
    engine.on('srs', ({ state }) => state === 'evicted' && engine.status().state === 'running' && meet(state))
    engine.on('memory', ({ state }) => meet(`memory ${state}`))
    for (const name of ['completed', 'failed', 'cancelled', 'retry', 'fallback', 'verifyFailed', 'stalled'] as const) {
      engine.on(name, () => meet(name))
    }
  }

  /** One of a job's callers gives it up. */
  isStopped(requestId: string): void {
    this.#stopped.add(requestId)
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
    const { usedBytes, totalBytes, inputBytes } = status.memory
    if (inputBytes > usedBytes) this.#wrong.push(`${inputBytes} of ${usedBytes} bytes are inputs`)
    if (usedBytes > totalBytes) this.#wrong.push(`${usedBytes} of ${totalBytes} bytes`)
    this.#checkOrder(status)
  }

  /** Started partitions of jobs of equal rank, by arrival and index, are a prefix. */
  #checkOrder({ jobs }: EngineStatus): void {
    const ranks = new Map<string, boolean>()
    for (const { job, state, priority, deadline, startedMsAgo, partitions } of jobs) {
      if (state !== 'queued' && state !== 'active') continue
      const late = deadline !== undefined && deadline.getTime() <= Date.now()
      if (this.#apart.has(job.id) || this.#stopped.has(job.requestId) || late) continue
      if (partitions.some((partition) => partition.state === 'failed')) continue
      // Equal now and before: who rises comes to be equal with others that began before.
      const rank = `${priority} ${rankOf({ priority, waitedMs: startedMsAgo })} ${deadline?.getTime()}`
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
    if (this.#devices.size > 1) meet('two devices')
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
