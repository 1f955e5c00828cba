/** What is held, shown and told in each phase of a job, on fake devices and a fake clock. */
import { describe, expect, test } from 'vitest'
import type { Engine } from '../../src/engine.ts'
import { GpuValidationError } from '../../src/errors.ts'
import { bytesFor } from '../support/budget.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { advance, outcome, until, useFakeTime, value } from '../support/fake-time.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

/** Bytes in use beside circuits that are kept and inputs of jobs. */
function workingBytes(engine: Engine): number {
  const { memory, shapes, srs } = engine.status()
  const kept = [...shapes, ...srs].reduce((sum, { bytes }) => sum + bytes, 0)
  return memory.usedBytes - kept - memory.inputBytes
}

const gpuRow = (engine: Engine) => engine.status().gpus[0]

describe('memory by phase', () => {
  test('scenario 6: what a partition took is free when its proof is there, before that is verified; the next begins then', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('verify', 1, { kind: 'deaf', ms: 500 })
    const first = await value(machine.engine())
    const [one, all]: [number[], number[]] = [[], []]
    first.on('partition', ({ state }) => {
      if (state === 'gpu') one.push(workingBytes(first))
      all.push(first.status().memory.usedBytes)
    })
    const verifying = first.prove({ ...windowRequest(), requestId: 'first' })
    await until(() => machine.running.verify === 1)
    expect(one.length).toBe(1)
    expect(one[0]).toBeGreaterThan(0)
    expect(workingBytes(first)).toBe(0)
    expect(first.status().jobs).toMatchObject([{ state: 'active', partitions: [{ state: 'done' }] }])
    // Another job goes all the way to its own verification meanwhile.
    const other = outcome(first.prove(winningRequest()))
    expect((await other).status).toBe('fulfilled')
    expect(first.status().jobs.find(({ state }) => state === 'active')?.job.requestId).toBe('first')
    await value(verifying)
    const { memory, shapes, srs } = first.status()
    expect(memory.usedBytes).toBe([...shapes, ...srs].reduce((sum, { bytes }) => sum + bytes, 0))
    await outcome(first.close())
  })
})

describe('a job that ends', () => {
  test('scenario 24: a failure on the device stops the siblings, and is one rejection, one event, one count', async () => {
    const machine = new FakeMachine().fail('prove', 3, {
      kind: 'throw',
      error: new GpuValidationError('no such binding'),
    })
    const engine = await value(machine.engine({ synthesis: { concurrency: 3, lookahead: 3 } }))
    const seen = recordEvents(engine)
    const failed = await outcome(engine.prove(syntheticWindowRequest('2k', 20)))
    expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'ERR_GPU_VALIDATION' } })
    await advance(100)
    // The next one had the device for a moment before it was stopped.
    expect(machine.calls('prove')).toBeLessThanOrEqual(4)
    expect(seen.filter((event) => event === 'failed').length).toBe(1)
    const { totals, jobs, queue } = engine.status()
    expect([totals.failed['window-post'], totals.completed['window-post'], queue.active]).toEqual([1, 0, 0])
    const states = jobs[0]?.partitions.map(({ state }) => state)
    expect(states).toEqual(['done', 'done', ...Array(8).fill('failed')])
    expect(workingBytes(engine)).toBe(0)
    await outcome(engine.close())
  })

  test('case 6: a batch that comes back empty is an error with a cause, and no result', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'empty' })
    const engine = await value(machine.engine())
    const failed = (await outcome(engine.prove(windowRequest()))) as PromiseRejectedResult
    expect([failed.status, failed.reason.code]).toEqual(['rejected', 'ERR_GPU_VALIDATION'])
    expect(failed.reason.cause.message).toBe('0 proofs came back for 1 witness')
    expect((await outcome(engine.prove(windowRequest()))).status).toBe('fulfilled')
    await outcome(engine.close())
  })

  test('scenario 33: does not clear the row of a device that works on the next one already', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('verify', 1, { kind: 'deaf', ms: 100 })
    machine.fail('prove', 2, { kind: 'deaf', ms: 400 })
    const engine = await value(machine.engine())
    const ids = new Map<string, string>()
    engine.on('queued', ({ job }) => ids.set(job.requestId as string, job.id))
    const first = outcome(engine.prove({ ...windowRequest(), requestId: 'a' }))
    await until(() => machine.running.verify === 1)
    const second = outcome(engine.prove({ ...windowRequest(), requestId: 'b' }))
    await until(() => machine.running.prove === 1)
    const busy = { state: 'proving', jobId: ids.get('b'), partition: 0 }
    expect(gpuRow(engine)).toMatchObject(busy)
    expect((await first).status).toBe('fulfilled')
    expect(machine.running.prove).toBe(1)
    expect(gpuRow(engine)).toMatchObject(busy)
    expect((await second).status).toBe('fulfilled')
    expect(gpuRow(engine)?.jobId).toBeUndefined()
    await outcome(engine.close())
  })
})

