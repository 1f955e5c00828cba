/**
 * Closing an engine in every state, on fake devices: what waits rejects, what runs finishes or is aborted, all is
 * freed.
 */
import { describe, expect, test } from 'vitest'
import { type CircuitSize, circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateCircuit, neededBytes } from '../../src/budget/estimates.ts'
import type { Engine } from '../../src/engine.ts'
import {
  BudgetExceededError,
  EngineClosedError,
  GpuUnavailableError,
  QueueFullError,
  RequestConflictError,
} from '../../src/errors.ts'
import { keptBytes } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { bytesFor } from '../support/budget.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { delay, FakeMachine, recordEvents } from '../support/fake-device.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

const low = { priority: 'low' } as const

async function running(machine: FakeMachine): Promise<void> {
  while (machine.running.prove === 0) await delay(1)
}

function expectFreed(machine: FakeMachine, engine: Engine): void {
  const { state, memory, queue, gpus } = engine.status()
  expect(machine.open).toBe(0)
  expect({ state, used: memory.usedBytes, waiting: memory.waiting, queue }).toEqual({
    state: 'closed',
    used: 0,
    waiting: 0,
    queue: { queued: 0, active: 0 },
  })
  expect(gpus.every(({ jobId }) => jobId === undefined)).toBe(true)
}

describe('close', () => {
  test('running jobs finish, queued and new ones reject, a second call is the same promise', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    // No witness is made ahead: what is not on the device has not begun.
    const engine = await machine.engine({ synthesis: { lookahead: 0 } })
    const seen = recordEvents(engine)
    const first = engine.prove(windowRequest())
    await running(machine)
    const queued = Array.from({ length: 5 }, () => engine.prove({ ...syntheticWindowRequest('2k', 4), ...low }))
    const settled = Promise.allSettled(queued)
    await delay(1)
    const closing = engine.close()
    const again = engine.close()
    expect(again).toBe(closing)
    await expect(engine.prove(windowRequest())).rejects.toBeInstanceOf(EngineClosedError)
    await expect(engine.preload('wpost-2k')).rejects.toBeInstanceOf(EngineClosedError)
    expect((await first).verified).toBe(true)
    for (const result of await settled) {
      expect(result.status).toBe('rejected')
      expect((result as PromiseRejectedResult).reason).toBeInstanceOf(EngineClosedError)
    }
    await Promise.all([closing, again])
    expect(seen.filter((event) => event === 'completed').length).toBe(1)
    expect(seen.at(-1)).toBe('gpu')
    expectFreed(machine, engine)
    await engine.close({ timeoutMs: 1000 })
    await engine[Symbol.asyncDispose]()
    await expect(engine.close({ timeoutMs: -1 })).rejects.toThrow('timeoutMs')
  })

  test('force aborts what runs', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('prove', 1, { kind: 'hang' })
    const engine = await machine.engine()
    const proving = engine.prove(windowRequest())
    const outcome = proverErrorOf(() => proving)
    await running(machine)
    await engine.close({ force: true })
    expect(await outcome).toBeInstanceOf(EngineClosedError)
    expectFreed(machine, engine)
  })

  test('timeoutMs lets it run so long, then aborts it', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'hang' })
    const engine = await machine.engine()
    const outcome = proverErrorOf(() => engine.prove(windowRequest()))
    await running(machine)
    const from = performance.now()
    await engine.close({ timeoutMs: 100 })
    expect(performance.now() - from).toBeGreaterThanOrEqual(95)
    expect(await outcome).toBeInstanceOf(EngineClosedError)
    expectFreed(machine, engine)
  })

  test('a second call may add force', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'hang' })
    const engine = await machine.engine()
    const outcome = proverErrorOf(() => engine.prove(windowRequest()))
    await running(machine)
    const closing = engine.close()
    await delay(20)
    await engine.close({ force: true })
    await closing
    expect(await outcome).toBeInstanceOf(EngineClosedError)
  })

  test.each(['locate', 'warm', 'synthesize', 'prepare', 'verify'] as const)('by force during %s', async (operation) => {
    const machine = new FakeMachine().fail(operation, 1, { kind: 'hang' })
    const engine = await machine.engine()
    const outcome = proverErrorOf(() => engine.prove(windowRequest()))
    while (machine.running[operation] === 0) await delay(1)
    await engine.close({ force: true })
    expect(await outcome).toBeInstanceOf(EngineClosedError)
    expectFreed(machine, engine)
  })

  test('during a preload, after a success, after a failure, and without any job', async () => {
    const machine = new FakeMachine().fail('warm', 1, { kind: 'hang' })
    const engine = await machine.engine()
    const outcome = proverErrorOf(() => engine.preload('winning-2k'))
    while (machine.running.warm === 0) await delay(1)
    await engine.close()
    expect(await outcome).toBeInstanceOf(EngineClosedError)
    expectFreed(machine, engine)

    for (const fault of [undefined, { kind: 'throw', error: new GpuUnavailableError('no') } as const]) {
      const next = new FakeMachine()
      if (fault !== undefined) next.fail('prove', 1, fault)
      const used = await next.engine()
      await used.prove(windowRequest()).catch(() => {})
      await used.close()
      expectFreed(next, used)
    }
    const idle = new FakeMachine()
    const unused = await idle.engine()
    await unused.close()
    expectFreed(idle, unused)
    expect(unused.capabilities()).toEqual([])
  })

  test('an engine whose devices can not be started leaves nothing', async () => {
    const broken = new GpuUnavailableError('broken')
    const machine = new FakeMachine().fail('start', 1, { kind: 'throw', error: broken })
    const error = await proverErrorOf(() => machine.engine())
    expect(error.code).toBe('ERR_GPU_UNAVAILABLE')
    expect(error.message).toContain('broken')
    expect(error.cause).toBe(broken)
    expect(machine.open).toBe(0)
  })
})

