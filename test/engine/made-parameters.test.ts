/** An engine whose devices make their parameters: all are given the same secrets, and nobody else hears of them. */
import { inspect } from 'node:util'
import { afterAll, describe, expect, test, vi } from 'vitest'
import type { EngineModules } from '../../src/engine-parts.ts'
import type { EventName } from '../../src/events.ts'
import type { Logger } from '../../src/logger.ts'
import type { ToxicWaste } from '../../src/params/toxic-waste.ts'
import { madeOnDevice } from '../../src/srs/made-on-device.ts'
import { verifyFunctions } from '../../src/synthesis/verify-functions.ts'
import { type FakeDeviceClient, FakeMachine } from '../support/fake-device.ts'
import { windowRequest } from '../support/fixtures.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { recordedToxic } from '../support/toxic.ts'

const directory = temporaryDirectory()
afterAll(() => removeDirectory(directory))

const EVENTS: EventName[] = [
  'queued',
  'active',
  'partition',
  'completed',
  'failed',
  'srs',
  'retry',
  'gpu',
  'verifyFailed',
]

/** A logger that keeps what it is told. */
function keeping(lines: unknown[]): Logger {
  const keep = (...line: unknown[]): void => void lines.push(line)
  const logger: Logger = { trace: keep, debug: keep, info: keep, warn: keep, error: keep, child: () => logger }
  return logger
}

describe('parameters that devices make', () => {
  test('are the same on all devices, are development parameters, and their secrets go nowhere else', async () => {
    const toxic = recordedToxic('2KiB', 'window')
    const told: unknown[] = []
    const machine = new FakeMachine({ devices: 2 }).fail('prove', 3, { kind: 'die' })
    const options = { allowDevelopmentParameters: true, logger: keeping(told) }
    const locate = madeOnDevice(directory, { 'wpost-2k': toxic })
    // Whoever verifies learns where parameters are, and not what they were made from.
    const synthesizer = (machine.modules().synthesizer as EngineModules['synthesizer'])({} as never, 0)
    const verify = vi.spyOn(synthesizer, 'verify')
    const engine = await machine.engine(options, { locate, synthesizer: () => synthesizer })
    for (const name of EVENTS) engine.on(name, ((event: unknown) => void told.push(event)) as never)
    const given: (ToxicWaste | undefined)[] = []
    for (const client of machine.clients as FakeDeviceClient[]) {
      const { warm, proveBatch } = client
      vi.spyOn(client, 'warm').mockImplementation((circuit, run) => {
        given.push((circuit as Parameters<typeof proveBatch>[0]).secrets)
        return warm.call(client, circuit, run)
      })
      vi.spyOn(client, 'proveBatch').mockImplementation((batch, run) => {
        given.push(batch.secrets)
        return proveBatch.call(client, batch, run)
      })
    }
    const results = await Promise.all([0, 1, 2].map(() => engine.prove(windowRequest())))
    told.push(results, engine.status(), engine.capabilities())
    expect(results[0]).toMatchObject({ development: true, verified: true })
    expect(engine.status().srs).toMatchObject([{ circuitId: 'wpost-2k', development: true }])
    expect(verify).toHaveBeenCalledTimes(3)
    for (const [task] of verify.mock.calls) {
      expect(task.location.made).toBe(true)
      told.push(task)
    }
    expect(given.length).toBeGreaterThan(2)
    for (const secrets of given) expect(secrets).toEqual(toxic)
    await engine.close()
    const text = inspect(told, { depth: null, maxArrayLength: null })
    expect(text).toContain('wpost-2k')
    for (const secret of ['alpha', 'beta', 'gamma', 'delta', 'tau'] as const) {
      expect(text).not.toContain(String(toxic[secret]))
      expect(text).not.toContain(toxic[secret].toString(16))
    }
  })

  test('are refused without allowDevelopmentParameters', async () => {
    const engine = await new FakeMachine().engine({}, { locate: madeOnDevice(directory) })
    await expect(engine.prove(windowRequest())).rejects.toMatchObject({ code: 'ERR_DEVELOPMENT_PARAMETERS' })
    const capability = engine.capabilities().find(({ circuitId }) => circuitId === 'wpost-2k')
    expect(capability).toMatchObject({ available: false, reason: expect.stringContaining('not allowed') })
    await engine.close()
  })

  test('count as there before any of them is made', async () => {
    const options = { allowDevelopmentParameters: true, parameterCache: '/nowhere' }
    const engine = await new FakeMachine().engine(options, { locate: madeOnDevice(directory) })
    const capability = engine.capabilities().find(({ circuitId }) => circuitId === 'wpost-2k')
    expect(capability).toEqual({ circuitId: 'wpost-2k', available: true, warm: false, device: 'fake 0' })
    await engine.close()
  })

  test('can not have changed under a proof that does not verify', async () => {
    const location = await madeOnDevice(directory)('wpost-2k', { allowDevelopment: true })
    const run = { signal: new AbortController().signal, unit: () => {} }
    expect(await verifyFunctions.digestOf(location, run)).toBe(location.paramsDigest)
  })
})
