import { afterAll, beforeAll, describe, it } from 'vitest'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { checks } from '../gpu/checks/index.ts'

// WebGPU's default limits and no optional feature: what every adapter has.
let gpu: Gpu
beforeAll(async () => {
  gpu = await Gpu.open({ allowSoftware: true, requiredLimits: {} })
})
afterAll(() => gpu.close())

describe('kernels on the software adapter', () => {
  for (const [name, check] of Object.entries(checks)) it(name, () => check(gpu))
})
