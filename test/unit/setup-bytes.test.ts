/** Device memory of a set-up, against what it uploads and against memories of all sizes. */
import { describe, expect, test } from 'vitest'
import { type CircuitSize, circuitSize } from '../../src/budget/circuit-sizes.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { GpuOutOfMemoryError } from '../../src/errors.ts'
import { QUERIES } from '../../src/params/layout.ts'
import { tooLittleMemory } from '../../src/srs/setup-memory.ts'
import { planMade } from '../../src/webgpu/setup/made-plan.ts'
import { setupBytes, uploadedBytes } from '../../src/webgpu/setup/setup-bytes.ts'
import { setupInstances } from '../../src/webgpu/setup/setup-instances.ts'
import { transposePlan } from '../../src/webgpu/setup/transposed-terms.ts'
import { leastGpuBytes, planGpu, totalOf } from '../../src/webgpu/working-set.ts'

const GIB = 2 ** 30
const bindingBytes = 2 ** 31
const size = (id: CircuitId): CircuitSize => circuitSize(id) as CircuitSize

describe('a set-up', () => {
  test.each(['wpost-32g', 'porep-2k', 'snap-2k', 'winning-2k', 'wpost-2k'] as const)(
    'of %s adds up and uploads no more than is counted',
    { timeout: 60_000 },
    (id) => {
      const shape = circuitShape(id)
      const plan = transposePlan(shape.root, shape.inputs, shape.constraints)
      const slots = plan.places.get(shape.root)?.slots ?? 0
      expect(slots).toBeLessThan((shape.inputs + shape.aux) / 16)
      const { words } = setupInstances(plan, shape.inputs)
      const uploaded = plan.sides.reduce(
        (sum, { outputs, terms }) => sum + outputs.byteLength + terms.byteLength,
        words.byteLength + 32 * shape.coefficients.length,
      )
      expect(uploaded).toBeLessThan(uploadedBytes(shape))
    },
  )

  test('of porep-32g takes its columns of 4 GiB, one more while they are computed, and tables', () => {
    const { columns, points } = setupBytes(size('porep-32g'), { bindingBytes }, { g1: 2 ** 24, g2: 2 ** 23 })
    // 130,170,221 variables of 32 bytes, three times, and 130,278,869 Lagrange values.
    const values = 3 * 130_170_221 * 32
    expect(columns).toBeGreaterThan(values + 130_278_869 * 32)
    expect(columns).toBeLessThan(values + 130_278_869 * 32 + 0.6 * GIB)
    // A table of 13 windows of 2^19 multiples in G1, half a GiB of scalars.
    expect(points).toBeGreaterThan(values + 13 * 2 ** 19 * 96 + 2 ** 29)
    expect(points).toBeLessThan(22 * GIB)
  })
})

describe('a set-up that is written to files', () => {
  test('says what it takes where a GPU has too little', () => {
    const device = { name: 'a card', gpu: { bindingBytes }, rangePoints: () => 2 ** 24 }
    const shape = { circuitId: 'porep-32g', ...size('porep-32g') } as const
    const { columns, points } = setupBytes(shape, { bindingBytes }, { g1: 2 ** 24, g2: 2 ** 24 })
    // A range of 96 MiB, the encodings of three, and eight buffers of 16 MiB that these are read back through.
    const needed = Math.max(columns, points + (4 * 96 + 8 * 16) * 2 ** 20)
    const refused = new GpuOutOfMemoryError('No device memory for sums: 5 bytes', { details: { received: '5' } })
    expect(tooLittleMemory(refused, device, shape)).toMatchObject({
      code: 'ERR_GPU_OUT_OF_MEMORY',
      message: `development parameters of porep-32g take up to ${needed} bytes of device memory: ${refused.message}`,
      details: { device: 'a card', expected: `up to ${needed} bytes`, received: '5' },
      cause: refused,
    })
  })
})

describe('points that are made', () => {
  const circuit = size('porep-32g')
  const setup = setupBytes(circuit, { bindingBytes }, { g1: 2 ** 24, g2: 2 ** 23 })

  test('are all kept where they find room beside their set-up', () => {
    const { plan, leastBytes } = planMade(circuit, { memoryBytes: 120 * GIB, bindingBytes })
    expect(plan).toMatchObject(planGpu(circuit, { memoryBytes: 120 * GIB, bindingBytes }))
    expect(plan.setup).toEqual({ mostBytes: Math.max(setup.columns, setup.points), heldBytes: setup.points })
    expect(leastBytes).toBe(plan.shapeBytes + setup.points + totalOf(plan.kept))
    const unknown = planMade(circuit, { bindingBytes })
    expect(unknown.plan.kept).toEqual({})
  })

  test('share what there is with a set-up that stays', () => {
    for (const memoryBytes of [40 * GIB, 60 * GIB, 64 * GIB]) {
      const { plan, leastBytes } = planMade(circuit, { memoryBytes, bindingBytes })
      expect(QUERIES.every((query) => plan.kept[query] !== undefined)).toBe(false)
      expect(plan.shapeBytes + plan.workingBytes + totalOf(plan.kept) + setup.points).toBeLessThanOrEqual(memoryBytes)
      expect(leastBytes).toBe(leastGpuBytes(circuit, bindingBytes) + setup.points)
    }
  })

  test('need more than a card of 16 GiB has, which streams them from a file', () => {
    expect(planMade(circuit, { memoryBytes: 16 * GIB, bindingBytes }).leastBytes).toBeGreaterThan(16 * GIB)
    expect(leastGpuBytes(circuit, bindingBytes)).toBeLessThan(16 * GIB)
  })
})
