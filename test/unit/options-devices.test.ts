/** Which devices the `gpu` options give on machines with various adapters, and how a stand-in is told of. */
import { describe, expect, test } from 'vitest'
import { type DevicePlan, planDevices } from '../../src/device/open-devices.ts'
import { createEngine } from '../../src/engine.ts'
import { GpuUnavailableError, InvalidOptionsError } from '../../src/errors.ts'
import { type GpuOptions, resolveOptions } from '../../src/options.ts'
import { type AdapterList, listAdapters } from '../../src/webgpu/list-adapters.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { window3Request } from '../support/fixtures.ts'

const NONE: AdapterList = { adapters: [] }
const card = (name: string, copy = 0, copies = 1, software = false) => ({
  name,
  backend: 'vulkan',
  software,
  copy,
  copies,
})
const SWIFTSHADER: AdapterList = { adapters: [card('SwiftShader Device', 0, 1, true)] }
const TWINS: AdapterList = {
  adapters: [card('NVIDIA H200', 0, 2), card('NVIDIA H200', 1, 2), card('Arc A770'), card('llvmpipe', 0, 1, true)],
}

const plan = (gpu: GpuOptions, list = NONE): Promise<DevicePlan> =>
  planDevices(resolveOptions({ gpu }), undefined, async () => list)
const names = async (gpu: GpuOptions, list = TWINS) => (await plan(gpu, list)).slots.map(({ name }) => name)

describe('without a GPU', () => {
  test('a driver that hangs while adapters are looked for is given up, and said to hang', async () => {
    const file = new URL('../support/silent-child.js', import.meta.url)
    const reason = 'the search for adapters failed: no answer within 0.2 s'
    expect(await listAdapters(undefined, { file, limitMs: 200 })).toEqual({ adapters: [], reason })
  })

  test('auto and cpu give the CPU device, and say why there is no GPU', async () => {
    expect(await plan({})).toMatchObject({
      slots: [{ name: 'CPU (WebAssembly)' }],
      gpuUnavailable: 'this machine has no adapter for WebGPU',
    })
    expect((await plan({ devices: 'cpu', fallback: 'never' })).slots.length).toBe(1)
    expect((await plan({})).fallback).toBeUndefined()
    expect((await plan({})).standIn).toBeUndefined()
  })

  test('case 19: with the CPU alone no adapter is ever looked for', async () => {
    const looked: string[] = []
    const list = async (): Promise<AdapterList> => {
      looked.push('looked')
      return NONE
    }
    await planDevices(resolveOptions({ gpu: { devices: 'cpu' } }), undefined, list)
    expect(looked).toEqual([])
    await planDevices(resolveOptions({}), undefined, list)
    expect(looked).toEqual(['looked'])
  })

  test('a software adapter is named as the reason, and taken only if it is allowed', async () => {
    expect((await plan({}, SWIFTSHADER)).gpuUnavailable).toContain('SwiftShader Device, a software adapter')
    expect(await names({ allowSoftware: true }, SWIFTSHADER)).toEqual(['SwiftShader Device'])
  })

  test('what keeps the package from loading is the reason', async () => {
    expect((await plan({}, { adapters: [], reason: 'the package webgpu is not there' })).gpuUnavailable).toContain(
      'the package webgpu is not there',
    )
  })

  test('GPUs asked for by name: the CPU device stands in, or there is an error', async () => {
    const devices = [{ adapter: 'Radeon' }, { adapter: 'Other' }]
    expect((await plan({ devices })).fallback).toBeInstanceOf(GpuUnavailableError)
    for (const gpu of [{ devices, fallback: 'never' }, { fallback: 'never' }] as const) {
      await expect(plan(gpu)).rejects.toBeInstanceOf(GpuUnavailableError)
    }
    await expect(plan({ devices, fallback: 'never' })).rejects.toThrow('Radeon')
  })
})

describe('with GPUs', () => {
  test('auto takes every hardware one, and the CPU device stands by unless it may not', async () => {
    expect(await names({})).toEqual(['NVIDIA H200', 'NVIDIA H200', 'Arc A770'])
    expect(await names({ allowSoftware: true })).not.toContain('llvmpipe')
    expect((await plan({}, TWINS)).standIn).toMatchObject({ kind: 'cpu', maxLog2Domain: 24 })
    expect((await plan({ fallback: 'never' }, TWINS)).standIn).toBeUndefined()
  })

  test('selectors take the first free one that matches, or the one of that number', async () => {
    expect(await names({ devices: [{ adapter: 'arc' }] })).toEqual(['Arc A770'])
    expect(await names({ devices: [{ adapter: 'H200' }, { adapter: 'H200' }] })).toEqual(['NVIDIA H200', 'NVIDIA H200'])
    expect(await names({ devices: [{ ordinal: 2 }] })).toEqual(['Arc A770'])
  })

  test('one that is missing is left out with its reason, or is an error', async () => {
    const devices = [{ adapter: 'Arc' }, { adapter: 'Radeon' }]
    const { slots } = await plan({ devices }, TWINS)
    expect(slots.map(({ name }) => name)).toEqual(['Arc A770', 'Radeon'])
    await expect(slots[1]?.start(new AbortController().signal)).rejects.toThrow('asked for: Radeon')
    await expect(plan({ devices, fallback: 'never' }, TWINS)).rejects.toThrow('Radeon')
  })

  test('threads can have the first of identical cards only', async () => {
    expect(await names({ isolation: 'thread' })).toEqual(['NVIDIA H200', 'Arc A770'])
    await expect(
      plan({ isolation: 'thread', devices: [{ adapter: 'H200', ordinal: 1 }] }, TWINS),
    ).rejects.toBeInstanceOf(InvalidOptionsError)
  })
})

describe('an engine', () => {
  test('that may not fall back is not created without a GPU', async () => {
    const gpu = { fallback: 'never', devices: [{ adapter: 'no such card' }] } as const
    await expect(createEngine({ gpu }, {})).rejects.toBeInstanceOf(GpuUnavailableError)
  })

  test('tells of each partition that the CPU device stands in for', async () => {
    const machine = new FakeMachine()
    const fallback = new GpuUnavailableError('no GPU')
    const modules = machine.modules()
    const engine = await createEngine(undefined, {
      ...modules,
      plan: async (options) => ({
        ...((await modules.plan?.(options)) ?? { slots: [] }),
        fallback,
        gpuUnavailable: 'none',
      }),
    })
    const seen = recordEvents(engine)
    await engine.prove(window3Request())
    expect(seen.filter((event) => event === 'fallback').length).toBe(2)
    expect(engine.status().gpuUnavailable).toBe('none')
    await engine.close()
  })
})