describe('admission', () => {
  test('past maxQueued jobs that wait, prove rejects', async () => {
    const machine = new FakeMachine({ unitMs: 3 })
    const engine = await machine.engine({ maxQueued: 1 })
    const first = engine.prove(windowRequest())
    await running(machine)
    const second = engine.prove({ ...syntheticWindowRequest('2k', 8), ...low })
    const third = engine.prove({ ...syntheticWindowRequest('2k', 2), ...low })
    const error = await proverErrorOf(() => third)
    expect(error).toBeInstanceOf(QueueFullError)
    expect(error.retryable).toBe(true)
    await Promise.all([first, second])
    await engine.prove(windowRequest())
    await engine.close()
  })

  test('with maxQueued 0 nothing waits, and what can begin at once is accepted', async () => {
    const machine = new FakeMachine({ devices: 2 })
    for (const nth of [1, 2]) machine.fail('prove', nth, { kind: 'deaf', ms: 300 })
    const engine = await machine.engine({ maxQueued: 0, synthesis: { concurrency: 2, lookahead: 0 } })
    const first = engine.prove(windowRequest())
    // The first is not under way yet: where it waits, none may wait beside it.
    expect(await proverErrorOf(() => engine.prove(windowRequest()))).toBeInstanceOf(QueueFullError)
    await running(machine)
    const second = engine.prove(windowRequest())
    while (machine.running.prove < 2) await delay(1)
    expect(await proverErrorOf(() => engine.prove(windowRequest()))).toBeInstanceOf(QueueFullError)
    // A WinningPoSt has a seat of its own on a busy device.
    const winning = engine.prove(winningRequest())
    await Promise.all([first, second, winning])
    await engine.prove(windowRequest())
    await engine.close()
  })

  test('with maxQueued 0 a job whose memory is taken is refused, and one that needs an idle circuit to go is not', async () => {
    const machine = new FakeMachine({ devices: 2 }).fail('prove', 1, { kind: 'deaf', ms: 100 })
    // Room for either circuit with one partition, and so not for two partitions of the smaller one.
    const totalBytes = bytesFor('winning-2k')
    const engine = await machine.engine({ maxQueued: 0, cpu: { threads: 2 }, memory: { totalBytes } })
    const first = engine.prove(windowRequest())
    await running(machine)
    expect(await proverErrorOf(() => engine.prove(windowRequest()))).toBeInstanceOf(QueueFullError)
    await first
    await engine.prove(winningRequest())
    await engine.close()
  })

  test('the same requestId and content share one run; other content conflicts; the id is free once settled', async () => {
    const machine = new FakeMachine({ unitMs: 3 })
    const engine = await machine.engine()
    const request = { ...windowRequest(), requestId: 'wdpost-1' }
    const first = engine.prove(request)
    const abort = new AbortController()
    const second = engine.prove({ ...request, priority: 'low' }, { signal: abort.signal })
    const third = engine.prove(request)
    const conflict = await proverErrorOf(() => engine.prove({ ...winningRequest(), requestId: 'wdpost-1' }))
    expect(conflict).toBeInstanceOf(RequestConflictError)
    abort.abort(new Error('not me'))
    await expect(second).rejects.toThrow('not me')
    const [own, other] = [await first, await third]
    expect(other).toEqual(own)
    // Each has its own: what one does to its result, the other does not see.
    own.proof.fill(0)
    expect(other.proof).not.toEqual(own.proof)
    expect(machine.calls('prove')).toBe(1)
    const anew = await engine.prove(request)
    expect(anew.jobId).not.toBe((await first).jobId)
    await engine.close()
  })

  test('a job is cancelled when the last of its callers has given up', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('prove', 1, { kind: 'hang' })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const request = { ...windowRequest(), requestId: 'shared' }
    const aborts = [new AbortController(), new AbortController()]
    const calls = aborts.map(({ signal }) => engine.prove(request, { signal }))
    const settled = Promise.allSettled(calls)
    await running(machine)
    aborts[0]?.abort('first')
    await delay(20)
    expect(seen).not.toContain('cancelled')
    aborts[1]?.abort('second')
    expect((await settled).map((result) => (result as PromiseRejectedResult).reason)).toEqual(['first', 'second'])
    expect(seen).toContain('cancelled')
    await engine.close()
  })

  test('callers that share a job and an onProgress are each told until they leave', async () => {
    const machine = new FakeMachine({ unitMs: 3 })
    const engine = await machine.engine()
    const request = { ...windowRequest(), requestId: 'shared' }
    const shares: number[] = []
    const onProgress = ({ fraction }: { fraction: number }): void => void shares.push(fraction)
    const abort = new AbortController()
    const left = engine.prove(request, { onProgress, signal: abort.signal })
    const stays = engine.prove(request, { onProgress })
    await delay(1)
    abort.abort(new Error('enough'))
    await expect(left).rejects.toThrow('enough')
    shares.length = 0
    await stays
    expect(shares.at(-1)).toBe(1)
    expect(new Set(shares).size).toBe(shares.length)
    await engine.close()
  })

  test('a circuit larger than the device is refused with the numbers', async () => {
    const engine = await new FakeMachine({ maxLog2Domain: 14 }).engine()
    const error = await proverErrorOf(() => engine.prove(windowRequest()))
    expect(error.code).toBe('ERR_UNSUPPORTED_PROOF')
    expect(error.details).toMatchObject({ expected: 'at most 2^14', received: '2^15', device: 'fake 0' })
    expect(error.message).toContain('21866 constraints')
    await engine.close()
  })
})

