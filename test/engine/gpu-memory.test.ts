/** Memory that GPUs have of their own, as an engine reckons with it. */
import { describe, expect, it } from 'vitest'
import { type CircuitSize, circuitSize } from '../../src/budget/circuit-sizes.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import type { DeviceCircuit } from '../../src/device/device-client.ts'
import { leastGpuBytes } from '../../src/webgpu/working-set.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'

/** Of a device's memory, at WebGPU's default limits, which fake devices have. */
const leastFor = (circuitId: CircuitId): number => leastGpuBytes(circuitSize(circuitId) as CircuitSize, 2 ** 27)

describe('gpu.memoryBytes', () => {
  it('too small for a circuit, it is refused at once with the numbers, and proved with what was asked for', async () => {
    const machine = new FakeMachine({ kind: 'webgpu' })
    const engine = await machine.engine({ gpu: { memoryBytes: leastFor('wpost-2k') } })
    expect((await engine.prove(windowRequest())).proof).toHaveLength(192)
    const calls = machine.log.length
    const refused = await proverErrorOf(() => engine.prove(winningRequest()))
    expect(refused).toMatchObject({
      code: 'ERR_BUDGET_EXCEEDED',
      retryable: false,
      details: {
        field: 'gpu.memoryBytes',
        received: String(leastFor('wpost-2k')),
        expected: `at least ${leastFor('winning-2k')}`,
      },
    })
    expect(engine.capabilities().find(({ circuitId }) => circuitId === 'winning-2k')).toMatchObject({
      available: false,
      reason: expect.stringContaining(`gpu.memoryBytes is ${leastFor('wpost-2k')}`),
    })
    expect(machine.log).toHaveLength(calls)
    await engine.close()
    const enough = await new FakeMachine({ kind: 'webgpu' }).engine({ gpu: { memoryBytes: leastFor('winning-2k') } })
    expect((await enough.prove(winningRequest())).proof).toHaveLength(192)
    await enough.close()
  })

  it('too small for every circuit, no engine is made, unless another device stands in', async () => {
    const gpu = { memoryBytes: leastFor('wpost-2k') - 1 }
    const machine = new FakeMachine({ kind: 'webgpu' })
    const refused = await proverErrorOf(() => machine.engine({ gpu }))
    expect(refused).toMatchObject({
      code: 'ERR_INVALID_OPTIONS',
      details: {
        field: 'gpu.memoryBytes',
        received: String(gpu.memoryBytes),
        expected: `at least ${leastFor('wpost-2k')}`,
      },
    })
    expect(machine.open).toBe(0)
    const engine = await new FakeMachine({ kind: 'webgpu', standIn: true }).engine({ gpu })
    expect((await engine.prove(windowRequest())).proof).toHaveLength(192)
    await engine.close()
  })

  it('says nothing of the CPU device, nor where it is not set', async () => {
    for (const [kind, gpu] of [
      ['cpu', { memoryBytes: 1 }],
      ['webgpu', {}],
    ] as const) {
      const engine = await new FakeMachine({ kind }).engine({ gpu })
      expect((await engine.prove(windowRequest())).proof).toHaveLength(192)
      await engine.close()
    }
  })
})

describe('points on a device', () => {
  it('are told of as it says: all kept, or a part, or none', async () => {
    for (const [keptBytes, streamedBytes, residency] of [
      [1000, 0, 'device'],
      [400, 600, 'streamed'],
      [0, 1000, 'streamed'],
    ] as const) {
      const machine = new FakeMachine({ kind: 'webgpu' })
      const engine = await machine.engine()
      const [client] = machine.clients
      if (client === undefined) throw new Error('no device')
      const told: DeviceCircuit[] = []
      client.warm = async (circuit) => {
        told.push(circuit as DeviceCircuit)
        return { keptBytes, streamedBytes } as never
      }
      await engine.prove(windowRequest())
      expect(engine.status().srs).toMatchObject([{ circuitId: 'wpost-2k', bytes: keptBytes, residency }])
      expect(told).toMatchObject([{ circuitId: 'wpost-2k', keepPoints: true, setAside: false }])
      // The host's memory holds none of them.
      expect(engine.status().shapes).toMatchObject([{ circuitId: 'wpost-2k', bytes: engine.status().memory.usedBytes }])
      await engine.close()
      expect(engine.status().srs).toEqual([])
    }
  })
})
