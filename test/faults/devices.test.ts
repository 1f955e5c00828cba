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
    expect((await loading).status).toBe('rejected')
    await outcome(engine.preload('winning-2k'))
    await outcome(engine.close())
  })
})

describe('a device that fails again and again', () => {
  test('is quarantined, tried again later, and serves then', async () => {
    const machine = new FakeMachine()
    for (let nth = 1; nth <= 4; nth++) machine.fail('prove', nth, { kind: 'die' })
    const engine = await value(machine.engine())
    const states: string[] = []
    engine.on('gpu', ({ state }) => states.push(state))
    for (const code of ['ERR_WORKER_EXITED', 'ERR_GPU_UNAVAILABLE']) {
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

test('scenario 26: a wrong proof is told of and made anew on another device', async () => {
  const machine = new FakeMachine({ devices: 2 }).fail('prove', 1, { kind: 'wrong' })
  const engine = await value(machine.engine())
  const wrong: number[] = []
  const taken: (number | undefined)[] = []
  engine.on('verifyFailed', ({ gpu }) => wrong.push(gpu))
  engine.on('partition', ({ state, gpu }) => {
    if (state === 'gpu') taken.push(gpu)
  })
  expect((await value(engine.prove(windowRequest()))).verified).toBe(true)
  expect([wrong, taken]).toEqual([[0], [0, 1]])
  await outcome(engine.close())
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
