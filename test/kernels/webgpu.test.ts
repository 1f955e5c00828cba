import { afterAll, beforeAll, describe, it } from 'vitest'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { batchAffineChecks } from '../gpu/checks/batch-affine.ts'
import { fieldChecks } from '../gpu/checks/field.ts'
import { multiexpChecks } from '../gpu/checks/multiexp.ts'
import { nttChecks } from '../gpu/checks/ntt.ts'

// WebGPU's default limits and no optional feature: what every adapter has.
let gpu: Gpu
beforeAll(async () => {
  gpu = await Gpu.open({ allowSoftware: true, requiredLimits: {} })
})
afterAll(() => gpu.close())

describe('kernels on the software adapter', () => {
  for (const [name, check] of Object.entries({ ...fieldChecks, ...batchAffineChecks, ...multiexpChecks, ...nttChecks }))
    it(name, () => check(gpu))
})
