/**
 * What several partitions on one device are to each other: no gap between two, one pass for many, no fault of another.
 */
import { describe, expect, test } from 'vitest'
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateCircuit } from '../../src/budget/estimates.ts'
import type { DeviceSlot } from '../../src/device/gpu-pool.ts'
import type { EngineModules } from '../../src/engine-parts.ts'
import { WorkerExitedError } from '../../src/errors.ts'
import { type FakeDeviceClient, FakeMachine, recordEvents } from '../support/fake-device.ts'
import { outcome, until, useFakeTime, value } from '../support/fake-time.ts'
import { windowRequest, winning32Request, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

const ten = { ...syntheticWindowRequest('2k', 20), priority: 'normal' } as const

describe('a device that works on one partition after another', () => {
  /** For how long the device had nothing to do between the first partition and the last. */
  async function idleMs(lookahead: number): Promise<number> {
    // A partition takes 20 ms to synthesize, 12 to send, and 20 on the device.
    const machine = new FakeMachine({ unitMs: 5, transferMs: 12 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 2, lookahead } }))
    await value(engine.prove(ten))
    await outcome(engine.close())
    return machine.idleMs
  }

  test('never waits for the host: the next is there when one ends', async () => {
    // Two are made at the same time, so that one is sent while the other is made.
    expect(await idleMs(2)).toBe(0)
  })

  test('waits where nothing is made ahead', async () => {
    expect(await idleMs(0)).toBeGreaterThanOrEqual(9 * (20 + 12))
  })

  test('makes the next witness while one works and, on a GPU, another has its own there', async () => {
    const begun = async (kind: 'cpu' | 'webgpu', lookahead: number): Promise<number> => {
      const machine = new FakeMachine({ unitMs: 50, transferMs: 12, kind })
      const engine = await value(machine.engine({ synthesis: { concurrency: 2, lookahead } }))
      let most = 0
      engine.on('partition', () => {
        const states = engine.status().jobs.flatMap(({ partitions }) => partitions.map(({ state }) => state))
        most = Math.max(most, states.filter((state) => state !== 'pending' && state !== 'done').length)
      })
      await value(engine.prove(ten))
      await outcome(engine.close())
      return most
    }
    expect([await begun('cpu', 0), await begun('cpu', 1), await begun('cpu', 2)]).toEqual([1, 2, 3])
    expect([await begun('webgpu', 0), await begun('webgpu', 1), await begun('webgpu', 2)]).toEqual([1, 3, 4])
  })

  test('has one at work and one that gets ready, and tells of the one that works', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 3, lookahead: 3 } }))
    const states: string[] = []
    engine.on('partition', () => {
      const [job] = engine.status().jobs
      const working = job?.partitions.filter(({ state }) => state === 'gpu').length ?? 0
      if (working > 1) states.push(`${working} at work`)
      const [gpu] = engine.status().gpus
      if (gpu?.partition !== undefined && job?.partitions[gpu.partition]?.state === 'pending') states.push('not begun')
    })
    await value(engine.prove(ten))
    expect(states).toEqual([])
    expect(machine.clients[0]).toMatchObject({ mostProving: 1, mostHeld: 2 })
    await outcome(engine.close())
  })
})

describe('streamed points', () => {
  test('are passed over by all partitions that the budget and the device hold', async () => {
    const size = circuitSize('winning-32g')
    if (size === undefined) throw new Error('no size')
    // Kept points may take a quarter of the budget: with one byte less than that they are streamed.
    const kept = estimateCircuit(size, { totalBytes: 2 ** 40, threads: 2 })
    const totalBytes = 4 * kept.pointBytes - 1
    const streamed = estimateCircuit(size, { totalBytes, threads: 2 })
    expect([kept.keepPoints, streamed.keepPoints]).toEqual([true, false])
    const perPartition = streamed.witnessBytes + streamed.deviceBytes
    const fitting = Math.floor((totalBytes - streamed.residentBytes) / perPartition)
    expect(fitting).toBeGreaterThan(2)
    const machine = new FakeMachine({ unitMs: 40 })
    const engine = await value(
      machine.engine({ memory: { totalBytes }, cpu: { threads: 2 }, synthesis: { concurrency: 20, lookahead: 1 } }),
    )
    let working = 0
    engine.on('partition', () => {
      const all = engine.status().jobs.flatMap(({ partitions }) => partitions)
      working = Math.max(working, all.filter(({ state }) => state === 'gpu').length)
    })
    const jobs = Array.from({ length: 2 * fitting }, () => engine.prove({ ...winning32Request(), priority: 'normal' }))
    await value(Promise.all(jobs))
    expect(machine.clients[0]?.mostHeld).toBeGreaterThanOrEqual(fitting - 1)
    expect(working).toBeGreaterThanOrEqual(fitting - 1)
    await outcome(engine.close())
  })
})

