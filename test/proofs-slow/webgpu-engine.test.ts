/**
 * What takes the software GPU's driver minutes of compiling: a device in a thread of the engine's own process, and two devices in a
 * process each that work at once, as identical cards do.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasSoftwareGpu } from '../support/software-gpu.js'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { runWebGpuChild } from '../support/webgpu-scenario.ts'

const directory = temporaryDirectory()

beforeAll(async () => {
  const { developmentSetup } = await import('../../src/srs/development-setup.ts')
  await developmentSetup('wpost-2k', { directory })
}, 300_000)

afterAll(() => removeDirectory(directory))

describe.runIf(hasSoftwareGpu)('engines on the software GPU', { timeout: 900_000 }, () => {
  test('a device in a thread proves, and the process ends by itself', async () => {
    const { first, events } = await runWebGpuChild('thread', directory)
    expect(first).toEqual({ verified: true, length: 192 })
    expect(events).toEqual(['gpu closed'])
  })

  test('two devices prove the partitions of one request at once', async () => {
    const { first, most, gpus } = await runWebGpuChild('two', directory, 'window-3')
    expect(first).toEqual({ verified: true, length: 384 })
    expect(most).toBe(2)
    expect(gpus.length).toBe(2)
  })
})
