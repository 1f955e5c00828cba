/**
 * Situations that engines of this kind got wrong, on fake devices and a fake clock. `test/scenarios.md` says where each
 * is tested.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CircuitSize, circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateCircuit } from '../../src/budget/estimates.ts'
import { InvalidRequestError, WorkerExitedError } from '../../src/errors.ts'
import type { EngineStatus } from '../../src/status.ts'
import { COMM_R_OFFSET } from '../../src/synthesis/vanilla-post.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { advance, outcome, until, useFakeTime, value } from '../support/fake-time.ts'
import { window3Request, windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

const ten = syntheticWindowRequest('2k', 20)

/** Begun, of a job's partitions. */
const begun = ({ partitions }: EngineStatus['jobs'][number]): number =>
  partitions.filter(({ state }) => state !== 'pending').length

describe('order', () => {
  test('scenario 1: of two jobs of ten partitions the second begins when the first has none left to begin', async () => {
    const machine = new FakeMachine({ unitMs: 2 })
    // Memory for four partitions, with some room for vanilla proofs; more lanes than that.
    const size = circuitSize('wpost-2k') as CircuitSize
    const { witnessBytes, deviceBytes, residentBytes } = estimateCircuit(size, { totalBytes: 1, threads: 2 })
    const memory = { totalBytes: residentBytes + 4 * (witnessBytes + deviceBytes) + 2 ** 20 }
    const engine = await value(
      machine.engine({ memory, cpu: { threads: 2 }, synthesis: { concurrency: 6, lookahead: 6 } }),
    )
    const bad: string[] = []
    let before: number | undefined
    let most = 0
    engine.on('partition', () => {
      const rows = engine.status().jobs.filter(({ state }) => state === 'queued' || state === 'active')
      const held = rows.flatMap(({ partitions }) => partitions).filter(({ state }) => /^(synth|gpu)/.test(state)).length
      most = Math.max(most, held)
      const [first, second] = rows
      if (first === undefined || second === undefined) return
      if (begun(second) > 0 && begun(first) < 10) bad.push(`${begun(first)} and ${begun(second)}`)
    })
    engine.once('completed', () => {
      const second = engine.status().jobs.find(({ state }) => state === 'active')
      before = second === undefined ? 0 : begun(second)
    })
    await value(Promise.all([engine.prove(ten), engine.prove(ten)]))
    expect(bad).toEqual([])
    expect(before).toBeLessThan(10)
    expect(most).toBe(4)
    await outcome(engine.close())
  })

  test('scenario 2: whatever takes how long, partitions begin in order and proofs are in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.integer({ min: 1, max: 30 })), async (durations) => {
        const machine = new FakeMachine({ devices: 2, units: 1 })
        for (const operation of ['synthesize', 'prove'] as const) {
          for (let nth = 1; nth <= 15; nth++) {
            machine.fail(operation, nth, { kind: 'deaf', ms: durations.next().value as number })
          }
        }
        const engine = await value(machine.engine({ synthesis: { concurrency: 3, lookahead: 3 } }))
        // A request arrives when its checks are through.
        const arrived: string[] = []
        engine.on('queued', ({ job }) => arrived.push(job.requestId as string))
        const order: string[] = []
        engine.on('partition', ({ job, index, state }) => {
          if (state === 'synthesizing') order.push(`${job.requestId} ${index}`)
        })
        const request = syntheticWindowRequest('2k', 10)
        const names = ['a', 'b', 'c']
        const results = await value(Promise.all(names.map((requestId) => engine.prove({ ...request, requestId }))))
        expect(order).toEqual(arrived.flatMap((name) => Array.from({ length: 5 }, (_, index) => `${name} ${index}`)))
        for (const { proof } of results) {
          // A fake proof begins with comm_r of its partition's first sector.
          const made = Array.from({ length: 5 }, (_, k) => Buffer.from(proof.subarray(192 * k, 192 * k + 32)))
          const asked = [0, 2, 4, 6, 8].map((sector) => request.vanillaProofs[sector] as Uint8Array)
          expect(made).toEqual(asked.map((bytes) => Buffer.from(bytes.subarray(COMM_R_OFFSET, COMM_R_OFFSET + 32))))
        }
        await outcome(engine.close())
      }),
      { numRuns: 100 },
    )
  })

  test('scenario 17: no partition of lower rank is given memory while one of higher rank waits for it', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    const options = { cpu: { threads: 2 }, synthesis: { concurrency: 6, lookahead: 6 } }
    const engine = await value(machine.engine({ ...options, memory: { totalBytes: 240 * 2 ** 20 } }))
    const order: string[] = []
    engine.on('partition', ({ job, state }) => {
      if (state === 'synthesizing') order.push(job.kind)
    })
    const normal = engine.prove({ ...ten, priority: 'normal' })
    await until(() => engine.status().memory.waiting > 0)
    const had = order.length
    const high = engine.prove({ ...winningRequest(), priority: 'high' })
    await value(high)
    expect(order.indexOf('winning-post')).toBe(had)
    await value(normal)
    await outcome(engine.close())
  })

  test('scenario 35: two devices share twenty jobs, each partition on one of them, never two at once on one', async () => {
    const machine = new FakeMachine({ devices: 2, unitMs: 2 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 3, lookahead: 2 } }))
    const used = [0, 0]
    engine.on('partition', ({ state, gpu }) => {
      if (state === 'gpu') used[gpu as number] = (used[gpu as number] ?? 0) + 1
    })
    await value(Promise.all(Array.from({ length: 20 }, () => engine.prove(windowRequest()))))
    expect(machine.most.prove).toBe(2)
    expect(machine.calls('prove')).toBe(20)
    expect(machine.clients.map(({ mostProving }) => mostProving)).toEqual([1, 1])
    expect(Math.min(...used)).toBeGreaterThanOrEqual(9)
    await outcome(engine.close())
  })

  test('scenario 22: jobs that end their synthesis while the device is busy are all proved, in order', async () => {
    const machine = new FakeMachine({ unitMs: 3 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 4, lookahead: 4 } }))
    const done: string[] = []
    engine.on('completed', ({ job }) => done.push(job.requestId as string))
    const names = ['a', 'b', 'c', 'd']
    await value(Promise.all(names.map((requestId) => engine.prove({ ...windowRequest(), requestId }))))
    expect(done).toEqual(names)
    await outcome(engine.close())
  })
})

