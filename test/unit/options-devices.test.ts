/** Which devices the `gpu` options give, and how a stand-in is told of. */
import { describe, expect, test } from 'vitest'
import { planDevices } from '../../src/device/open-devices.ts'
import { createEngine } from '../../src/engine.ts'
import { GpuUnavailableError } from '../../src/errors.ts'
import { type GpuOptions, resolveOptions } from '../../src/options.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { window3Request } from '../support/fixtures.ts'

const plan = (gpu: GpuOptions) => planDevices(resolveOptions({ gpu }))

describe('devices', () => {
  test('auto and cpu give the CPU device, and say why there is no GPU', () => {
    expect(plan({})).toMatchObject({ slots: [{ name: 'CPU (WebAssembly)' }], gpuUnavailable: expect.any(String) })
    expect(plan({ devices: 'cpu', fallback: 'never' }).slots.length).toBe(1)
    expect(plan({}).fallback).toBeUndefined()
  })

  test('GPUs asked for by name: the CPU device stands in, or there is an error', () => {
    const devices = [{ adapter: 'Radeon' }, { adapter: 'Arc' }]
    expect(plan({ devices }).fallback).toBeInstanceOf(GpuUnavailableError)
    for (const gpu of [{ devices, fallback: 'never' }, { fallback: 'never' }] as const) {
      expect(() => plan(gpu)).toThrow(GpuUnavailableError)
    }
    expect(() => plan({ devices, fallback: 'never' })).toThrow('Radeon, Arc')
  })

  test('an engine that may not fall back is not created', async () => {
    await expect(createEngine({ gpu: { fallback: 'never' } }, {})).rejects.toBeInstanceOf(GpuUnavailableError)
  })

  test('each partition that the CPU device stands in for is told of', async () => {
    const machine = new FakeMachine()
    const fallback = new GpuUnavailableError('no GPU')
    const modules = machine.modules()
    const engine = await createEngine(undefined, {
      ...modules,
      plan: (options) => ({ ...(modules.plan?.(options) ?? { slots: [] }), fallback, gpuUnavailable: 'none' }),
    })
    const seen = recordEvents(engine)
    await engine.prove(window3Request())
    expect(seen.filter((event) => event === 'fallback').length).toBe(2)
    expect(engine.status().gpuUnavailable).toBe('none')
    await engine.close()
  })
})
