/**
 * Every kernel on the software adapter, at WebGPU's default limits and without optional features: what any adapter has.
 * The launcher test/run.js sets the variables that the driver is found by.
 */
import { afterAll, beforeAll, describe, it } from 'vitest'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { checks } from '../gpu/checks/index.ts'
import { hasSoftwareGpu } from '../support/software-gpu.js'

if (!hasSoftwareGpu) console.warn('The software GPU is for x64 Linux: its kernel tests do not run here.')

describe.runIf(hasSoftwareGpu)('kernels on the software adapter', () => {
  let gpu: Gpu
  beforeAll(async () => {
    // Grids of more than a few workgroups have two dimensions, as those of more than 65,535 have.
    gpu = await Gpu.open({ allowSoftware: true, requiredLimits: {}, gridWidth: 3 })
  })
  afterAll(() => gpu?.close())

  // The first check of a group compiles its kernels, which the driver does slowly.
  for (const [name, check] of Object.entries(checks)) it(name, () => check(gpu), 300_000)
})
