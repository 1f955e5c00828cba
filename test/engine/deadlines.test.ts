/** Deadlines in every phase and ahead of time, on fake devices and a fake clock. */
import { describe, expect, test, vi } from 'vitest'
import { DeadlineExceededError } from '../../src/errors.ts'
import { FakeMachine, type Operation, recordEvents } from '../support/fake-device.ts'
import { advance, outcome, until, useFakeTime, value } from '../support/fake-time.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

const PHASES: readonly Operation[] = ['locate', 'warm', 'synthesize', 'prove', 'prepare', 'verify']
const within = (ms: number): Date => new Date(Date.now() + ms)

describe('scenario 29: a deadline that passes', () => {
  test.each(PHASES)('during %s rejects at that moment, frees everything, and harms no other job', async (phase) => {
    const machine = new FakeMachine({ unitMs: 5 }).fail(phase, 1, { kind: 'hang' })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const from = Date.now()
    const late = outcome(engine.prove({ ...windowRequest(), deadline: within(100) }))
    // Else that one could come to be checked first, and suffer the fault.
    await until(() => machine.running[phase] === 1)
    const other = engine.prove(winningRequest())
    const result = await late
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(DeadlineExceededError)
    expect(Date.now() - from).toBeGreaterThanOrEqual(100)
    expect(Date.now() - from).toBeLessThan(110)
    // Before it was queued nobody was told of it.
    expect(seen.filter((event) => event === 'failed').length).toBe(phase === 'locate' ? 0 : 1)
    expect((await outcome(other)).status).toBe('fulfilled')
    const { queue, memory, shapes, srs } = engine.status()
    const kept = [...shapes, ...srs].reduce((sum, { bytes }) => sum + bytes, 0)
    expect({ queue, held: memory.usedBytes - kept }).toEqual({ queue: { queued: 0, active: 0 }, held: 0 })
    await outcome(engine.close())
  })

  test('while queued behind another job never starts it', async () => {
    const machine = new FakeMachine({ unitMs: 50 })
    const engine = await value(machine.engine({ synthesis: { lookahead: 0 } }))
    const first = engine.prove(windowRequest())
    await until(() => machine.running.prove === 1)
    const late = await outcome(engine.prove({ ...windowRequest(), deadline: within(40) }))
    expect(late.status === 'rejected' && late.reason).toBeInstanceOf(DeadlineExceededError)
    expect(machine.calls('synthesize')).toBe(1)
    await outcome(first)
    await outcome(engine.close())
  })

  test('because the clock was set, or the machine slept, is noticed soon', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'hang' })
    const engine = await value(machine.engine())
    const deadline = new Date(Date.now() + 3_600_000)
    const proving = outcome(engine.prove({ ...windowRequest(), deadline }), 100)
    await until(() => machine.running.prove === 1)
    vi.setSystemTime(deadline)
    expect(await proving).toMatchObject({ reason: { code: 'ERR_DEADLINE_EXCEEDED' } })
    expect(Date.now() - deadline.getTime()).toBeLessThan(11_000)
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('that has passed already is refused', async () => {
    const engine = await value(new FakeMachine().engine())
    const late = await outcome(engine.prove({ ...windowRequest(), deadline: within(-1) }))
    expect(late.status).toBe('rejected')
    await outcome(engine.close())
  })
})

describe('deadlineAtRisk', () => {
  test('comes once, when measured times say that the job will be late, with the estimate', async () => {
    const machine = new FakeMachine({ unitMs: 10 })
    const engine = await value(machine.engine())
    const risks: { requestId: string | undefined; lateMs: number; at: number }[] = []
    engine.on('deadlineAtRisk', ({ job, deadline, estimate }) =>
      risks.push({ requestId: job.requestId, lateMs: estimate.getTime() - deadline.getTime(), at: Date.now() }),
    )
    // Nothing is known before the circuit was measured.
    const partitions = syntheticWindowRequest('2k', 20)
    await outcome(engine.prove({ ...partitions, deadline: within(100) }))
    await outcome(engine.prove(partitions))
    expect(risks).toEqual([])
    const from = Date.now()
    const jobs = [
      engine.prove({ ...partitions, requestId: 'ahead', deadline: within(700) }),
      engine.prove({ ...partitions, requestId: 'late', deadline: within(701) }),
      engine.prove({ ...partitions, requestId: 'fine', deadline: within(60_000) }),
    ]
    await until(() => risks.length > 0)
    await advance(20)
    expect(risks.map(({ requestId }) => requestId)).toEqual(['late'])
    // Two jobs of ten partitions of 40 ms or a little more each.
    expect(risks[0]?.at).toBeLessThan(from + 50)
    expect(risks[0]?.lateMs).toBeGreaterThan(100)
    expect(risks[0]?.lateMs).toBeLessThan(600)
    const results = await Promise.all(jobs.map((job) => outcome(job)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(risks.length).toBe(1)
    await outcome(engine.close())
  })
})
