/**
 * A file system that does not answer, as a server that is gone: pipes that nobody writes to, which a call to open waits
 * for. What can be told in time is told with the file's name, and no promise waits for the call.
 */
import { closeSync, constants, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { WorkerDeviceClient } from '../../src/device/device-client.ts'
import { STOP_LIMIT_MS } from '../../src/device/link.ts'
import { bytesDigest, fileDigest, memoFile } from '../../src/params/digest.ts'
import type { ParametersLocation, ReadRun } from '../../src/params/parameters-location.ts'
import { openVerifyingKey, SrsFile } from '../../src/params/srs-file.ts'
import { answered, closeFile } from '../../src/params/waiting.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { delay } from '../support/fake-device.ts'
import { openFiles } from '../support/open-files.ts'
import { hasSilentFiles, letAnswer, makeSilent } from '../support/silent-file.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'

const shape = tinyCircuit()
const LIMIT_MS = 100

let directory: string
let pipes: string[]

beforeEach(() => {
  directory = temporaryDirectory()
  pipes = []
  vi.stubEnv('XDG_CACHE_HOME', join(directory, 'cache'))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  // Calls that wait return, so that this process can end; what they opened is closed then.
  for (const pipe of pipes) letAnswer(pipe)
  await vi.waitFor(async () => expect(openHandles()).toEqual([]), { timeout: 5_000 })
  removeDirectory(directory)
})

function silentFile(name: string): string {
  const path = join(directory, name)
  makeSilent(path)
  pipes.push(path)
  return path
}

/** Open handles of this process on files of the test's folder. */
const openHandles = (): string[] => openFiles().filter((path) => path.startsWith(directory))

const run = (signal: AbortSignal = new AbortController().signal): ReadRun => ({
  signal,
  unit: () => {},
  answerMs: LIMIT_MS,
})

function locationOf(files: { paramsFile: string; vkFile: string; vkDigest?: string }): ParametersLocation {
  const { circuitId } = shape
  return { circuitId, development: true, paramsDigest: '0'.repeat(32), vkDigest: '1'.repeat(32), ...files }
}

describe.runIf(hasSilentFiles)('a file that does not answer', () => {
  test('fails the load by its name after a time, the key as well as the points', async () => {
    const paramsFile = silentFile('a.params')
    const vkFile = join(directory, 'a.vk')
    writeFileSync(vkFile, 'key')
    const vkDigest = bytesDigest(Buffer.from('key'))
    const points = await proverErrorOf(() => SrsFile.open(locationOf({ paramsFile, vkFile, vkDigest }), shape, run()))
    expect(points).toMatchObject({ code: 'ERR_SRS_UNAVAILABLE', retryable: true, details: { file: paramsFile } })
    expect(points.message).toContain(`no answer within ${LIMIT_MS} ms`)

    const silentKey = silentFile('b.vk')
    const key = await proverErrorOf(() => SrsFile.open(locationOf({ paramsFile, vkFile: silentKey }), shape, run()))
    expect(key).toMatchObject({ code: 'ERR_SRS_UNAVAILABLE', details: { file: silentKey } })
  })

  test('keeps nobody who aborts waiting', async () => {
    const vkFile = silentFile('a.vk')
    const paramsFile = join(directory, 'a.params')
    const abort = new AbortController()
    const opening = [
      SrsFile.open(locationOf({ paramsFile, vkFile }), shape, { ...run(abort.signal), answerMs: 60_000 }),
      openVerifyingKey(locationOf({ paramsFile, vkFile }), undefined, abort.signal),
      fileDigest(vkFile, { ...run(abort.signal), answerMs: 60_000 }),
    ]
    const settled = Promise.allSettled(opening)
    await delay(30)
    const from = performance.now()
    abort.abort('enough')
    expect(await settled).toEqual(Array(3).fill({ status: 'rejected', reason: 'enough' }))
    expect(performance.now() - from).toBeLessThan(200)
  })

  test('leaves nothing open behind an abort if it answers soon', async () => {
    const path = join(directory, 'a.params')
    writeFileSync(path, 'points')
    const { open } = await import('node:fs/promises')
    const abort = new AbortController()
    let closed = false
    const close = (handle: FileHandle): Promise<void> =>
      closeFile(handle).then(() => {
        closed = true
      })
    const opening = delay(10).then(() => open(path))
    const waiting = answered(path, opening, { signal: abort.signal, late: close })
    abort.abort('enough')
    // Whoever is told may end the thread at once.
    await expect(waiting).rejects.toBe('enough')
    expect(closed).toBe(true)
  })

  test('keeps a real device neither from an abort nor from other work', async () => {
    const spec = { kind: 'cpu', threads: 1, relaxedSimd: 'never' } as const
    const client = await WorkerDeviceClient.start(spec, 'a device that reads')
    const parameters = { ...locationOf({ paramsFile: join(directory, 'a.params'), vkFile: silentFile('a.vk') }) }
    const circuit = {
      circuitId: 'wpost-2k',
      parameters: { ...parameters, circuitId: 'wpost-2k' },
      keepPoints: false,
    } as const
    const abort = new AbortController()
    const loading = client.warm(circuit, { signal: abort.signal }).then(
      () => 'loaded',
      (reason) => reason,
    )
    await delay(500)
    const from = performance.now()
    abort.abort('enough')
    expect(await loading).toBe('enough')
    // Far below what ends a worker that does not stop.
    expect(performance.now() - from).toBeLessThan(STOP_LIMIT_MS / 2)
    await client.selfTest({})
    // Else the thread could not end, and what it opened would stay open in this process.
    for (const pipe of pipes) letAnswer(pipe)
    await delay(50)
    await client.close()
  })

  test('is closed when it answers after all', async () => {
    const pipe = silentFile('late.params')
    const { open } = await import('node:fs/promises')
    const error = await proverErrorOf(() => answered(pipe, open(pipe), { limitMs: LIMIT_MS, late: closeFile }))
    expect(error.code).toBe('ERR_SRS_UNAVAILABLE')
    const writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
    await delay(50)
    closeSync(writer)
    expect(openHandles()).toEqual([])
  })

  test('that remembers digests is done without', async () => {
    mkdirSync(join(directory, 'cache', 'wgzk'), { recursive: true })
    silentFile(join('cache', 'wgzk', 'digests.json'))
    expect(existsSync(memoFile())).toBe(true)
    const file = join(directory, 'file.params')
    writeFileSync(file, 'parameters')
    const from = performance.now()
    expect(await fileDigest(file, run())).toBe(bytesDigest(Buffer.from('parameters')))
    expect(performance.now() - from).toBeGreaterThanOrEqual(LIMIT_MS)
  })
})
