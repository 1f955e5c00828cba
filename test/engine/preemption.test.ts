/** What is critical shares a busy device with something less urgent. On fake devices and a fake clock. */
import { expect, test } from 'vitest'
import { FakeMachine } from '../support/fake-device.ts'
import { outcome, until, useFakeTime, value } from '../support/fake-time.ts'
import { winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

useFakeTime()

test('scenario 16: a WinningPoSt begins on a busy device at once, and the partition there goes on', async () => {
  const machine = new FakeMachine({ unitMs: 20, units: 10 })
  const engine = await value(machine.engine({ synthesis: { concurrency: 2 } }))
  await value(engine.preload('winning-2k'))
  const normal = engine.prove({ ...syntheticWindowRequest('2k', 20), priority: 'normal' })
  await until(() => machine.running.prove === 1)
  const from = Date.now()
  const starts: number[] = []
  engine.on('partition', ({ job, state }) => {
    if (job.kind === 'winning-post' && state === 'gpu') starts.push(Date.now() - from)
  })
  const winning = outcome(engine.prove(winningRequest()))
  await until(() => machine.running.prove === 2)
  expect(engine.status().gpus).toMatchObject([{ state: 'proving', partition: 0 }])
  expect((await winning).status).toBe('fulfilled')
  // Its own synthesis, then the device without waiting.
  expect(starts).toEqual([200])
  const { proof, partitions } = await value(normal)
  expect([partitions, proof.length]).toEqual([10, 1920])
  expect(machine.calls('prove')).toBe(11)
  await outcome(engine.close())
})

test('scenario 18: it waits neither for the synthesis nor for the loading of something less urgent', async () => {
  const machine = new FakeMachine({ unitMs: 5 }).fail('warm', 3, { kind: 'hang' })
  const engine = await value(machine.engine({ synthesis: { concurrency: 1, lookahead: 0 } }))
  // Loads, and then sets memory of the device aside.
  await value(engine.preload('winning-2k'))
  expect(machine.calls('warm')).toBe(2)
  const stop = new AbortController()
  const high = outcome(engine.prove(syntheticWindowRequest('2k', 4), { signal: stop.signal }))
  await until(() => machine.running.warm === 1)
  expect((await outcome(engine.prove(winningRequest()))).status).toBe('fulfilled')
  expect(machine.running.warm).toBe(1)
  stop.abort('enough')
  await high
  await outcome(engine.close())
})

test('two that are critical follow each other, each as soon as a seat is free', async () => {
  const machine = new FakeMachine({ unitMs: 20 })
  const engine = await value(machine.engine({ synthesis: { concurrency: 3, lookahead: 3 } }))
  const normal = outcome(engine.prove({ ...syntheticWindowRequest('2k', 8), priority: 'low' }))
  await until(() => machine.running.prove === 1)
  const both = await Promise.all([1, 2].map(() => outcome(engine.prove(winningRequest()))))
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  expect(machine.most.prove).toBe(2)
  expect((await normal).status).toBe('fulfilled')
  await outcome(engine.close())
})

test('scenario 19: what is low ends under a steady load of what is high, by ageing', async () => {
  const step = 5_000
  const machine = new FakeMachine({ unitMs: step, units: 2 })
  const engine = await value(machine.engine(), step)
  const from = Date.now()
  let endedAt: number | undefined
  // Six high jobs are in hand at any time: more than the device and what is made ahead for it.
  const high = async (): Promise<void> => {
    while (endedAt === undefined && Date.now() - from < 3 * 3_600_000) {
      await engine.prove({ ...winningRequest(), priority: 'high' })
    }
  }
  const load = Array.from({ length: 6 }, high)
  await until(() => machine.running.prove === 1, step)
  const low = engine.prove({ ...syntheticWindowRequest('2k', 2), priority: 'low' })
  void low.then(() => {
    endedAt = Date.now()
  })
  await outcome(low, step)
  const waitedMs = (endedAt ?? Number.POSITIVE_INFINITY) - from
  // Two steps of half an hour, and the jobs that were begun by then.
  expect(waitedMs).toBeGreaterThan(3_600_000 - 60_000)
  expect(waitedMs).toBeLessThan(3_600_000 + 300_000)
  await outcome(Promise.all(load), step)
  await outcome(engine.close(), step)
})
