/**
 * A folder of parameters on a file server that is gone: it is looked for, and no call ever returns. On a fake clock.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import type { Engine } from '../../src/engine.ts'
import { SrsUnavailableError } from '../../src/errors.ts'
import { ANSWER_LIMIT_MS } from '../../src/params/waiting.ts'
import { locateParameters } from '../../src/srs/locate-parameters.ts'
import { lookFromOutside } from '../../src/srs/look-from-outside.ts'
import { unknownParameterFiles } from '../../src/srs/parameter-folder.ts'
import { ParametersPresent } from '../../src/srs/parameters-present.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { outcome, until, useFakeTime, value } from '../support/fake-time.ts'
import { windowRequest } from '../support/fixtures.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>()
  const gone = (path: unknown): boolean => /^\/gone|silent-here/.test(String(path))
  const silent = (): Promise<never> => new Promise(() => {})
  const stat = (path: never, ...rest: never[]) => (gone(path) ? silent() : fs.stat(path, ...rest))
  const readdir = (path: never, ...rest: never[]) => (gone(path) ? silent() : fs.readdir(path, ...rest))
  return { ...fs, default: fs, stat, readdir }
})

/** Processes that were started. */
const children: ChildProcess[] = vi.hoisted(() => [])
vi.mock('node:child_process', async (original) => {
  const processes = await original<typeof import('node:child_process')>()
  const fork = (...args: Parameters<typeof processes.fork>): ChildProcess => {
    const child = processes.fork(...args)
    children.push(child)
    return child
  }
  return { ...processes, default: processes, fork }
})

useFakeTime()
beforeEach(() => {
  children.length = 0
})

/** Waits for what happens in its own time. */
async function met(condition: () => boolean): Promise<void> {
  const limit = performance.now() + 10_000
  while (!condition() && performance.now() < limit) await new Promise((resolve) => setImmediate(resolve))
  expect(condition()).toBe(true)
}

test('looking for parameters there fails by the name of the file, in time', async () => {
  const from = Date.now()
  const looked = await outcome(locateParameters('wpost-2k', { directory: '/gone', allowDevelopment: true }), 1_000)
  expect(looked).toMatchObject({ status: 'rejected', reason: { code: 'ERR_SRS_UNAVAILABLE', retryable: true } })
  expect((looked as PromiseRejectedResult).reason.details.file).toMatch(/^\/gone\/.*\.params$/)
  expect(Date.now() - from).toBeLessThan(ANSWER_LIMIT_MS + 2_000)
  expect(await value(unknownParameterFiles('/gone'), 1_000)).toEqual([])
})

test('what can be proved is told at once, and again once it answers', async () => {
  const machine = new FakeMachine()
  const folder = temporaryDirectory()
  writeFileSync(join(folder, 'dev-wpost-2k.params'), '')
  const options = { allowDevelopmentParameters: true }
  const of = (engine: Engine) => engine.capabilities().find(({ circuitId }) => circuitId === 'wpost-2k')
  const lost = await value(machine.engine({ ...options, parameterCache: '/gone' }))
  for (let i = 0; i < 2; i++) {
    expect(of(lost)).toMatchObject({ available: false, reason: 'no parameters: the folder /gone does not answer' })
  }
  const engine = await value(machine.engine({ ...options, parameterCache: folder }))
  // On a busy machine the test's clock may outrun the file system.
  await met(() => of(engine)?.available === true)
  rmSync(join(folder, 'dev-wpost-2k.params'))
  // Looked for after this call, for the next.
  expect(of(engine)?.available).toBe(true)
  // Each look is some forty calls of the file system, one after another.
  await met(() => of(engine)?.available === false)
  expect(of(engine)).toMatchObject({ available: false, reason: expect.stringContaining('no file') })
  for (const one of [lost, engine]) expect((await outcome(one.close(), 100)).status).toBe('fulfilled')
  removeDirectory(folder)
})

test('a process of its own looks as long as the first call hangs: the folder may be back for all but that', async () => {
  const machine = new FakeMachine()
  const folder = join(temporaryDirectory(), 'silent-here')
  mkdirSync(folder)
  writeFileSync(join(folder, 'dev-wpost-2k.params'), '')
  const engine = await value(machine.engine({ allowDevelopmentParameters: true, parameterCache: folder }))
  const here = () => engine.capabilities().find(({ circuitId }) => circuitId === 'wpost-2k')
  expect(here()).toMatchObject({ available: false, reason: `no parameters: the folder ${folder} does not answer` })
  await met(() => here()?.available === true)
  rmSync(join(folder, 'dev-wpost-2k.params'))
  await met(() => here()?.available === false)
  expect(here()?.reason).toContain('no file')
  expect((await outcome(engine.close(), 100)).status).toBe('fulfilled')
  removeDirectory(dirname(folder))
})

test('that process is ended if it gets no answer either, or when nobody needs it; there is one at a time', async () => {
  const silent = new URL('../support/silent-child.js', import.meta.url)
  const limit = lookFromOutside('/gone', new AbortController().signal, silent)
  await until(() => children.length === 1)
  expect(await outcome(limit, 100)).toEqual({ status: 'fulfilled', value: undefined })
  const stop = new AbortController()
  const stopped = lookFromOutside('/gone', stop.signal, silent)
  stop.abort()
  expect(await value(stopped)).toBeUndefined()
  expect(await value(lookFromOutside('/gone', AbortSignal.abort(), silent))).toBeUndefined()
  expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL'])
  children.length = 0

  const present = new ParametersPresent('/gone')
  await value(present.look(), 100)
  const looks = [present.look(), present.look(), present.look()]
  expect(children).toHaveLength(1)
  present.close()
  await value(Promise.all(looks))
  expect(present.found('wpost-2k')).toBe('unknown')
  await value(present.look())
  expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL'])
})

test('an engine refuses the job by that name, obeys its abort and its deadline before, and closes', async () => {
  const machine = new FakeMachine()
  const engine = await value(machine.engine({ parameterCache: '/gone' }, { locate: locateParameters }))
  const abort = new AbortController()
  const aborted = outcome(engine.prove(windowRequest(), { signal: abort.signal }), 100)
  abort.abort('enough')
  expect(await aborted).toEqual({ status: 'rejected', reason: 'enough' })
  const deadline = new Date(Date.now() + 1_000)
  const late = await outcome(engine.prove({ ...windowRequest(), deadline }), 100)
  expect(late).toMatchObject({ reason: { code: 'ERR_DEADLINE_EXCEEDED' } })
  expect(Date.now()).toBeLessThan(deadline.getTime() + 500)
  const refused = await outcome(engine.prove(windowRequest()), 1_000)
  expect((refused as PromiseRejectedResult).reason).toBeInstanceOf(SrsUnavailableError)
  expect((await outcome(engine.close(), 100)).status).toBe('fulfilled')
  expect(machine.open).toBe(0)
})