describe('preload', () => {
  test('keeps a WinningPoSt and the memory of one of its partitions', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    await engine.preload('winning-2k')
    const { usedBytes } = engine.status().memory
    expect(engine.status().srs).toMatchObject([{ circuitId: 'winning-2k', evictable: false, development: false }])
    const peak: number[] = []
    engine.on('partition', () => peak.push(engine.status().memory.usedBytes))
    const result = await engine.prove(winningRequest())
    expect(result.timings.srsLoadMs).toBeLessThan(result.timings.totalMs / 2)
    // Nothing more is reserved for it than was kept, but for its input.
    expect(Math.max(...peak)).toBe(usedBytes + keptBytes(validateRequest(winningRequest())))
    // One that loads, and one that sets memory of the device aside.
    expect(machine.calls('warm')).toBe(2)
    await engine.preload('winning-2k')
    expect(machine.calls('warm')).toBe(2)
    expect(engine.status().memory.usedBytes).toBe(usedBytes)
    await engine.close()
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test('twice at once where one fits keeps it once; another circuit that does not fit beside it is refused, not waited for', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine({ memory: { totalBytes: bytesFor('winning-2k') }, cpu: { threads: 2 } })
    const other = proverErrorOf(() => Promise.all([engine.preload('winning-2k'), engine.preload('wpost-2k')]))
    await engine.preload('winning-2k')
    expect(await other).toBeInstanceOf(BudgetExceededError)
    expect(engine.status().memory.waiting).toBe(0)
    expect((await engine.prove(winningRequest())).verified).toBe(true)
    await engine.close()
    expectFreed(machine, engine)
  })

  test('aborted while devices set memory aside it keeps nothing', async () => {
    const machine = new FakeMachine().fail('warm', 2, { kind: 'hang' })
    const engine = await machine.engine()
    const abort = new AbortController()
    const loading = engine.preload('winning-2k', { signal: abort.signal })
    while (machine.calls('warm') < 2) await delay(1)
    abort.abort(new Error('enough'))
    await expect(loading).rejects.toThrow('enough')
    expect(engine.status()).toMatchObject({ memory: { usedBytes: 0 }, srs: [] })
    expect(machine.log.at(-1)).toBe('forget winning-2k')
    await engine.close()
  })

  test('aborted then, while a job is on its circuit, it takes nothing of that and keeps nothing aside', async () => {
    const machine = new FakeMachine({ unitMs: 20 }).fail('warm', 2, { kind: 'hang' })
    const engine = await machine.engine()
    const proof = engine.prove(winningRequest())
    while (machine.running.prove === 0) await delay(1)
    const abort = new AbortController()
    const loading = engine.preload('winning-2k', { signal: abort.signal })
    while (machine.calls('warm') < 2) await delay(1)
    abort.abort(new Error('enough'))
    await expect(loading).rejects.toThrow('enough')
    expect(machine.log.at(-1)).toBe('return aside winning-2k')
    expect((await proof).verified).toBe(true)
    expect(machine.log).not.toContain('forget winning-2k')
    await engine.close()
    expectFreed(machine, engine)
  })

  test('aborted then, while another preload of its circuit goes on, it leaves that what is set aside', async () => {
    const machine = new FakeMachine().fail('warm', 2, { kind: 'hang' })
    const engine = await machine.engine()
    const abort = new AbortController()
    const aborted = engine.preload('winning-2k', { signal: abort.signal })
    while (machine.calls('warm') < 2) await delay(1)
    const other = engine.preload('winning-2k')
    while (machine.calls('warm') < 3) await delay(1)
    abort.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await other
    expect(machine.log.filter((entry) => /^(return aside|forget)/.test(entry))).toEqual([])
    expect(engine.status().srs).toMatchObject([{ circuitId: 'winning-2k', evictable: false }])
    await engine.close()
  })

  test('is refused if the inputs that came while it loaded leave no room to keep it', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    const inputBytes = keptBytes(validateRequest(windowRequest()))
    // Beside what is to be kept one job fits with its input, and no second input.
    const [kept, other] = (['winning-2k', 'wpost-2k'] as const).map((circuitId) =>
      neededBytes(estimateCircuit(circuitSize(circuitId) as CircuitSize, { totalBytes: 2 ** 27, threads: 2 })),
    )
    const totalBytes = (kept as number) + (other as number) + inputBytes
    const engine = await machine.engine({ memory: { totalBytes }, cpu: { threads: 2 } })
    const loading = proverErrorOf(() => engine.preload('winning-2k'))
    const jobs = [engine.prove(windowRequest()), engine.prove(windowRequest())]
    expect(await loading).toBeInstanceOf(QueueFullError)
    await Promise.all(jobs)
    await engine.preload('winning-2k')
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    await engine.close()
    expectFreed(machine, engine)
  })

  test('five jobs that start cold together load their parameters once; a failed load fails them all, and is tried anew', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('warm', 1, {
      kind: 'throw',
      error: new GpuUnavailableError('bad'),
    })
    const engine = await machine.engine({ synthesis: { concurrency: 5, lookahead: 5 } })
    const five = await Promise.allSettled(Array.from({ length: 5 }, () => engine.prove(windowRequest())))
    expect(five.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    expect(machine.calls('warm')).toBe(1)
    const sixth = Promise.all(Array.from({ length: 5 }, () => engine.prove(windowRequest())))
    expect((await sixth).length).toBe(5)
    expect(machine.calls('warm')).toBe(2)
    await engine.close()
  })
})