describe('failures', () => {
  test('scenario 25: when all partitions fail at once there is one rejection, one event, one count', async () => {
    const machine = new FakeMachine()
    const error = new InvalidRequestError('bad')
    for (let nth = 1; nth <= 10; nth++) machine.fail('synthesize', nth, { kind: 'throw', error })
    const engine = await value(machine.engine({ synthesis: { concurrency: 10, lookahead: 10 } }))
    const seen = recordEvents(engine)
    expect(await outcome(engine.prove(ten))).toMatchObject({ status: 'rejected', reason: error })
    expect(seen.filter((event) => event === 'failed').length).toBe(1)
    expect(engine.status().totals.failed['window-post']).toBe(1)
    await outcome(engine.close())
  })

  test('scenario 23: a partition that fails stops the others; those not begun never begin', async () => {
    const error = new InvalidRequestError('a path leads elsewhere', { details: { partition: 4 } })
    const machine = new FakeMachine().fail('synthesize', 5, { kind: 'throw', error })
    const engine = await value(machine.engine())
    expect(await outcome(engine.prove(ten))).toMatchObject({ reason: { details: { partition: 4 } } })
    await advance(50)
    expect(machine.calls('synthesize')).toBe(5)
    expect(engine.status().jobs[0]?.partitions.filter(({ state }) => state === 'failed').length).toBeGreaterThan(5)
    await outcome(engine.close())
  })

  test('case 22: a device that dies ever more often costs restarts and no job', async () => {
    const machine = new FakeMachine()
    for (let nth = 10; nth <= 100; nth += 9) machine.fail('prove', nth, { kind: 'die' })
    const engine = await value(machine.engine())
    for (let k = 0; k < 60; k++) await value(engine.prove(windowRequest()))
    // Every ninth of the calls, from the tenth on.
    expect(machine.calls('prove')).toBe(67)
    expect(engine.status().gpus[0]?.generation).toBe(8)
    await outcome(engine.close())
  })

  test('case 3: 200 small jobs of any priority settle, with one device that hangs once', async () => {
    const machine = new FakeMachine({ unitMs: 1, units: 1 }).fail('prove', 50, { kind: 'hang' })
    const engine = await value(machine.engine({ synthesis: { concurrency: 2 } }, { stallMs: 100 }))
    let stalls = 0
    engine.on('stalled', () => stalls++)
    const priorities = ['low', 'normal', 'high', 'critical'] as const
    const jobs = Array.from({ length: 200 }, (_, k) =>
      engine.prove({ ...winningRequest(), priority: priorities[k % 4] }),
    )
    const results = await value(Promise.allSettled(jobs))
    expect(results.every(({ status }) => status === 'fulfilled')).toBe(true)
    expect(stalls).toBe(1)
    await outcome(engine.close())
  })

  test('a worker that dies in one job harms no other', async () => {
    const machine = new FakeMachine()
    const gone = new WorkerExitedError('gone')
    for (const nth of [2, 3, 4]) machine.fail('synthesize', nth, { kind: 'throw', error: gone })
    const engine = await value(machine.engine({ synthesis: { concurrency: 1 } }))
    const names = ['first', 'second', 'third']
    const jobs = names.map((requestId) => outcome(engine.prove({ ...windowRequest(), requestId })))
    expect((await Promise.all(jobs)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await outcome(engine.close())
  })
})

describe('a running job', () => {
  test('case 15: an abort during the third partition of ten begins no further one', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    const engine = await value(machine.engine())
    const abort = new AbortController()
    const proving = outcome(engine.prove(ten, { signal: abort.signal }))
    await until(() => machine.calls('prove') === 3)
    abort.abort('enough')
    abort.abort('twice')
    expect(await proving).toEqual({ status: 'rejected', reason: 'enough' })
    await advance(100)
    expect(machine.calls('synthesize')).toBeLessThanOrEqual(4)
    expect(machine.calls('prove')).toBe(3)
    await outcome(engine.close())
  })

  test('case 23: concurrent proofs have their own inputs, and leave the caller’s buffers alone', async () => {
    const machine = new FakeMachine({ devices: 4 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 4, lookahead: 4 } }))
    const requests = [windowRequest(), window3Request(), winningRequest(), ten]
    const before = requests.map(({ vanillaProofs }) => vanillaProofs.map((bytes) => Buffer.from(bytes)))
    const jobs = Array.from({ length: 16 }, (_, k) => engine.prove(requests[k % 4] as (typeof requests)[number]))
    const results = await value(Promise.all(jobs))
    for (const [k, { proof, partitions }] of results.entries()) {
      expect(partitions).toBe([1, 2, 1, 10][k % 4])
      expect(proof).toEqual(results[k % 4]?.proof)
    }
    expect(requests.every(({ vanillaProofs }, k) => vanillaProofs.every((b, i) => before[k]?.[i]?.equals(b)))).toBe(
      true,
    )
    await outcome(engine.close())
  })
})
