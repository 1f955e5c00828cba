/** The set-up as an embedder calls it: in a worker, with fresh secrets. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { shapeFingerprint } from '../../src/params/development-marker.ts'
import { bytesDigest } from '../../src/params/digest.ts'
import { statementOf } from '../../src/request/statement.ts'
import { developmentSetup, setupWith } from '../../src/srs/development-setup.ts'
import { verifyProof } from '../../src/verify-proof.ts'
import { windowRequest } from '../support/fixtures.ts'
import { openFiles, tellsOpenFiles } from '../support/open-files.ts'
import { openParameters, sha256 } from '../support/parameters.ts'
import { proveRequest } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { recordedToxic } from '../support/toxic.ts'
import { vectorJson } from '../support/vectors.ts'

// Seconds on an idle machine, minutes on one that does ten other things.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const directory = temporaryDirectory()
const shape = circuitShape('wpost-2k')

beforeAll(() => {
  process.env.XDG_CACHE_HOME = join(directory, 'cache')
})
afterAll(() => {
  delete process.env.XDG_CACHE_HOME
  removeDirectory(directory)
})

/** A new empty folder for one test. */
const folder = (name: string): string => {
  const path = join(directory, name)
  mkdirSync(path)
  return path
}

describe('developmentSetup', () => {
  it('makes parameters that prove and verify, with rising progress', async () => {
    const place = folder('fresh')
    const shares: number[] = []
    const files = await developmentSetup('wpost-2k', {
      directory: place,
      onProgress: (share) => void shares.push(share),
    })
    expect(readdirSync(place).sort()).toEqual(['dev-wpost-2k.json', 'dev-wpost-2k.params', 'dev-wpost-2k.vk'])
    expect(files.paramsFile).toBe(join(place, 'dev-wpost-2k.params'))
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBe(1)
    const marker = JSON.parse(readFileSync(join(place, 'dev-wpost-2k.json'), 'utf8'))
    expect(marker).toMatchObject({
      circuit_id: 'wpost-2k',
      circuit_fingerprint: shapeFingerprint(shape),
      params_bytes: 11_501_496,
      params_digest: bytesDigest(readFileSync(files.paramsFile)),
      vk_digest: bytesDigest(readFileSync(files.vkFile)),
    })

    const source = await openParameters(shape, place)
    const device = await CpuDevice.create({})
    try {
      const proof = await proveRequest(device, shape, source, windowRequest())
      const options = { parameterCache: place, allowDevelopmentParameters: true }
      expect(await verifyProof(windowRequest(), proof, options)).toBe(true)
      expect(await verifyProof(statementOf(windowRequest()), proof.reverse(), options)).toBe(false)
    } finally {
      await device.close()
      await source.close()
    }
  })

  it('with given secrets it is the same on every machine; without them it is new each time', async () => {
    const place = folder('given')
    const directory = pathToFileURL(`${place}/`)
    const { paramsFile, vkFile } = await setupWith('wpost-2k', { directory }, recordedToxic('2KiB', 'window'))
    const { params, vk } = vectorJson('2KiB/params.json').window
    expect(await sha256(paramsFile)).toBe(params.sha256)
    // Fresh secrets take their place, all files together.
    await developmentSetup('wpost-2k', { directory })
    expect(await sha256(paramsFile)).not.toBe(params.sha256)
    expect(await sha256(vkFile)).not.toBe(vk.sha256)
    expect(readdirSync(place).length).toBe(3)
    await (await openParameters(shape, place)).close()
  })

  it.each([0, 0.3, 0.8])('aborted at %f it rejects with the reason and leaves nothing', async (at) => {
    const place = folder(`abort-${at}`)
    const controller = new AbortController()
    const reason = new Error('changed my mind')
    const setup = developmentSetup('wpost-2k', {
      directory: place,
      signal: controller.signal,
      onProgress: (share) => {
        if (share > at) controller.abort(reason)
      },
    })
    if (at === 0) setTimeout(() => controller.abort(reason), 50)
    await expect(setup).rejects.toBe(reason)
    expect(readdirSync(place)).toEqual([])
  })

  it.runIf(tellsOpenFiles)('aborted while its threads start it leaves no file open', async () => {
    const place = folder('abort-start')
    const before = openFiles()
    let met = 0
    // The moment is short: on a busy machine some set-ups are over it before anybody looks, and end well.
    for (let nth = 0; met < 5 && nth < 20; nth++) {
      const controller = new AbortController()
      const looking = setInterval(() => {
        // What digests the files as they are written is a thread that the set-up's own thread starts.
        if (controller.signal.aborted || !openFiles().some((path) => path.includes('/srs/digest-'))) return
        met++
        controller.abort('enough')
      }, 0)
      try {
        await developmentSetup('wpost-2k', { directory: place, signal: controller.signal })
        expect(controller.signal.aborted).toBe(false)
      } catch (error) {
        expect(error).toBe('enough')
      } finally {
        clearInterval(looking)
      }
    }
    expect(met).toBe(5)
    await expect.poll(() => openFiles().length).toBeLessThanOrEqual(before.length)
  })

  it('is done when it tells of 1: the files are there, and an abort is too late', async () => {
    const place = folder('abort-at-the-end')
    const controller = new AbortController()
    const there: string[][] = []
    const files = await developmentSetup('wpost-2k', {
      directory: place,
      signal: controller.signal,
      onProgress: (share) => {
        if (share < 1) return
        there.push(readdirSync(place).sort())
        controller.abort(new Error('changed my mind'))
      },
    })
    expect(there).toEqual([['dev-wpost-2k.json', 'dev-wpost-2k.params', 'dev-wpost-2k.vk']])
    expect(readdirSync(place)).toHaveLength(3)
    await (await openParameters(shape, place)).close()
    expect(files.paramsFile).toBe(join(place, 'dev-wpost-2k.params'))
  })

  it('an onProgress that fails at 1 rejects, though the files are there', async () => {
    const place = folder('fails-at-the-end')
    const thrown = new Error('no progress bar')
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const onProgress = (share: number): void => {
      if (share < 1) return
      timers.mockClear()
      throw thrown
    }
    await expect(developmentSetup('wpost-2k', { directory: place, onProgress })).rejects.toBe(thrown)
    // There is no thread any more that would have to be ended a moment later.
    expect(timers).not.toHaveBeenCalled()
    timers.mockRestore()
    await (await openParameters(shape, place)).close()
  })

  it('an aborted signal starts nothing', async () => {
    const place = join(directory, 'never')
    const signal = AbortSignal.abort(new Error('early'))
    await expect(developmentSetup('wpost-2k', { directory: place, signal })).rejects.toThrow('early')
    expect(readdirSync(directory)).not.toContain('never')
  })

  it('a circuit that is too large for the CPU device is refused', async () => {
    const place = folder('refused')
    for (const circuitId of ['wpost-32g', 'wpost-64g'] as const) {
      await expect(developmentSetup(circuitId, { directory: place })).rejects.toMatchObject({
        code: 'ERR_UNSUPPORTED_PROOF',
        details: { field: 'circuitId', received: expect.stringContaining(circuitId) },
      })
    }
    expect(readdirSync(place)).toEqual([])
  })

  it('arguments of another kind are refused by name', async () => {
    await expect(developmentSetup('wpost-1k' as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTIONS',
      details: { field: 'circuitId', received: 'wpost-1k' },
    })
    for (const directory of [5, '', new URL('https://example.org/')]) {
      await expect(developmentSetup('wpost-2k', { directory: directory as never })).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTIONS',
        details: { field: 'directory' },
      })
    }
  })

  it('a folder that can not be written to is an error', async () => {
    const file = join(folder('occupied'), 'file')
    writeFileSync(file, '')
    await expect(developmentSetup('wpost-2k', { directory: file })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTIONS',
      details: { field: 'directory' },
    })
  })

  it('options of another kind are refused by name, and none is ignored', async () => {
    const bad = { threads: 0, relaxedSimd: 'yes', device: 'webgpu', onProgress: 5, signal: {}, diretory: directory }
    for (const [field, value] of Object.entries(bad)) {
      const options = { directory: join(directory, 'never'), [field]: value }
      await expect(developmentSetup('wpost-2k', options as never)).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTIONS',
        details: { field },
      })
    }
    await expect(developmentSetup('wpost-2k', null as never)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTIONS' })
    expect(readdirSync(directory)).not.toContain('never')
  })

  it('an onProgress that throws or rejects stops it, and nothing is left behind', async () => {
    const place = folder('progress')
    const thrown = new Error('no progress bar')
    const throwing = (): never => {
      throw thrown
    }
    for (const onProgress of [throwing, async (): Promise<never> => throwing()]) {
      await expect(developmentSetup('wpost-2k', { directory: place, onProgress })).rejects.toBe(thrown)
      expect(readdirSync(place)).toEqual([])
    }
  })
})