describe('a partition that ends its device each time', () => {
  /** Devices that die of WinningPoSt. */
  function deadly(machine: FakeMachine): Partial<EngineModules> {
    const modules = machine.modules()
    return {
      ...modules,
      plan: async (...args) => {
        const plan = await (modules.plan as EngineModules['plan'])(...args)
        const slots = plan.slots.map((slot) => ({
          ...slot,
          start: async (signal: AbortSignal) => {
            const client = (await slot.start(signal)) as FakeDeviceClient
            const prove = client.proveBatch.bind(client)
            client.proveBatch = async (batch, options) => {
              if (batch.circuitId.startsWith('winning')) setTimeout(() => client.die('a WinningPoSt'), 3)
              return prove(batch, options)
            }
            return client
          },
        }))
        return { ...plan, slots }
      },
    }
  }

  test('fails after three tries, and none of those beside it does', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 3, lookahead: 3 } }, deadly(machine)))
    const seen = recordEvents(engine)
    const first = outcome(engine.prove({ ...windowRequest(), priority: 'normal' }))
    const deadlyOne = outcome(engine.prove({ ...winningRequest(), priority: 'normal' }))
    const others = Array.from({ length: 4 }, () => outcome(engine.prove({ ...windowRequest(), priority: 'normal' })))
    const failed = await deadlyOne
    expect(failed.status === 'rejected' && failed.reason).toBeInstanceOf(WorkerExitedError)
    for (const other of [first, ...others]) expect((await other).status).toBe('fulfilled')
    // One that the device was working on when another, getting ready, ended it counts as having failed once: it can't
    // be told.
    expect(seen.filter((event) => /^retry/.test(event)).length).toBeLessThanOrEqual(4)
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })
})

describe('several devices', () => {
  test('one that is started again has what was preloaded before a proof asks for it', async () => {
    const machine = new FakeMachine({ devices: 2 })
    const engine = await value(machine.engine())
    await value(engine.preload('winning-2k'))
    const warmed = machine.calls('warm')
    machine.clients[0]?.die('out of the blue')
    await until(() => machine.calls('warm') === warmed + 1)
    expect(machine.log.at(-1)).toBe('warm winning-2k')
    await outcome(engine.close())
  })

  test('one that is started again is not loaded with what it may have died of', async () => {
    const machine = new FakeMachine({ devices: 2 })
    const engine = await value(machine.engine())
    await value(engine.preload('wpost-2k'))
    const warmed = machine.calls('warm')
    machine.clients[0]?.die('of the circuit')
    await until(() => machine.open > 2 && engine.status().gpus.every(({ state }) => state === 'idle'))
    await value(engine.prove({ ...winningRequest(), priority: 'normal' }))
    expect(machine.log.filter((entry) => entry === 'warm wpost-2k').length).toBe(warmed)
    await outcome(engine.close())
  })

  /** Engines whose second device is there only when it is let. */
  function late(machine: FakeMachine): { modules: Partial<EngineModules>; arrive: () => void } {
    const modules = machine.modules()
    let arrive: () => void = () => {}
    const arrival = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const plan: EngineModules['plan'] = async (...args) => {
      const planned = await (modules.plan as EngineModules['plan'])(...args)
      const [first, second] = planned.slots as [DeviceSlot, DeviceSlot]
      const start = async (signal: AbortSignal) => {
        await arrival
        return await second.start(signal)
      }
      return { ...planned, slots: [first, { ...second, start }] }
    }
    return { modules: { ...modules, plan }, arrive }
  }

  test('one that comes late is loaded with what the first one has', async () => {
    const machine = new FakeMachine({ devices: 2 })
    const { modules, arrive } = late(machine)
    const engine = await value(machine.engine({}, modules))
    await value(engine.preload('wpost-2k'))
    expect(machine.calls('warm')).toBe(1)
    arrive()
    await until(() => machine.calls('warm') === 2)
    expect(machine.log.at(-1)).toBe('warm wpost-2k')
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('one that comes while the first loads is loaded, and not waited for', async () => {
    const machine = new FakeMachine({ devices: 2 })
    const { modules, arrive } = late(machine)
    const engine = await value(machine.engine({}, modules))
    const loaded = outcome(engine.preload('wpost-2k'))
    await until(() => machine.running.warm === 1)
    arrive()
    expect((await loaded).status).toBe('fulfilled')
    await until(() => machine.calls('warm') === 2)
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('a circuit that fails to load on one of them is left on none', async () => {
    const machine = new FakeMachine({ devices: 2 }).fail('warm', 2, { kind: 'throw', error: new TypeError('a bug') })
    const engine = await value(machine.engine())
    expect((await outcome(engine.preload('wpost-2k'))).status).toBe('rejected')
    expect(machine.log.filter((entry) => entry === 'forget wpost-2k').length).toBe(2)
    expect(engine.status().memory.usedBytes).toBe(0)
    await value(engine.preload('wpost-2k'))
    expect(machine.calls('warm')).toBe(4)
    await outcome(engine.close())
  })

  test('what gets ready behind another goes to a device that has nothing to do', async () => {
    const machine = new FakeMachine({ devices: 2, unitMs: 20 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 4, lookahead: 2 } }))
    const taken: string[] = []
    engine.on('partition', ({ job, state, gpu }) => {
      if (state === 'gpu') taken.push(`${job.requestId} ${gpu}`)
    })
    const prove = (requestId: string) => outcome(engine.prove({ ...windowRequest(), priority: 'normal', requestId }))
    const abort = new AbortController()
    const a = prove('a')
    const request = { ...windowRequest(), priority: 'normal', requestId: 'b' } as const
    const b = outcome(engine.prove(request, { signal: abort.signal }))
    const c = prove('c')
    await until(() => machine.clients.some(({ mostHeld }) => mostHeld === 2))
    // It is behind the first; now the second ends at once.
    abort.abort('enough')
    await Promise.all([a, b, c])
    expect(taken).toEqual(['a 0', 'b 1', 'c 1'])
    await outcome(engine.close())
  })
})
