/** Devices whose memory does not suffice, and devices of different size. On fake devices and a fake clock. */
import { describe, expect, test } from 'vitest'
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import type { Engine } from '../../src/engine.ts'
import { GpuOutOfMemoryError } from '../../src/errors.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { outcome, until, useFakeTime, value } from '../support/fake-time.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

/** The calls of an operation with these numbers find too little memory on their device. */
function outOfMemory(machine: FakeMachine, ...calls: number[]): FakeMachine {
  const error = new GpuOutOfMemoryError('8 GiB do not suffice')
  for (const nth of calls) machine.fail('prove', nth, { kind: 'throw', error })
  return machine
}

/** On which device every partition went, in order. */
function placements(engine: Engine): string[] {
  const seen: string[] = []
  engine.on('partition', ({ job, state, gpu }) => {
    if (state === 'gpu') seen.push(`${job.circuitId} ${gpu}`)
  })
  return seen
}

const faults = (seen: readonly string[]): string[] => seen.filter((event) => /^(retry|fallback)/.test(event))

describe('case 18: a device runs out of memory', () => {
  test('once: the partition alone is tried again there', async () => {
    const machine = outOfMemory(new FakeMachine({ standIn: true }), 2)
    const engine = await value(machine.engine())
    const [seen, placed] = [recordEvents(engine), placements(engine)]
    expect((await value(engine.prove(syntheticWindowRequest('2k', 6)))).verified).toBe(true)
    expect(faults(seen)).toEqual(['retry 1 2'])
    expect(placed).toEqual(Array(4).fill('wpost-2k 0'))
    expect(machine.calls('synthesize')).toBe(3)
    await outcome(engine.close())
  })

  test('three times: the CPU device proves it, which is told of once; the next job goes to the GPU again', async () => {
    const machine = outOfMemory(new FakeMachine({ standIn: true }), 1, 2, 3)
    const engine = await value(machine.engine())
    const [seen, placed] = [recordEvents(engine), placements(engine)]
    const fallbacks: unknown[] = []
    engine.on('fallback', ({ index, error }) => fallbacks.push([index, error.code]))
    expect((await value(engine.prove(windowRequest()))).verified).toBe(true)
    expect(fallbacks).toEqual([[0, 'ERR_GPU_OUT_OF_MEMORY']])
    expect(faults(seen)).toEqual(['retry 0 2', 'retry 0 3', 'fallback'])
    expect(placed).toEqual(['wpost-2k 0', 'wpost-2k 0', 'wpost-2k 0', 'wpost-2k 1'])
    placed.length = 0
    await value(engine.prove(windowRequest()))
    expect(placed).toEqual(['wpost-2k 0'])
    expect(engine.status().gpus[0]).toMatchObject({ generation: 1, state: 'idle' })
    await outcome(engine.close())
    expect(machine.open).toBe(0)
  })

  test('three times with no fallback: the job fails by that name, and the next one is proved', async () => {
    const machine = outOfMemory(new FakeMachine(), 1, 2, 3)
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const failed = await outcome(engine.prove(windowRequest()))
    expect(failed).toMatchObject({ reason: { code: 'ERR_GPU_OUT_OF_MEMORY', retryable: true } })
    expect(faults(seen)).toEqual(['retry 0 2', 'retry 0 3'])
    expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
    await outcome(engine.close())
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test('in its second seat: what sits in the first goes on undisturbed', async () => {
    const machine = outOfMemory(new FakeMachine({ unitMs: 5 }), 2).fail('prove', 1, { kind: 'deaf', ms: 500 })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const long = outcome(engine.prove(windowRequest()))
    await until(() => machine.running.prove === 1)
    const urgent = outcome(engine.prove(winningRequest()))
    expect([(await long).status, (await urgent).status]).toEqual(['fulfilled', 'fulfilled'])
    expect(machine.most.prove).toBe(2)
    // One call of the first, two of the second.
    expect(machine.calls('prove')).toBe(3)
    expect(faults(seen)).toEqual(['retry 0 2'])
    await outcome(engine.close())
  })

  test('with a larger one beside it: that one does what is too large, and the smaller one the rest', async () => {
    const machine = outOfMemory(new FakeMachine({ devices: 2 }), 1)
    const engine = await value(machine.engine())
    const placed = placements(engine)
    await value(engine.prove(syntheticWindowRequest('2k', 6)))
    expect(placed).toEqual(['wpost-2k 0', ...Array(3).fill('wpost-2k 1')])
    placed.length = 0
    // The other circuit fits: it is no worse a device for that.
    await value(engine.prove(winningRequest()))
    expect(placed).toEqual(['winning-2k 0'])
    await outcome(engine.close())
  })

  test('the smaller one is not kept free for those who wait for the larger one', async () => {
    const machine = outOfMemory(new FakeMachine({ devices: 2 }), 1)
    const engine = await value(machine.engine({ synthesis: { concurrency: 8, lookahead: 8 } }))
    const high = { ...winningRequest(), priority: 'high' } as const
    await value(engine.prove(high))
    const placed = placements(engine)
    // Those go first: one works on the larger device, one gets ready there, and four wait for it.
    const large = Array.from({ length: 6 }, () => engine.prove(high))
    await value(Promise.all([...large, engine.prove({ ...windowRequest(), priority: 'low' })]))
    expect(placed).toHaveLength(7)
    expect(placed.filter((where) => where.startsWith('winning'))).toEqual(Array(6).fill('winning-2k 1'))
    expect(placed.slice(0, 3)).toContain('wpost-2k 0')
    await outcome(engine.close())
  })
})

describe('case 21: devices of different size', () => {
  const domainOf = (circuitId: CircuitId): number => circuitSize(circuitId)?.log2Domain as number
  const [small, large] = [domainOf('wpost-2k'), domainOf('winning-2k')]

  test('a circuit never lands on a device that does not reach its domain, and loads on none', async () => {
    expect(small).toBeLessThan(large)
    const machine = new FakeMachine({ domains: [small, large] })
    const engine = await value(machine.engine({ synthesis: { concurrency: 4, lookahead: 4 } }))
    const placed = placements(engine)
    const jobs = Array.from({ length: 6 }, () => [engine.prove(winningRequest()), engine.prove(windowRequest())])
    await value(Promise.all(jobs.flat()))
    expect(placed.filter((where) => where.startsWith('winning-2k'))).toEqual(Array(6).fill('winning-2k 1'))
    expect(placed).toContain('wpost-2k 0')
    expect(machine.calls('prove')).toBe(12)
    // One load of the large circuit, two of the small one.
    expect(machine.calls('warm')).toBe(3)
    await outcome(engine.close())
  })

  test('what only a device that failed for good could do is refused and not waited for', async () => {
    const machine = new FakeMachine({ domains: [small, large] })
    for (let nth = 1; nth <= 4; nth++) machine.fail('prove', nth, { kind: 'die' })
    const engine = await value(machine.engine())
    expect((await outcome(engine.prove(winningRequest()))).status).toBe('rejected')
    // The fourth death in a row: the large device is in quarantine.
    expect(await outcome(engine.prove(winningRequest()))).toMatchObject({ reason: { code: 'ERR_GPU_UNAVAILABLE' } })
    expect(engine.status().gpus.map(({ state }) => state)).toEqual(['idle', 'quarantined'])
    expect(await outcome(engine.prove(winningRequest()))).toMatchObject({ reason: { code: 'ERR_GPU_UNAVAILABLE' } })
    expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
    await outcome(engine.close())
  })

  test('two equal devices share ten partitions, each dispatched once', async () => {
    const machine = new FakeMachine({ devices: 2, unitMs: 3 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 4, lookahead: 4 } }))
    const placed = placements(engine)
    await value(engine.prove(syntheticWindowRequest('2k', 20)))
    const onFirst = placed.filter((where) => where === 'wpost-2k 0').length
    expect([placed.length, machine.calls('prove')]).toEqual([10, 10])
    expect(Math.abs(onFirst - 5)).toBeLessThanOrEqual(1)
    await outcome(engine.close())
  })
})
