import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  calibrationFile,
  calibrationKey,
  readCalibration,
  type StoredCalibration,
  writeCalibration,
} from '../../src/device/calibration-file.ts'
import { cacheFolder } from '../../src/params/cache-folder.ts'
import { asTuning, DEFAULT_TUNING, firstUnitOf } from '../../src/webgpu/tuning.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const info = { name: 'Voodoo 5', vendor: '3dfx', architecture: 'vsa', software: false, driver: 'Glide 3.10' }
const stored: StoredCalibration = {
  tuning: { workgroupSize: 128, inversionBatch: 32, bucketCost: 1.5, firstUnit: 2 ** 20 },
  additionsPerMs: 70_000,
  trials: [
    {
      what: 'window',
      tried: [
        { value: 15, ms: 12 },
        { value: 16, ms: 11 },
      ],
      chosen: 16,
    },
  ],
  measuredAt: '2026-11-30T18:00:00.000Z',
}

let folder: string
beforeEach(() => {
  folder = temporaryDirectory()
  vi.stubEnv('XDG_CACHE_HOME', folder)
})
afterEach(() => {
  vi.unstubAllEnvs()
  removeDirectory(folder)
})

describe('a remembered calibration', () => {
  test('is read as it was written, by the same adapter only', async () => {
    const key = calibrationKey(info)
    expect(await readCalibration(key)).toBeUndefined()
    await writeCalibration(key, stored)
    expect(await readCalibration(key)).toEqual(stored)
    expect(await readCalibration(calibrationKey(info))).toEqual(stored)
    for (const other of [{ name: 'Voodoo 4' }, { driver: 'Glide 3.11' }, { vendor: '' }, { architecture: '' }])
      expect(await readCalibration(calibrationKey({ ...info, ...other }))).toBeUndefined()
    expect(await readCalibration({ ...key, version: '0.0.9' })).toBeUndefined()
    expect(await readCalibration({ ...key, kernels: '' })).toBeUndefined()
    await writeCalibration(key, { ...stored, additionsPerMs: 1 })
    expect(await readCalibration(key)).toMatchObject({ additionsPerMs: 1 })
    expect(readdirSync(join(folder, 'wgzk'))).toHaveLength(1)
  })

  test('is worth nothing if it is anything else, and is replaced then', async () => {
    const key = calibrationKey(info)
    const file = calibrationFile(key)
    await writeCalibration(key, stored)
    const good = JSON.parse(readFileSync(file, 'utf8'))
    const tunings = [
      { workgroupSize: 48 },
      { workgroupSize: '64' },
      { workgroupSize: 256 },
      { inversionBatch: 0 },
      { inversionBatch: 8 },
      { bucketCost: 0 },
      { bucketCost: 1e9 },
      { bucketCost: null },
      { firstUnit: 0.5 },
      { firstUnit: 2 ** 40 },
      { firstUnit: undefined },
    ].map((part) => JSON.stringify({ ...good, tuning: { ...good.tuning, ...part } }))
    const contents = [
      ...tunings,
      '',
      'null',
      '[]',
      '{"format":1}',
      JSON.stringify(good).slice(0, -20),
      JSON.stringify({ ...good, format: 2 }),
      JSON.stringify({ ...good, key: { ...key, adapter: 'another' } }),
      JSON.stringify({ ...good, measuredAt: 'yesterday' }),
      JSON.stringify({ ...good, additionsPerMs: '1' }),
      JSON.stringify({ ...good, additionsPerMs: -1 }),
      JSON.stringify(good).replace(/"additionsPerMs":[^,]*/, '"additionsPerMs":1e999'),
      JSON.stringify({ ...good, trials: {} }),
      `${JSON.stringify(good)}${' '.repeat(2 ** 16)}x`,
    ]
    for (const content of contents) {
      writeFileSync(file, content)
      expect(await readCalibration(key), content.slice(0, 300)).toBeUndefined()
    }
    await writeCalibration(key, stored)
    expect(await readCalibration(key)).toEqual(stored)
    // Trials are shown only: those that are none are left out.
    writeFileSync(
      file,
      JSON.stringify({ ...good, trials: [...good.trials, 7, { what: 'window', tried: [{}], chosen: 1 }] }),
    )
    expect(await readCalibration(key)).toEqual(stored)
    rmSync(file)
    mkdirSync(file)
    expect(await readCalibration(key)).toBeUndefined()
  })

  test('a folder that is no folder, or none to write to, is no reason to fail but for the writing', async () => {
    const key = calibrationKey(info)
    writeFileSync(join(folder, 'wgzk'), '')
    expect(await readCalibration(key)).toBeUndefined()
    await expect(writeCalibration(key, stored)).rejects.toThrow()
    rmSync(join(folder, 'wgzk'))
    symlinkSync('/proc/wgzk', join(folder, 'wgzk'))
    await expect(writeCalibration(key, stored)).rejects.toThrow()
    expect(await readCalibration(key)).toBeUndefined()
    if (process.getuid?.() === 0) return
    rmSync(join(folder, 'wgzk'))
    chmodSync(folder, 0o500)
    await expect(writeCalibration(key, stored)).rejects.toThrow(/EACCES/)
    chmodSync(folder, 0o700)
    expect(existsSync(join(folder, 'wgzk'))).toBe(false)
  })
})

test('the folder is that of the platform', () => {
  expect(cacheFolder('linux', { XDG_CACHE_HOME: '/x' })).toBe('/x/wgzk')
  expect(cacheFolder('linux', { XDG_CACHE_HOME: '', LOCALAPPDATA: '/y' })).toBe(join(homedir(), '.cache', 'wgzk'))
  expect(cacheFolder('darwin', {})).toBe(join(homedir(), 'Library', 'Caches', 'wgzk'))
  expect(cacheFolder('win32', { LOCALAPPDATA: '/y' })).toBe(join('/y', 'wgzk'))
  expect(cacheFolder('win32', {})).toBe(join(homedir(), '.cache', 'wgzk'))
})

test('the folder is never below the working directory', () => {
  expect(cacheFolder('linux', { XDG_CACHE_HOME: 'here' })).toBe(join(homedir(), '.cache', 'wgzk'))
  for (const platform of ['linux', 'darwin'] as const)
    expect(() => cacheFolder(platform, {}, () => '')).toThrow('no home: the environment says ""')
  expect(cacheFolder('linux', { XDG_CACHE_HOME: '/x' }, () => '')).toBe('/x/wgzk')
})

test('a tuning is within what a calibration finds', () => {
  expect(asTuning({ ...DEFAULT_TUNING, more: 1 })).toEqual(DEFAULT_TUNING)
  for (const perMs of [0, 1e-9, 20, 1_500_000, 1e12]) {
    expect(asTuning({ ...DEFAULT_TUNING, firstUnit: firstUnitOf(perMs) })).toBeDefined()
  }
  // 16 ms of 64,000 additions each.
  expect(firstUnitOf(2 ** 16)).toBe(2 ** 20)
})
