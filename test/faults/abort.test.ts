/** Abort and deadline in every phase: the call rejects within 250 ms, everything is free again, other jobs go on. */
import { setMaxListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { Engine } from '../../src/engine.ts'
import { BudgetExceededError, DeadlineExceededError } from '../../src/errors.ts'
import { bytesFor, needFor } from '../support/budget.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { delay, FakeMachine, type Operation, recordEvents } from '../support/fake-device.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'
import { warningsOf } from '../support/warnings.ts'

const PHASES: readonly Operation[] = ['locate', 'warm', 'synthesize', 'prove', 'prepare', 'verify']

/** Waits until an operation runs. */
async function until(machine: FakeMachine, operation: Operation): Promise<void> {
  while (machine.running[operation] === 0) await delay(1)
}

/** Bytes in use beyond what a circuit that is kept takes. */
function held(engine: Engine): number {
  const { memory, shapes, srs } = engine.status()
  const kept = [...shapes, ...srs].reduce((sum, { bytes }) => sum + bytes, 0)
  return memory.usedBytes - kept
}

/** Ms that it takes `promise` to reject, and with what. */
async function rejection(promise: Promise<unknown>): Promise<{ ms: number; reason: unknown }> {
  const from = performance.now()
  try {
    await promise
  } catch (reason) {
    return { ms: performance.now() - from, reason }
  }
  throw new Error('it resolved')
}

// Times are asserted: on a machine that is busy with something else a test may need a second try.
describe('abort', { retry: 2 }, () => {
  test.each(PHASES)('during %s', async (phase) => {
    const machine = new FakeMachine({ unitMs: 5 }).fail(phase, 1, { kind: 'hang' })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const abort = new AbortController()
    const proving = engine.prove(windowRequest(), { signal: abort.signal })
    await until(machine, phase)
    const other = engine.prove(winningRequest())
    await delay(20)
    const reason = { not: 'an error' }
    abort.abort(reason)
    const rejected = await rejection(proving)
    expect(rejected.reason).toBe(reason)
    expect(rejected.ms).toBeLessThan(250)
    expect((await other).kind).toBe('winning-post')
    expect(held(engine)).toBe(0)
    // A request that was not queued yet is nobody's news.
    expect(seen.filter((event) => event === 'cancelled').length).toBe(phase === 'locate' ? 0 : 1)
    const { queue, synthesis, memory } = engine.status()
    expect([queue.queued, queue.active, synthesis.active, memory.waiting]).toEqual([0, 0, 0, 0])
    await engine.prove(windowRequest())
    abort.abort()
    await engine.close()
  })

  test('while it waits for memory, behind a job that runs', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    const engine = await machine.engine({ cpu: { threads: 2 }, memory: { totalBytes: bytesFor('winning-2k') } })
    const first = engine.prove(winningRequest())
    await until(machine, 'prove')
    const seen = recordEvents(engine)
    const abort = new AbortController()
    const waiting = engine.prove(winningRequest(), { signal: abort.signal })
    while (!seen.includes('memory waiting')) await delay(1)
    abort.abort(new Error('no time'))
    await expect(waiting).rejects.toThrow('no time')
    expect(engine.status().memory.waiting).toBe(0)
    await first
    expect(held(engine)).toBe(0)
    await engine.close()
  })

  test('while it waits for a device', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('prove', 1, { kind: 'hang' })
    const engine = await machine.engine()
    const stop = new AbortController()
    const first = engine.prove(windowRequest(), { signal: stop.signal })
    await until(machine, 'prove')
    const abort = new AbortController()
    const second = engine.prove(windowRequest(), { signal: abort.signal })
    while (engine.status().buffers.witnesses === 0) await delay(1)
    abort.abort(new Error('no time'))
    await expect(second).rejects.toThrow('no time')
    expect(engine.status().buffers).toEqual({ witnesses: 0, witnessBytes: 0, stagingBytes: 0 })
    stop.abort(new Error('stop'))
    await expect(first).rejects.toThrow('stop')
    await engine.close()
  })

  test('of work that does not listen: rejects in time, and holds the memory until the work has stopped', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('prove', 1, { kind: 'deaf', ms: 500 })
    const engine = await machine.engine()
    const abort = new AbortController()
    const proving = engine.prove(windowRequest(), { signal: abort.signal })
    await until(machine, 'prove')
    abort.abort(new Error('now'))
    const rejected = await rejection(proving)
    expect(rejected.ms).toBeLessThan(250)
    expect((rejected.reason as Error).message).toBe('now')
    expect(held(engine)).toBeGreaterThan(0)
    expect(engine.status().queue).toEqual({ queued: 0, active: 0 })
    await engine.close()
    expect(machine.running.prove).toBe(0)
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test('before the call, and after its end', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    await expect(engine.prove(windowRequest(), { signal: AbortSignal.abort('early') })).rejects.toBe('early')
    expect(machine.calls('locate')).toBe(0)
    const abort = new AbortController()
    await engine.prove(windowRequest(), { signal: abort.signal })
    abort.abort()
    expect(engine.status().totals.completed['window-post']).toBe(1)
    await engine.close()
  })

  test('of Engine.create and of preload', async () => {
    const starting = new FakeMachine({ unitMs: 50 })
    const abort = new AbortController()
    const creating = starting.engine({ signal: abort.signal } as object)
    await until(starting, 'start')
    abort.abort(new Error('never mind'))
    await expect(creating).rejects.toThrow('never mind')
    expect(starting.open).toBe(0)

    const machine = new FakeMachine().fail('warm', 1, { kind: 'hang' })
    const engine = await machine.engine()
    const stop = new AbortController()
    const loading = engine.preload('winning-2k', { signal: stop.signal })
    await until(machine, 'warm')
    stop.abort(new Error('not now'))
    expect((await rejection(loading)).ms).toBeLessThan(250)
    expect(engine.status().memory.usedBytes).toBe(0)
    await engine.preload('winning-2k')
    expect(engine.status().memory.usedBytes).toBeGreaterThan(0)
    await engine.close()
    expect(machine.open).toBe(0)
  })
})

