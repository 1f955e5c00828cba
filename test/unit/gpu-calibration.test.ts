/** A GPU is opened, tuned and used also where nothing of it can be remembered. */
import { expect, test, vi } from 'vitest'
import { GpuCalibration } from '../../src/device/gpu-calibration.ts'
import { DEFAULT_TUNING } from '../../src/webgpu/tuning.ts'
import type { WebGpuDevice } from '../../src/webgpu/webgpu-device.ts'

// As in a bundle, which package.json does not lie beside.
vi.mock('../../src/version.ts', () => ({
  packageVersion: () => {
    throw new Error('ENOENT: no such file or directory')
  },
}))

const details = { name: 'Voodoo 5', vendor: '3dfx', architecture: 'vsa', software: false, driver: 'Glide 3.10' }
const run = { signal: new AbortController().signal, unit: () => {} }

test('without the package’s version nothing is found, what is measured is used, and why it is not kept is told', async () => {
  const calibration = new GpuCalibration()
  expect(await calibration.find(details)).toBeUndefined()
  expect(calibration.inUse).toEqual({ source: 'default', tuning: DEFAULT_TUNING })
  expect(calibration.wanted(details)).toBe(true)
  const tuning = { ...DEFAULT_TUNING, workgroupSize: 128 }
  const measured = { tuning, additionsPerMs: 70_000, trials: [], compileMs: 1, deviceMs: 2 }
  const device = { details, calibrate: async () => measured } as unknown as WebGpuDevice
  expect(await calibration.measure(device, run)).toMatchObject({
    source: 'measured',
    tuning,
    notKept: 'ENOENT: no such file or directory',
  })
  expect(calibration.wanted(details)).toBe(false)
})
