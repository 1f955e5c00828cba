/**
 * The built package with real threads, each scenario in a process of its own: it must end by itself after `close()`,
 * with no thread, timer or file left.
 */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nodeFlags } from '../../scripts/node-flags.js'
import { bytesFor } from '../support/budget.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const child = fileURLToPath(new URL('../support/engine-child.js', import.meta.url))
const vectors = (name: string): string => fileURLToPath(new URL(`../vectors/2KiB/a/${name}`, import.meta.url))
const directory = temporaryDirectory()
const cache = join(directory, 'cache')

// biome-ignore lint/suspicious/noExplicitAny: each scenario has its own form, and tests check what they read
type ScenarioResult = any

async function run(
  scenario: string,
  folder = 'window',
  flags = nodeFlags(),
  variables: NodeJS.ProcessEnv = {},
): Promise<ScenarioResult> {
  const before = readdirSync(directory)
  const env = { ...process.env, XDG_CACHE_HOME: cache, ...variables }
  const started = spawn(process.execPath, [...flags, child, scenario, directory, vectors(folder)], { env })
  let [output, errors] = ['', '']
  started.stdout.on('data', (data) => {
    output += data
  })
  started.stderr.on('data', (data) => {
    errors += data
  })
  let told: number | undefined
  started.stdout.once('end', () => {
    told = performance.now()
  })
  const timer = setTimeout(() => started.kill('SIGKILL'), 110_000)
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    started.on('exit', (...ended) => resolve(ended)),
  )
  clearTimeout(timer)
  expect({ code, signal, errors }).toEqual({ code: 0, signal: null, errors: '' })
  if (told !== undefined) expect(performance.now() - told).toBeLessThan(5_000)
  const result = JSON.parse(output)
  expect(result.resources.filter((name: string) => /Worker|MessagePort|Timeout|FSReq|FileHandle/.test(name))).toEqual(
    [],
  )
  expect(readdirSync(directory).filter((file) => file !== 'cache')).toEqual(before.filter((file) => file !== 'cache'))
  return result
}

beforeAll(async () => {
  const { developmentSetup } = await import('../../src/srs/development-setup.ts')
  await developmentSetup('wpost-2k', { directory })
}, 300_000)

afterAll(() => removeDirectory(directory))

describe('a process of its own', () => {
  test('proves two partitions, verified, with progress, and ends', async () => {
    const result = await run('success', 'window-3')
    expect(result).toMatchObject({ verified: true, length: 384, development: true, closed: 'closed', usedBytes: 0 })
    expect(result.fractions).toEqual([...result.fractions].sort((a: number, b: number) => a - b))
    expect(result.fractions.at(-1)).toBe(1)
    expect(result.fractions.length).toBeGreaterThan(5)
    expect(result.loopDelayMs).toBeLessThan(50)
    expect(result.timings.gpuMs).toBeGreaterThan(0)
    expect(result.device).toContain('CPU')
    // In CPU time of all threads: the machine may be busy with something else.
    expect(result.createCpuMs).toBeLessThan(2_000)
  })

  test('refuses a wrong path and missing parameters, and ends', async () => {
    const { bad, missing } = await run('failure')
    expect(bad.code).toBe('ERR_INVALID_REQUEST')
    expect(bad.details.sector).toBeDefined()
    expect(missing.code).toBe('ERR_SRS_UNAVAILABLE')
    expect(missing.details.file).toContain(join(directory, 'none'))
  })

  test('refuses development parameters that were not allowed', async () => {
    expect((await run('not-allowed')).refused.code).toBe('ERR_DEVELOPMENT_PARAMETERS')
  })

  test('is aborted while it synthesizes and while it proves, proves after it, and ends', { retry: 2 }, async () => {
    const { synthesizing, gpu, verified } = await run('abort')
    expect(verified).toBe(true)
    expect(synthesizing).toMatchObject({ message: 'while synthesizing' })
    expect(gpu).toMatchObject({ message: 'while gpu' })
    expect(Math.max(synthesizing.ms, gpu.ms)).toBeLessThan(250)
  })

  test('is closed by force while it proves, and ends', async () => {
    const { outcome, closing } = await run('force')
    expect(outcome.code).toBe('ERR_ENGINE_CLOSED')
    expect(closing.code).toBeUndefined()
  })

  test('preloads, proves with integers on one thread, and ends', async () => {
    const { srs, timings, warm } = await run('preload', 'window', [])
    expect(srs).toMatchObject([{ circuitId: 'wpost-2k', development: true }])
    expect(warm).toMatchObject([{ circuitId: 'wpost-2k', available: true }])
    expect(timings.srsLoadMs).toBeLessThan(1_000)
  })

  test('scenarios 1 and 5: proves two jobs of two partitions one after another in a budget for one partition', async () => {
    const totalBytes = bytesFor('wpost-2k', availableParallelism())
    const result = await run('two-jobs', 'window-3', nodeFlags(), { WGZK_TEST_BYTES: String(totalBytes) })
    expect(result.order).toEqual(result.arrived.flatMap((name: string) => [`${name} 0`, `${name} 1`]))
    expect(result.verified).toEqual([true, true])
    expect(result.most).toBeGreaterThan(totalBytes / 2)
    expect(result.most).toBeLessThanOrEqual(totalBytes)
    expect(result.usedBytes).toBe(0)
  })

  test('gives up while it is created, and ends', async () => {
    const { creating, openModules } = await run('create-aborted')
    expect(creating[0].message).toBe('never mind')
    // Threads that were ended while they loaded their modules would have left some.
    expect(openModules).toEqual([])
  })
})