test('a signal with a limit of listeners of its own stops a job as any other; 0 stands for none', async () => {
  const machine = new FakeMachine().fail('prove', 2, { kind: 'hang' })
  const engine = await machine.engine()
  const abort = new AbortController()
  setMaxListeners(0, abort.signal)
  await engine.prove(windowRequest(), { signal: abort.signal })
  const proving = engine.prove(windowRequest(), { signal: abort.signal })
  await until(machine, 'prove')
  abort.abort(new Error('now'))
  expect((await rejection(proving)).reason).toMatchObject({ message: 'now' })
  await engine.close()
})

test('a dozen devices start without a warning of listeners', async () => {
  const warnings = await warningsOf(async () => {
    const engine = await new FakeMachine({ devices: 12 }).engine()
    await engine.close()
  })
  expect(warnings).toEqual([])
})

describe('deadline', { retry: 2 }, () => {
  test.each(PHASES)('passes during %s', async (phase) => {
    const machine = new FakeMachine().fail(phase, 1, { kind: 'hang' })
    const engine = await machine.engine()
    const deadline = new Date(Date.now() + 100)
    const error = await proverErrorOf(() => engine.prove({ ...windowRequest(), deadline }))
    expect(error).toBeInstanceOf(DeadlineExceededError)
    expect(Date.now() - deadline.getTime()).toBeLessThan(250)
    expect(held(engine)).toBe(0)
    await engine.prove(windowRequest())
    await engine.close()
  })

  test('that has passed already refuses the request', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    const error = await proverErrorOf(() => engine.prove({ ...windowRequest(), deadline: new Date(0) }))
    expect(error.code).toBe('ERR_DEADLINE_EXCEEDED')
    expect(machine.calls('synthesize')).toBe(0)
    await engine.close()
  })
})

describe('memory', () => {
  test.each([
    ['also if only its parameters make it too large', 1, 0],
    // Three commitments, and of 66 challenges each a leaf and the siblings of two levels of eight.
    ['also if only its input does', 0, (3 + 66 * (1 + 7 + 7)) * 32],
  ])('a job that can never fit is refused at once, %s', async (_, missing, inputBytes) => {
    const totalBytes = needFor('winning-2k') - missing
    const engine = await new FakeMachine().engine({ cpu: { threads: 2 }, memory: { totalBytes } })
    const seen = recordEvents(engine)
    const error = await proverErrorOf(() => engine.prove(winningRequest()))
    expect(error).toBeInstanceOf(BudgetExceededError)
    const expected = `at least ${needFor('winning-2k') + inputBytes}`
    expect(error.details).toEqual({ field: 'memory.totalBytes', expected, received: `${totalBytes}` })
    expect([seen, engine.status().memory.usedBytes]).toEqual([[], 0])
    await engine.prove(windowRequest())
    await engine.close()
  })

  test('is refused, not waited for, where a preloaded WinningPoSt keeps what it would need', async () => {
    // Room for one of the two.
    const totalBytes = Math.max(bytesFor('winning-2k'), bytesFor('wpost-2k'))
    const engine = await new FakeMachine({ unitMs: 1 }).engine({ cpu: { threads: 2 }, memory: { totalBytes } })
    // One is accepted before anything is kept, one comes later.
    const proving = engine.prove(winningRequest())
    const early = proverErrorOf(() => engine.prove(windowRequest()))
    await engine.preload('winning-2k')
    await proving
    for (const error of [await early, await proverErrorOf(() => engine.prove(windowRequest()))]) {
      expect(error).toBeInstanceOf(BudgetExceededError)
    }
    await engine.prove(winningRequest())
    await engine.close()
  })

  test('ten partitions of which one fits at a time: the peak never exceeds the budget', async () => {
    const machine = new FakeMachine()
    const totalBytes = bytesFor('wpost-2k')
    const engine = await machine.engine({
      cpu: { threads: 2 },
      memory: { totalBytes },
      synthesis: { concurrency: 4, lookahead: 4 },
    })
    let peak = 0
    engine.on('partition', () => {
      peak = Math.max(peak, engine.status().memory.usedBytes)
    })
    await engine.prove(syntheticWindowRequest('2k', 20))
    expect(peak).toBeGreaterThan(0)
    expect(peak).toBeLessThanOrEqual(totalBytes)
    await engine.close()
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test('two kinds of which only one fits complete one after the other; the idle one is given up', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine({ cpu: { threads: 2 }, memory: { totalBytes: bytesFor('winning-2k') } })
    const seen = recordEvents(engine)
    await Promise.all([
      engine.prove(winningRequest()),
      engine.prove(windowRequest()),
      engine.prove({ ...winningRequest(), priority: 'low' }),
    ])
    expect(seen.filter((event) => event === 'completed').length).toBe(3)
    expect(seen).toContain('srs evicted')
    await engine.close()
  })
})
