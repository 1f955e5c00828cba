import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { bytesDigest, fileDigest, freshDigest, memoFile } from '../../src/params/digest.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const home = vi.hoisted(() => ({ missing: false }))
vi.mock('node:os', async (original) => {
  const os = await original<typeof import('node:os')>()
  const homedir = (): string => {
    if (home.missing) throw new Error('uv_os_homedir returned ENOENT')
    return os.homedir()
  }
  return { ...os, homedir }
})

const run = { signal: new AbortController().signal, unit: () => {} }
const bytes = Buffer.from('parameters')
let directory: string
let file: string

beforeEach(() => {
  directory = temporaryDirectory()
  file = join(directory, 'file.params')
  writeFileSync(file, bytes)
  vi.stubEnv('XDG_CACHE_HOME', join(directory, 'cache'))
})
afterEach(() => {
  home.missing = false
  vi.unstubAllEnvs()
  removeDirectory(directory)
})

test('a digest is that of the whole file, which is read in parts of 4 MiB', async () => {
  for (const length of [0, 4 * 2 ** 20, 3 * 4 * 2 ** 20 + 5]) {
    const all = Uint8Array.from({ length }, (_, i) => i ^ (i >>> 11) ^ (i >>> 19))
    writeFileSync(file, all)
    const shares: number[] = []
    expect(await freshDigest(file, { ...run, unit: (share) => shares.push(share) })).toBe(bytesDigest(all))
    expect(shares).toHaveLength(Math.ceil(length / (4 * 2 ** 20)))
  }
})

test('a process without a home computes digests and remembers none', async () => {
  vi.stubEnv('XDG_CACHE_HOME', '')
  home.missing = true
  expect(await fileDigest(file, run)).toBe(bytesDigest(bytes))
})

test('a cache that can not be written, or holds something else, is done without', async () => {
  const memo = memoFile()
  mkdirSync(join(directory, 'cache', 'wgzk'), { recursive: true })
  for (const files of ['null', `{ "${file}": null }`, `{ "${file}": 5 }`, '[]']) {
    writeFileSync(memo, `{ "version": 1, "files": ${files} }`)
    expect(await fileDigest(file, run)).toBe(bytesDigest(bytes))
  }
  vi.stubEnv('XDG_CACHE_HOME', file)
  expect(await fileDigest(file, run)).toBe(bytesDigest(bytes))
})

test('entries of files that are gone leave when the next is remembered', async () => {
  const other = join(directory, 'other.params')
  writeFileSync(other, bytes)
  await fileDigest(file, run)
  await fileDigest(other, run)
  const remembered = (): string[] => Object.keys(JSON.parse(readFileSync(memoFile(), 'utf8')).files)
  expect(remembered()).toEqual([file, other])
  rmSync(file)
  const third = join(directory, 'third.params')
  writeFileSync(third, bytes)
  await fileDigest(third, run)
  expect(remembered()).toEqual([other, third])
})

test('a memo that can not be written is told of, and no reason to fail', async () => {
  vi.stubEnv('XDG_CACHE_HOME', file)
  const notes: string[] = []
  expect(await fileDigest(file, { ...run, note: (message) => notes.push(message) })).toBe(bytesDigest(bytes))
  expect(notes).toEqual([expect.stringMatching(/^the digest of .*file\.params can't be remembered.*ENOTDIR/)])
})

test('case 9: many who remember at once leave a memo that is whole at every moment, and no part of one', async () => {
  const files = Array.from({ length: 20 }, (_, k) => join(directory, `${k}.params`))
  for (const name of files) writeFileSync(name, bytes)
  let reading = true
  let reads = 0
  const reader = (async () => {
    while (reading) {
      if (existsSync(memoFile())) {
        const { version, files: known } = JSON.parse(readFileSync(memoFile(), 'utf8'))
        expect([version, typeof known]).toEqual([1, 'object'])
        reads++
      }
      await new Promise(setImmediate)
    }
  })()
  const own = () => ({ ...run, signal: new AbortController().signal })
  const digests = await Promise.all(files.map((name) => fileDigest(name, own())))
  reading = false
  await reader
  expect(new Set(digests)).toEqual(new Set([bytesDigest(bytes)]))
  expect(reads).toBeGreaterThan(0)
  expect(readdirSync(join(directory, 'cache', 'wgzk'))).toEqual(['digests.json'])
})

test('a digest computed anew believes nothing that is remembered, and corrects it', async () => {
  const { size, mtimeNs } = statSync(file, { bigint: true })
  const files = { [file]: { bytes: Number(size), mtime: String(mtimeNs), digest: 'e'.repeat(32) } }
  mkdirSync(join(directory, 'cache', 'wgzk'), { recursive: true })
  writeFileSync(memoFile(), JSON.stringify({ version: 1, files }))
  expect(await fileDigest(file, run)).toBe('e'.repeat(32))
  expect(await freshDigest(file, run)).toBe(bytesDigest(bytes))
  expect(await fileDigest(file, run)).toBe(bytesDigest(bytes))
})
