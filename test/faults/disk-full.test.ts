/** A disk that is full when parameters, keys, markers or the memory of digests are written. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bytesDigest, fileDigest } from '../../src/params/digest.ts'
import { paramsLayout } from '../../src/params/layout.ts'
import { makeFolder } from '../../src/params/make-folder.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import { developmentSetup } from '../../src/srs/development-setup.ts'
import { requireSpace } from '../../src/srs/disk-space.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { makeDevelopmentParameters } from '../support/parameters.ts'
import { ReferenceDevice } from '../support/reference-device.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'

/** Files whose name matches take so many bytes; what comes then fails as on a disk that is full. */
const disk = vi.hoisted(() => ({ full: undefined as RegExp | undefined, takes: 0 }))

vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>()
  const noSpace = (): Error => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const isFull = (path: unknown): boolean => disk.full?.test(String(path)) ?? false
  const writeFile: typeof fs.writeFile = async (path, data, ...rest) => {
    if (!isFull(path)) return fs.writeFile(path, data, ...rest)
    await fs.writeFile(path, String(data).slice(0, disk.takes))
    throw noSpace()
  }
  const open: typeof fs.open = async (path, ...rest) => {
    const handle = await fs.open(path, ...rest)
    if (!isFull(path)) return handle
    let left = disk.takes
    const write = (async (bytes: Uint8Array, at: number, length: number, position: number) => {
      const count = Math.min(left, length)
      if (count === 0) throw noSpace()
      left -= count
      return await handle.write(bytes, at, count, position)
    }) as typeof handle.write
    return { write, close: () => handle.close() } as unknown as typeof handle
  }
  return { ...fs, default: fs, writeFile, open }
})

const shape = tinyCircuit()
const names = developmentFileNames(shape.circuitId)
const idle = { signal: new AbortController().signal, unit: () => {} }
let directory: string

beforeEach(() => {
  directory = temporaryDirectory()
  vi.stubEnv('XDG_CACHE_HOME', join(directory, 'cache'))
})
afterEach(() => {
  disk.full = undefined
  vi.unstubAllEnvs()
  removeDirectory(directory)
})

describe('parameters that have no room', () => {
  test.each([
    ['points', /\.params\..*tmp$/, 1_000, names.paramsFile],
    ['key', /\.vk\..*tmp$/, 100, names.vkFile],
    ['marker', /\.json\..*tmp$/, 10, names.markerFile],
  ] as const)(
    'when the %s are written: told of by file and bytes, nothing is left, what was there stays',
    async (_, full, takes, name) => {
      const folder = join(directory, 'parameters')
      mkdirSync(folder)
      for (const old of Object.values(names)) writeFileSync(join(folder, old), `old ${old}`)
      const files = {
        paramsFile: join(folder, names.paramsFile),
        vkFile: join(folder, names.vkFile),
        markerFile: join(folder, names.markerFile),
      }
      const make = () => makeDevelopmentParameters(new ReferenceDevice(), shape, files, '1-ab', idle)
      Object.assign(disk, { full, takes })
      const error = await proverErrorOf(make)
      expect(error).toMatchObject({
        code: 'ERR_SRS_UNAVAILABLE',
        retryable: true,
        details: { file: join(folder, name) },
      })
      expect(error.details.expected).toMatch(/^room for \d+ bytes$/)
      expect(error.message).toContain('ENOSPC')
      expect(readdirSync(folder).sort()).toEqual(Object.values(names).sort())
      for (const old of Object.values(names)) expect(readFileSync(join(folder, old), 'utf8')).toBe(`old ${old}`)

      // With room again the same call succeeds.
      disk.full = undefined
      await make()
      expect(readFileSync(files.paramsFile).length).toBe(paramsLayout(shape).fileBytes)
    },
  )

  test('are refused before the work begins, where the system says how much is free', async () => {
    const file = join(directory, 'a.params')
    const look =
      (bavail: number, blocks = 10) =>
      () =>
        Promise.resolve({ bavail, bsize: 4096, blocks })
    await requireSpace(file, 3 * 4096, look(3))
    const error = await proverErrorOf(() => requireSpace(file, 3 * 4096 + 1, look(3)))
    expect(error.details).toEqual({ file, expected: 'room for 12289 bytes', received: '12288 bytes are free' })
    // One that does not count, and one that does not say.
    await requireSpace(file, 1e15, look(0, 0))
    await requireSpace(file, 1e15, () => Promise.reject(new Error('ENOSYS')))
    expect((await proverErrorOf(() => requireSpace(file, Number.MAX_SAFE_INTEGER))).details.file).toBe(file)
  })

  test.runIf(process.platform === 'linux')('in a process of its own, up to a limit of the system', () => {
    const script = `
      import { developmentSetup } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
      try { await developmentSetup('wpost-2k', { directory: ${JSON.stringify(directory)}, threads: 1 }) }
      catch (error) { console.log(JSON.stringify(error)) }`
    const node = `ulimit -f 1000; exec ${JSON.stringify(process.execPath)} --input-type=module`
    const printed = execFileSync('bash', ['-c', node], {
      input: script,
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    })
    const { code, details } = JSON.parse(printed)
    expect([code, details.file]).toEqual(['ERR_SRS_UNAVAILABLE', join(directory, 'dev-wpost-2k.params')])
    expect(details.expected).toBe('room for 11501496 bytes')
    expect(readdirSync(directory).filter((name) => name !== 'cache')).toEqual([])
  })
})

test('a memory of digests that has no room is a remark, and leaves no part behind', async () => {
  const file = join(directory, 'a.params')
  writeFileSync(file, 'parameters')
  Object.assign(disk, { full: /digests\.json/, takes: 20 })
  const notes: string[] = []
  const run = { ...idle, note: (message: string) => void notes.push(message) }
  expect(await fileDigest(file, run)).toBe(bytesDigest(Buffer.from('parameters')))
  expect(notes).toEqual([expect.stringMatching(/can't be remembered.*ENOSPC/)])
  expect(readdirSync(join(directory, 'cache', 'wgzk'))).toEqual([])
})

describe('a folder', () => {
  test('is made with those above it, once', async () => {
    const deep = join(directory, 'a', 'b', 'c')
    await Promise.all([makeFolder(deep), makeFolder(deep)])
    await makeFolder(deep)
    expect(existsSync(deep)).toBe(true)
    writeFileSync(join(directory, 'file'), '')
    await expect(makeFolder(join(directory, 'file', 'x'))).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(makeFolder(join(directory, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  })

  test.runIf(existsSync('/proc/self'))('that can not exist is refused, where Node would try for ever', async () => {
    await expect(makeFolder('/proc/none/deeper')).rejects.toMatchObject({ code: 'ENOENT' })
    const error = await proverErrorOf(() => developmentSetup('wpost-2k', { directory: '/proc/none/deeper' }))
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTIONS', details: { field: 'directory' } })
    vi.stubEnv('XDG_CACHE_HOME', '/proc/none')
    const file = join(directory, 'a.params')
    writeFileSync(file, 'parameters')
    expect(await fileDigest(file, idle)).toBe(bytesDigest(Buffer.from('parameters')))
  })
})
