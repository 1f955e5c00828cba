/** Devices that hang, compute wrong, or fail again and again. On fake devices and a fake clock. */
import { describe, expect, test, vi } from 'vitest'
import { QUARANTINE_MS } from '../../src/device/device-health.ts'
import { watchStall } from '../../src/device/stall-watch.ts'
import { GpuDeviceLostError, SrsUnavailableError } from '../../src/errors.ts'
import type { EngineEvents } from '../../src/events.ts'
import { silentLogger } from '../../src/logger.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { advance, outcome, settle, until, useFakeTime, value } from '../support/fake-time.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

describe('scenario 34: a device that hangs', () => {
  test('is told of, ended and started again; the partition is proved anew', async () => {
    const machine = new FakeMachine().fail('prove', 2, { kind: 'hang' })
    const engine = await value(machine.engine({}, { stallMs: 500 }))
    const seen = recordEvents(engine)
    const stalls: Parameters<EngineEvents['stalled']>[0][] = []
    engine.on('stalled', (event) => stalls.push(event))
    const result = await value(engine.prove(syntheticWindowRequest('2k', 6)))
    expect(result.partitions).toBe(3)
    expect(stalls.length).toBe(1)
    expect(stalls[0]).toMatchObject({ index: 1, phase: 'gpu', gpu: 0 })
    expect(stalls[0]?.silentMs).toBeGreaterThanOrEqual(500)
    expect(seen.filter((event) => /^retry/.test(event))).toEqual(['retry 1 2'])
    expect(engine.status().gpus).toMatchObject([{ generation: 2, state: 'idle' }])
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('is ended also if its job was given up meanwhile, of which nothing is told any more', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'deaf', ms: 60_000 })
    const engine = await value(machine.engine({}, { stallMs: 500 }))
    const told: string[] = []
    for (const name of ['stalled', 'cancelled'] as const) engine.on(name, () => told.push(name))
    const abort = new AbortController()
    const proving = outcome(engine.prove(windowRequest(), { signal: abort.signal }))
    await until(() => machine.running.prove === 1)
    abort.abort('enough')
    expect(await proving).toMatchObject({ reason: 'enough' })
    await until(() => engine.status().gpus[0]?.generation === 2)
    expect(told).toEqual(['cancelled'])
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('is not one whose main thread stood still', async () => {
    let [silentMs, stalled] = [0, 0]
    const device = { silentMs: () => silentMs }
    using _watch = watchStall(device, 60, () => stalled++)
    silentMs = 5_000
    // The timer is due at last, and so is what the device reported meanwhile.
    vi.advanceTimersByTime(5_000)
    silentMs = 0
    await settle()
    expect(stalled).toBe(0)
    silentMs = 60
    await advance(60)
    expect(stalled).toBe(1)
  })
})

describe('parameters that do not load', () => {
  test('are told of by file, for each partition that waits; after twice the time the device is ended, and loads anew', async () => {
    const machine = new FakeMachine().fail('warm', 1, { kind: 'hang' })
    const engine = await value(machine.engine({ synthesis: { concurrency: 2 } }, { stallMs: 500 }))
    const stalls: Parameters<EngineEvents['stalled']>[0][] = []
    engine.on('stalled', (event) => stalls.push(event))
    const seen = recordEvents(engine)
    const proving = outcome(engine.prove(syntheticWindowRequest('2k', 4)))
    await until(() => stalls.length === 2)
    expect(stalls).toMatchObject([0, 1].map((index) => ({ index, phase: 'parameters', file: 'wpost-2k.params' })))
    for (const { silentMs, gpu } of stalls) {
      expect([silentMs >= 250 && silentMs < 500, gpu]).toEqual([true, undefined])
    }
    expect(seen).not.toContain('gpu')
    expect((await proving).status).toBe('fulfilled')
    expect(engine.status().gpus).toMatchObject([{ generation: 2 }])
    expect(stalls.length).toBe(2)
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('hold up neither an abort nor a deadline, and no other circuit', async () => {
    const machine = new FakeMachine().fail('warm', 1, { kind: 'hang' })
    const engine = await value(machine.engine({ synthesis: { concurrency: 3 } }, { stallMs: 60_000 }))
    const abort = new AbortController()
    const aborted = outcome(engine.prove(windowRequest(), { signal: abort.signal }))
    const late = outcome(engine.prove({ ...windowRequest(), deadline: new Date(Date.now() + 300) }))
    await until(() => machine.running.warm === 1)
    expect((await outcome(engine.prove(winningRequest()))).status).toBe('fulfilled')
    abort.abort('enough')
    expect(await aborted).toEqual({ status: 'rejected', reason: 'enough' })
    expect(await late).toMatchObject({ reason: { code: 'ERR_DEADLINE_EXCEEDED' } })
    expect(engine.status().gpus).toMatchObject([{ generation: 1, state: 'idle' }])
    await outcome(engine.close())
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test('are told of by preload in the log', async () => {
    const machine = new FakeMachine().fail('warm', 1, { kind: 'hang' })
    const lines: unknown[] = []
    const logger = { ...silentLogger, error: (fields: object | string) => void lines.push(fields) }
    const engine = await value(machine.engine({ logger }, { stallMs: 500 }))
    const loading = outcome(engine.preload('winning-2k'))
    await until(() => lines.length === 1)
    expect(lines).toMatchObject([{ circuitId: 'winning-2k', file: 'winning-2k.params' }])
    expect((await loading).status).toBe('fulfilled')
    expect(engine.status().gpus).toMatchObject([{ generation: 2 }])
    await outcome(engine.close())
  })

  test.each(['wpost-2k', 'winning-2k'] as const)(
    'that die of a preload of %s load it when they are back',
    async (id) => {
      const machine = new FakeMachine().fail('warm', 1, { kind: 'die' })
      const lines: unknown[] = []
      const logger = { ...silentLogger, warn: (fields: object | string) => void lines.push(fields) }
      const engine = await value(machine.engine({ logger }))
      expect((await outcome(engine.preload(id))).status).toBe('fulfilled')
      expect(engine.status().gpus).toMatchObject([{ generation: 2, state: 'idle' }])
      expect(engine.status().srs).toMatchObject([{ circuitId: id }])
      expect(lines).toContainEqual(expect.objectContaining({ circuitId: id, attempt: 2 }))
      await outcome(engine.close())
      expect(engine.status().memory.usedBytes).toBe(0)
    },
  )

  test('that died since a preload have the circuit again after another', async () => {
    const machine = new FakeMachine({ devices: 2 })
    const engine = await value(machine.engine())
    expect((await outcome(engine.preload('wpost-2k'))).status).toBe('fulfilled')
    machine.clients[0]?.die('a driver fell')
    await until(() => machine.clients.length === 3)
    machine.log.length = 0
    expect((await outcome(engine.preload('wpost-2k'))).status).toBe('fulfilled')
    // The other device has it.
    expect(machine.log).toEqual(['warm wpost-2k'])
    await outcome(engine.close())
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test('that die of each try fail the preload, and leave nothing reserved', async () => {
    const machine = new FakeMachine()
    for (let nth = 1; nth <= 3; nth++) machine.fail('warm', nth, { kind: 'die' })
    const engine = await value(machine.engine())
    expect(await outcome(engine.preload('wpost-2k'))).toMatchObject({ reason: { code: 'ERR_WORKER_EXITED' } })
    expect(engine.status().memory.usedBytes).toBe(0)
    await outcome(engine.close())
  })

  test.each(['wpost-2k', 'winning-2k'] as const)(
    'that die and do not start again fail a preload of %s: it would load onto nothing',
    async (id) => {
      const error = new Error('no driver any more')
      const machine = new FakeMachine().fail('warm', 1, { kind: 'die' }).fail('start', 2, { kind: 'throw', error })
      const engine = await value(machine.engine())
      expect(await outcome(engine.preload(id))).toMatchObject({ reason: { code: 'ERR_GPU_UNAVAILABLE', cause: error } })
      expect(engine.status().gpus).toMatchObject([{ state: 'quarantined' }])
      expect(engine.status().memory.usedBytes).toBe(0)
      await outcome(engine.close())
    },
  )

  test('that alone reach a circuit are waited for by its preload, whatever else serves', async () => {
    const machine = new FakeMachine({ domains: [10, 24] })
    machine.fail('warm', 1, { kind: 'die' }).fail('start', 3, { kind: 'deaf', ms: 100 })
    const engine = await value(machine.engine())
    await until(() => machine.clients.length === 2)
    expect((await outcome(engine.preload('wpost-2k'))).status).toBe('fulfilled')
    expect(machine.log.filter((entry) => entry.startsWith('warm'))).toHaveLength(2)
    expect(engine.status().gpus).toMatchObject([{ generation: 1 }, { generation: 2 }])
    await outcome(engine.close())
  })

  test('that start anew are waited for by a preload', async () => {
    const machine = new FakeMachine().fail('warm', 1, { kind: 'die' }).fail('start', 2, { kind: 'deaf', ms: 200 })
    const engine = await value(machine.engine())
    const proof = outcome(engine.prove(windowRequest()))
    await until(() => machine.running.start === 1)
    expect((await outcome(engine.preload('winning-2k'))).status).toBe('fulfilled')
    expect(engine.status().gpus).toMatchObject([{ generation: 2 }])
    expect(machine.log).toContain('warm winning-2k')
    expect((await proof).status).toBe('fulfilled')
    await outcome(engine.close())
  })

  test('a device that hangs when its memory is set aside is ended, and the preload settles', async () => {
    const machine = new FakeMachine().fail('warm', 2, { kind: 'hang' })
    const engine = await value(machine.engine({}, { stallMs: 300 }))
    expect((await outcome(engine.preload('winning-2k'))).status).toBe('fulfilled')
    await until(() => engine.status().gpus[0]?.generation === 2)
    expect((await outcome(engine.prove(winningRequest()))).status).toBe('fulfilled')
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })
})

describe('a device that fails again and again', () => {
  test.each([1, 0])('is quarantined, tried again later, and serves then; lookahead %i', async (lookahead) => {
    const machine = new FakeMachine()
    for (let nth = 1; nth <= 4; nth++) machine.fail('prove', nth, { kind: 'die' })
    const engine = await value(machine.engine({ synthesis: { lookahead } }))
    const states: string[] = []
    engine.on('gpu', ({ state }) => states.push(state))
    for (const code of ['ERR_WORKER_EXITED', 'ERR_GPU_UNAVAILABLE', 'ERR_GPU_UNAVAILABLE']) {
      const failed = await outcome(engine.prove(windowRequest()))
      expect(failed).toMatchObject({ status: 'rejected', reason: { code } })
    }
    expect(engine.status().gpus).toMatchObject([{ state: 'quarantined' }])
    expect(states.at(-1)).toBe('quarantined')
    await advance(QUARANTINE_MS + 100, 1000)
    await until(() => engine.status().gpus[0]?.state === 'idle')
    expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('is quarantined where it hangs while it is started again; who waits for it is told', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'die' }).fail('start', 2, { kind: 'hang' })
    const engine = await value(machine.engine())
    const waiting = await outcome(engine.prove(windowRequest()), 1000)
    expect(waiting).toMatchObject({ reason: { code: 'ERR_GPU_UNAVAILABLE' } })
    expect(engine.status().gpus).toMatchObject([{ state: 'quarantined', reason: 'it did not start within 300 s' }])
    await advance(QUARANTINE_MS + 100, 1000)
    expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('leaves the work to the other', async () => {
    const machine = new FakeMachine({ devices: 2 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 2 } }))
    machine.clients[0]?.failAlways({ kind: 'wrong' })
    const results = []
    for (let job = 0; job < 4; job++) results.push(await outcome(engine.prove(syntheticWindowRequest('2k', 4))))
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill('fulfilled'))
    const { gpus } = engine.status()
    expect(gpus.map(({ state }) => state)).toEqual(['quarantined', 'idle'])
    expect(gpus.map(({ verifyFailures }) => verifyFailures)).toEqual([3, 0])
    await outcome(engine.close())
  })
})

test.each([
  ['WindowPoSt', windowRequest],
  ['WinningPoSt', winningRequest],
] as const)('scenario 26: a wrong proof of a %s is told of and made anew on another device', async (_, request) => {
  const machine = new FakeMachine({ devices: 2 }).fail('prove', 1, { kind: 'wrong' })
  const engine = await value(machine.engine())
  const wrong: number[] = []
  const taken: (number | undefined)[] = []
  engine.on('verifyFailed', ({ gpu }) => wrong.push(gpu))
  engine.on('partition', ({ state, gpu }) => {
    if (state === 'gpu') taken.push(gpu)
  })
  expect((await value(engine.prove(request()))).verified).toBe(true)
  expect([wrong, taken]).toEqual([[0], [0, 1]])
  await outcome(engine.close())
})

describe('case 39: a proof that does not hold', () => {
  const told = (seen: readonly string[]): string[] =>
    seen.filter((event) => /^(verifyFailed|retry|fallback|diagnosed)/.test(event))

  test('once: made anew it holds, so the parameters are sound and the device is suspect, whose points are read anew', async () => {
    const machine = new FakeMachine().fail('prove', 2, { kind: 'wrong' })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    await value(engine.prove(syntheticWindowRequest('2k', 6)))
    expect(told(seen)).toEqual(['verifyFailed 1', 'retry 1 2', 'diagnosed 0 sound holds'])
    // Dropped after the first verification, before the second proof.
    const [forgotten, again] = [machine.log.indexOf('forget wpost-2k'), machine.log.lastIndexOf('prove wpost-2k')]
    expect([forgotten > 0, forgotten < again]).toEqual([true, true])
    expect(machine.calls('digest')).toBe(0)
    await outcome(engine.close())
  })

  test('once on the only GPU: the CPU device makes it anew', async () => {
    const machine = new FakeMachine({ standIn: true }).fail('prove', 1, { kind: 'wrong' })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const placed: (number | undefined)[] = []
    engine.on('partition', ({ state, gpu }) => {
      if (state === 'gpu') placed.push(gpu)
    })
    expect((await value(engine.prove(windowRequest()))).verified).toBe(true)
    expect(told(seen)).toEqual(['verifyFailed 0', 'retry 0 2', 'fallback', 'diagnosed 0 sound holds'])
    expect(placed).toEqual([0, 1])
    await outcome(engine.close())
  })

  const twice = (): FakeMachine =>
    new FakeMachine().fail('prove', 1, { kind: 'wrong' }).fail('prove', 2, { kind: 'wrong' })

  test('twice, with parameters that have their digest: the machine is suspect', async () => {
    const machine = twice()
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const failed = await outcome(engine.prove(windowRequest()))
    expect(failed).toMatchObject({
      reason: { code: 'ERR_PROOF_INVALID', retryable: true, details: { partition: 0, file: 'wpost-2k.params' } },
    })
    expect(String((failed as PromiseRejectedResult).reason)).toContain('its parameters are sound')
    expect(told(seen)).toEqual(['verifyFailed 0', 'retry 0 2', 'verifyFailed 0', 'diagnosed 0 sound wrong'])
    await outcome(engine.close())
  })

  test('twice, with parameters that have another digest by now: the file is to blame, and is read anew', async () => {
    const machine = twice().fail('digest', 1, { kind: 'wrong' })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const failed = await outcome(engine.prove(windowRequest()))
    expect(failed).toMatchObject({
      reason: {
        code: 'ERR_SRS_UNAVAILABLE',
        details: { file: 'wpost-2k.params', expected: '0'.repeat(32), received: 'f'.repeat(32) },
      },
    })
    expect(told(seen).at(-1)).toBe('diagnosed 0 damaged wrong')
    expect(seen).toContain('srs evicted')
    expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
    expect(machine.calls('warm')).toBe(2)
    await outcome(engine.close())
  })

  test('twice, with parameters that can not be read: told so; an abort while they are read is obeyed', async () => {
    const machine = twice().fail('digest', 1, { kind: 'throw', error: new Error('EIO: i/o error, read') })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const failed = (await outcome(engine.prove(windowRequest()))) as PromiseRejectedResult
    expect([failed.reason.code, failed.reason.cause.message]).toEqual(['ERR_PROOF_INVALID', 'EIO: i/o error, read'])
    expect(told(seen).at(-1)).toBe('diagnosed 0 unreadable wrong')
    await outcome(engine.close())

    const slow = twice().fail('digest', 1, { kind: 'hang' })
    const other = await value(slow.engine())
    const abort = new AbortController()
    const proving = outcome(other.prove(windowRequest(), { signal: abort.signal }))
    await until(() => slow.running.digest === 1)
    abort.abort('enough')
    expect(await proving).toEqual({ status: 'rejected', reason: 'enough' })
    await outcome(other.close())
    expect(other.status().memory.usedBytes).toBe(0)
  })
})

test('scenario 32: a device is lost with one partition; the others are kept, and the other job goes on', async () => {
  const machine = new FakeMachine().fail('prove', 4, { kind: 'throw', error: new GpuDeviceLostError('driver reset') })
  const engine = await value(machine.engine())
  const seen = recordEvents(engine)
  const window = outcome(engine.prove(syntheticWindowRequest('2k', 10)))
  const results = [await outcome(engine.prove(winningRequest())), await window]
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  expect(seen.filter((event) => /^retry/.test(event)).length).toBe(1)
  expect([machine.calls('prove'), machine.calls('synthesize')]).toEqual([7, 6])
  await outcome(engine.close())
})

test('scenario 36: parameters that change under way fail their job by name; others go on; mended ones are read anew', async () => {
  const error = new SrsUnavailableError('it changed while in use', { details: { file: 'wpost-2k.params' } })
  const machine = new FakeMachine().fail('prove', 2, { kind: 'throw', error })
  const engine = await value(machine.engine())
  const window = outcome(engine.prove(syntheticWindowRequest('2k', 8)))
  const other = outcome(engine.prove({ ...winningRequest(), priority: 'low' }))
  expect(await window).toMatchObject({
    status: 'rejected',
    reason: { code: 'ERR_SRS_UNAVAILABLE', details: error.details },
  })
  expect((await other).status).toBe('fulfilled')
  const warmed = machine.calls('warm')
  expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
  expect(machine.calls('warm')).toBe(warmed + 1)
  await outcome(engine.close())
})

test('a key that changed before a proof was verified fails the job by name, and is read anew with its points', async () => {
  const error = new SrsUnavailableError('wrong digest', { details: { file: 'wpost-2k.vk' } })
  const machine = new FakeMachine().fail('verify', 1, { kind: 'throw', error })
  const engine = await value(machine.engine())
  const failed = await outcome(engine.prove(windowRequest()))
  expect(failed).toMatchObject({ reason: { code: 'ERR_SRS_UNAVAILABLE', details: error.details } })
  expect(machine.calls('warm')).toBe(1)
  expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
  expect(machine.calls('warm')).toBe(2)
  await outcome(engine.close())
})