describe('parameters that two jobs wait for', () => {
  test('scenario 28: an abort of one leaves the load to the other', async () => {
    const machine = new FakeMachine({ unitMs: 50 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 2, lookahead: 2 } }))
    const abort = new AbortController()
    const first = outcome(engine.prove(windowRequest(), { signal: abort.signal }))
    const second = outcome(engine.prove(windowRequest()))
    await until(() => machine.running.warm === 1 && machine.calls('synthesize') === 2)
    abort.abort('enough')
    expect(await first).toEqual({ status: 'rejected', reason: 'enough' })
    expect(machine.running.warm).toBe(1)
    expect((await second).status).toBe('fulfilled')
    expect(machine.calls('warm')).toBe(1)
    await outcome(engine.close())
  })

  test('scenario 43: close while parameters are given up waits for that, and leaves nothing', async () => {
    const machine = new FakeMachine({ unitMs: 5 }).fail('forget', 1, { kind: 'deaf', ms: 300 })
    // Room for the larger circuit, and so not for both.
    const memory = { totalBytes: bytesFor('winning-2k'), evictionMinIdleMs: 0 }
    const engine = await value(machine.engine({ cpu: { threads: 2 }, memory }))
    await value(engine.prove(windowRequest()))
    const waiting = outcome(engine.prove(winningRequest()))
    await until(() => machine.running.forget === 1)
    const closing = outcome(engine.close({ force: true }))
    expect((await waiting).status).toBe('rejected')
    expect((await closing).status).toBe('fulfilled')
    expect([machine.open, engine.status().memory.usedBytes, engine.status().memory.waiting]).toEqual([0, 0, 0])
  })
})

describe('what is told', () => {
  test('scenario 39: listeners that take long hold up no proof, and events keep their order', async () => {
    const machine = new FakeMachine({ unitMs: 5 })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    let slow = 0
    engine.on('partition', async () => {
      await new Promise((resolve) => setTimeout(resolve, 3_600_000))
      slow++
    })
    const from = Date.now()
    await value(engine.prove(windowRequest()))
    // Finding and loading the parameters, synthesis, device and verification, of 20 ms each and a little.
    expect(Date.now() - from).toBeLessThan(150)
    expect(slow).toBe(0)
    expect(seen.filter((event) => /^(queued|active|partition|completed)/.test(event))).toEqual([
      'queued',
      'active',
      ...['synthesizing', 'synth_done', 'gpu', 'done'].map((state) => `partition 0 ${state}`),
      'completed',
    ])
    await outcome(engine.close())
  })

  test('scenario 45: progress rises to 1 in small steps, also where partitions are tried again', async () => {
    const machine = new FakeMachine({ unitMs: 5, units: 8 }).fail('prove', 2, { kind: 'die' }).fail('synthesize', 3, {
      kind: 'die',
    })
    const engine = await value(machine.engine())
    const seen = recordEvents(engine)
    const fractions: number[] = []
    await value(
      engine.prove(syntheticWindowRequest('2k', 8), { onProgress: ({ fraction }) => fractions.push(fraction) }),
    )
    expect(seen.filter((event) => /^retry/.test(event)).length).toBe(2)
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b))
    expect(fractions.at(-1)).toBe(1)
    // Four partitions of eight units each in two phases.
    expect(fractions.length).toBeGreaterThan(16)
    await outcome(engine.close())
  })
})

test('case 35: three devices prove three partitions in the time of one', async () => {
  const request = syntheticWindowRequest('2k', 6)
  const times: number[] = []
  for (const devices of [1, 3]) {
    const machine = new FakeMachine({ devices, unitMs: 100 })
    const engine = await value(machine.engine({ synthesis: { concurrency: 3, lookahead: 3 } }))
    await value(engine.preload('wpost-2k'))
    const from = Date.now()
    await value(engine.prove(request), 10)
    times.push(Date.now() - from)
    await outcome(engine.close())
  }
  // Synthesis, proof and verification take 400 ms each.
  expect(times[0]).toBeGreaterThanOrEqual(2_000)
  expect(times[1]).toBeLessThan(1_400)
})
