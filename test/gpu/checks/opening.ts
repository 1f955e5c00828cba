/** What is told of an adapter that refuses a device. */
import assert from 'node:assert/strict'
import { Gpu } from '../../../src/webgpu/gpu.ts'
import type { Check } from '../harness.ts'

const refused: Check = async ({ info, limits }) => {
  const open = (requiredLimits: Record<string, number>): Promise<Gpu> =>
    Gpu.open({ allowSoftware: info.software, requiredLimits })
  await assert.rejects(open({ maxTurns: 1 }), { code: 'ERR_GPU_UNAVAILABLE', message: /refused .*maxTurns/ })
  const maxBufferSize = 2 ** 52
  assert(limits.maxBufferSize < maxBufferSize)
  await assert.rejects(open({ maxBufferSize }), { code: 'ERR_GPU_UNAVAILABLE', message: /refused .*maxBufferSize/ })
}

export const openingChecks: Readonly<Record<string, Check>> = { 'limits that an adapter does not have': refused }
