/**
 * A set-up on a GPU as an embedder calls it, on the software one: in a process of its own, with the reference's secrets
 * its bytes.
 */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { developmentSetup, setupWith } from '../../src/srs/development-setup.ts'
import { sha256 } from '../support/parameters.ts'
import { hasSoftwareGpu } from '../support/software-gpu.js'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { recordedToxic } from '../support/toxic.ts'
import { vectorJson } from '../support/vectors.ts'

const directory = temporaryDirectory()
afterAll(() => removeDirectory(directory))

const folder = (name: string): string => {
  const path = join(directory, name)
  mkdirSync(path)
  return path
}

describe.runIf(hasSoftwareGpu)('developmentSetup with a GPU', () => {
  test('makes the files that the reference makes', { timeout: 900_000 }, async () => {
    const place = folder('given')
    const shares: number[] = []
    const options = { directory: place, device: 'gpu', onProgress: (share: number) => void shares.push(share) } as const
    const files = await setupWith('wpost-2k', options, recordedToxic('2KiB', 'window'), true)
    const { params, vk } = vectorJson('2KiB/params.json').window
    expect(await sha256(files.paramsFile)).toBe(params.sha256)
    expect(await sha256(files.vkFile)).toBe(vk.sha256)
    expect(readdirSync(place).length).toBe(3)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBe(1)
  })

  test('aborted while the driver compiles, it ends at once and leaves nothing', { timeout: 120_000 }, async () => {
    const place = folder('aborted')
    const controller = new AbortController()
    const reason = new Error('changed my mind')
    setTimeout(() => controller.abort(reason), 4_000)
    const options = { directory: place, device: 'gpu', signal: controller.signal } as const
    await expect(setupWith('wpost-2k', options, undefined, true)).rejects.toBe(reason)
    expect(readdirSync(place)).toEqual([])
  })

  test('a software adapter is no GPU', { timeout: 120_000 }, async () => {
    const place = folder('software')
    await expect(developmentSetup('wpost-2k', { directory: place, device: 'gpu' })).rejects.toMatchObject({
      code: 'ERR_GPU_UNAVAILABLE',
    })
    expect(readdirSync(place)).toEqual([])
  })
})
