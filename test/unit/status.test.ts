/** Snapshots of a working engine: sums are right at every moment, also after many successes and failures. */
import { describe, expect, test } from 'vitest'
import { InvalidRequestError } from '../../src/errors.ts'
import { type Clock, Job } from '../../src/queue/job.ts'
import { EndedJobs } from '../../src/queue/job-status.ts'
import type { EngineStatus } from '../../src/status.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

/** 32 bytes of inputs, 8 of bits, 32 of wide values: what the fake synthesizer makes. */
const FAKE_WITNESS_BYTES = 72

/** A snapshot showed a witness that waited for a device. */
let waited = false

/** Checks what must hold of every snapshot. */
function expectConsistent(status: EngineStatus): void {
  const { memory, queue, synthesis, jobs, gpus, buffers, totals } = status
  expect(memory.usedBytes + memory.availableBytes).toBe(memory.totalBytes)
  const inHand = jobs.filter(({ state }) => state === 'queued' || state === 'active')
  expect(inHand.filter(({ state }) => state === 'queued').length).toBe(queue.queued)
  expect(inHand.filter(({ state }) => state === 'active').length).toBe(queue.active)
  const states = inHand.flatMap(({ partitions }) => partitions.map(({ state }) => state))
  const count = (state: string): number => states.filter((other) => other === state).length
  // What is critical shares a device with something less urgent.
  expect(count('gpu')).toBeLessThanOrEqual(2 * gpus.length)
  expect(count('synthesizing')).toBe(synthesis.active)
  expect(buffers.witnessBytes).toBe(buffers.witnesses * FAKE_WITNESS_BYTES)
  if (buffers.witnesses > 0) waited = true
  for (const { state, partitions, fraction } of jobs) {
    expect(fraction).toBeGreaterThanOrEqual(0)
    expect(fraction).toBeLessThanOrEqual(1)
    if (state === 'completed') expect(partitions.every((partition) => partition.state === 'done')).toBe(true)
    if (state === 'failed') expect(partitions.some((partition) => partition.state === 'failed')).toBe(true)
  }
  const numbers = JSON.stringify(status).match(/(?<=:)-?\d+(\.\d+)?(e[+-]?\d+)?/g) ?? []
  for (const number of numbers) {
    expect(Number(number)).toBeGreaterThanOrEqual(0)
    expect(Number(number)).toBeLessThan(2 ** 53)
  }
  expect(Object.keys(totals.completed)).toEqual(Object.keys(totals.failed))
}

describe('status', () => {
  test('is consistent at every event of a mixed load, and plain JSON', async () => {
    const machine = new FakeMachine({ devices: 2, unitMs: 1, units: 3, development: true })
    const broken = new InvalidRequestError('a path leads elsewhere')
    for (const nth of [3, 9, 14]) machine.fail('synthesize', nth, { kind: 'throw', error: broken })
    machine.fail('prove', 5, { kind: 'die' }).fail('prove', 11, { kind: 'wrong' })
    const engine = await machine.engine({ synthesis: { concurrency: 2 } })
    const check = (): void => expectConsistent(engine.status())
    const failures: unknown[] = []
    engine.on('error', (error) => failures.push(error))
    for (const event of ['queued', 'active', 'partition', 'progress', 'completed', 'failed', 'retry', 'gpu'] as const) {
      engine.on(event, check)
    }
    const requests = Array.from({ length: 15 }, (_, i) =>
      i % 3 === 0 ? winningRequest() : syntheticWindowRequest('2k', 2 + (i % 5)),
    )
    const results = await Promise.allSettled(requests.map((request) => engine.prove(request)))
    expect(failures).toEqual([])
    const status = engine.status()
    const failed = results.filter(({ status }) => status === 'rejected').length
    const total = (of: Readonly<Record<string, number>>): number => Object.values(of).reduce((a, b) => a + b)
    expect(failed).toBeGreaterThan(0)
    expect([total(status.totals.failed), total(status.totals.completed)]).toEqual([failed, 15 - failed])
    expect(status.jobs.length).toBe(15)
    expect(status.srs.every(({ development }) => development)).toBe(true)
    // Nothing in it is of a class, or lost on the way. (A deadline is a `Date`; none is set here.)
    expect(JSON.parse(JSON.stringify(status))).toEqual(status)
    expect(waited).toBe(true)
    await engine.close()
    expectConsistent(engine.status())
  })

  test('names the job and partition that a device works on, and frees it', async () => {
    const machine = new FakeMachine({ unitMs: 3 })
    const engine = await machine.engine()
    const rows: EngineStatus['gpus'][number][] = []
    engine.on('progress', () => rows.push(...engine.status().gpus))
    const { jobId } = await engine.prove(windowRequest())
    const proving = rows.filter(({ state }) => state === 'proving')
    expect(proving.length).toBeGreaterThan(0)
    for (const row of proving) expect(row).toMatchObject({ jobId, partition: 0, name: 'fake 0' })
    expect(engine.status().gpus[0]?.jobId).toBeUndefined()
    await engine.close()
  })

  test('capabilities say what can be proved, and why not', async () => {
    const engine = await new FakeMachine().engine({ parameterCache: '/nowhere' })
    await engine.prove(windowRequest())
    const all = engine.capabilities()
    expect(all.length).toBe(20)
    const of = (circuitId: string) => all.find((capability) => capability.circuitId === circuitId)
    expect(of('wpost-2k')).toEqual({ circuitId: 'wpost-2k', available: true, warm: true, device: 'fake 0' })
    expect(of('winning-2k')).toMatchObject({ available: false, warm: false })
    expect(of('winning-2k')?.reason).toContain('/nowhere')
    expect(of('wpost-32g')?.reason).toContain('2^27')
    expect(of('porep-32g')).toMatchObject({ available: false })
    await engine.close()
  })
})

describe('jobs that ended', () => {
  test('are listed for a minute and at most a hundred, without any poll, and counted for ever', () => {
    const clock: Clock & { ms: number } = { ms: 0, now: () => clock.ms }
    const ended = new EndedJobs()
    const end = (k: number): void => {
      const input = { id: `${k}`, kind: 'window-post', circuitId: 'wpost-2k', priority: 'high', total: 1 } as const
      const job = new Job(input, k, { partitionMoved: () => {} }, clock)
      job.move('active')
      job.move(k % 2 === 0 ? 'completed' : 'failed')
      ended.add(job, 1)
    }
    for (let k = 0; k < 1000; k++) end(k)
    expect(ended.rows(0).length).toBe(100)
    expect(ended.rows(59_999)[0]).toMatchObject({ job: { id: '999' }, startedMsAgo: 59_999 })
    expect(ended.rows(60_000)).toEqual([])
    expect([ended.completed['window-post'], ended.failed['window-post']]).toEqual([500, 500])
  })
})
