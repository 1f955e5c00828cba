/** Assignments of real sectors: every aux variable as the bigint walk of the shape derives it, and h through the rows. */
import assert from 'node:assert/strict'
import { circuitShape } from '../../../src/circuit/circuit-shape.ts'
import { WasmPoseidonHasher } from '../../../src/cpu/poseidon.ts'
import { takeOver } from '../../../src/request/partitions.ts'
import type { ProofRequest } from '../../../src/request/proof-request.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { checkAndSynthesize } from '../../../src/synthesis/synthesize.ts'
import { GpuAssignment } from '../../../src/webgpu/assignment/gpu-assignment.ts'
import { GpuShape } from '../../../src/webgpu/assignment/gpu-shape.ts'
import { assign } from '../../support/circuits.ts'
import { windowRequest } from '../../support/fixtures.ts'
import { type Check, plainOf, readWords } from '../harness.ts'

const run = { signal: new AbortController().signal, unit: () => {} }

const derived =
  (request: () => ProofRequest): Check =>
  async (gpu) => {
    const validated = validateRequest(request())
    const shape = circuitShape(validated.circuitId)
    const [partition] = await takeOver(validated)
    assert(partition !== undefined)
    const witness = await checkAndSynthesize(partition, new WasmPoseidonHasher(), run)
    const used = gpu.usedBytes
    const gpuShape = await GpuShape.load(gpu, shape)
    const assignment = await GpuAssignment.create(gpu, gpuShape, witness, run)
    const expected = assign(shape, witness)
    const { buffer, first } = await assignment.scalars('l', 0, shape.aux)
    const words = await readWords(gpu, buffer, 8 * (first + shape.aux))
    for (let i = 0; i < shape.aux; i++) {
      const at = 8 * (first + i)
      assert.equal(plainOf(words.subarray(at, at + 8)), expected.aux[i], `aux variable ${i} of ${shape.circuitId}`)
    }
    assignment.release()
    gpuShape.release()
    assert.equal(gpu.usedBytes, used, 'every buffer is released')
  }

export const assignmentChecks: Record<string, Check> = {
  'assignment of wpost-2k': derived(windowRequest),
}
