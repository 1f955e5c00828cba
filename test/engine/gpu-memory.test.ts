/** Memory that GPUs have of their own, as an engine reckons with it. */
import { describe, expect, it } from 'vitest'
import type { DeviceCircuit } from '../../src/device/device-client.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { windowRequest } from '../support/fixtures.ts'

describe('gpu.memoryBytes', () => {
  it('too small for a circuit, it is refused at once with the numbers, and proved with what was asked for', async () => {
    const machine = new FakeMachine({ kind: 'webgpu' })
    const engine = await machine.engine({ gpu: { memoryBytes: 2 ** 20 } })
    const refused = await engine.prove(windowRequest()).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'ERR_BUDGET_EXCEEDED',
      retryable: false,
      details: {
        field: 'gpu.memoryBytes',
        received: String(2 ** 20),
        expected: expect.stringMatching(/^at least \d+$/),
      },
    })
    expect(engine.capabilities().find(({ circuitId }) => circuitId === 'wpost-2k')).toMatchObject({
      available: false,
      reason: expect.stringContaining('gpu.memoryBytes is 1048576'),
    })
    expect([machine.calls('locate'), machine.calls('synthesize'), machine.calls('prove')]).toEqual([0, 0, 0])
    await engine.close()
    const { expected } = (refused as { details: { expected: string } }).details
    const memoryBytes = Number(expected.replace('at least ', ''))
    const enough = await new FakeMachine({ kind: 'webgpu' }).engine({ gpu: { memoryBytes } })
    expect((await enough.prove(windowRequest())).proof).toHaveLength(192)
    await enough.close()
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
