/**
 * A whole proof on the software adapter that is too long for `npm test`: with the reference's parameters and blinding
 * WinningPoSt of a real 2 KiB sector has the reference's bytes. At WebGPU's default limits, as
 * `test/kernels/webgpu.test.ts`, which does WindowPoSt.
 */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { longProofChecks } from '../gpu/checks/proofs.ts'
import { hasSoftwareGpu } from '../support/software-gpu.js'

const NAME = 'proof of winning-2k'

describe.runIf(hasSoftwareGpu)('whole proofs on the software adapter', () => {
  let gpu: Gpu
  beforeAll(async () => {
    gpu = await Gpu.open({ allowSoftware: true, requiredLimits: {} })
  })
  afterAll(() => gpu?.close())

  test(NAME, { timeout: 900_000 }, async () => {
    const check = longProofChecks[NAME]
    if (check === undefined) throw new Error(`no check ${NAME}`)
    await check(gpu)
  })
})
