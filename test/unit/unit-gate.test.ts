/** Whose unit goes next on a GPU: runs that submit units of a millisecond each, as streams do. */
import { expect, test } from 'vitest'
import { UnitGate } from '../../src/webgpu/unit-gate.ts'

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Options {
  readonly urgent?: boolean
  readonly order?: number
  readonly signal?: AbortSignal
  readonly units?: number
  /** Between two units, when results are read back. */
  readonly gapMs?: number
  readonly unitMs?: number
}

/** A device that works on one unit at a time, in the order of their submission. */
class Bench {
  readonly gate = new UnitGate()
  readonly done: string[] = []
  #queue: Promise<void> = Promise.resolve()

  async run(name: string, options: Options): Promise<void> {
    const { urgent, order, signal = new AbortController().signal, units = 10, gapMs = 0, unitMs = 1 } = options
    for (let unit = 0; unit < units; unit++) {
      await this.gate.turn({ urgent, order, signal })
      const left = this.gate.enter({ urgent, order, signal })
      this.#queue = this.#queue.then(() => delay(unitMs)).then(() => void this.done.push(name))
      await this.#queue
      left()
      if (gapMs > 0) await delay(gapMs)
    }
  }

  /** Names in the order in which the last of each was done. */
  get ends(): string[] {
    return [...new Set([...this.done].reverse())].reverse()
  }
}

test('an urgent run goes ahead of what runs, and what runs goes on afterwards', async () => {
  const bench = new Bench()
  const normal = bench.run('normal', { units: 30, unitMs: 2 })
  await delay(10)
  const before = bench.done.length
  await bench.run('urgent', { urgent: true, units: 5, gapMs: 5 })
  // What was submitted by then, and nothing in the gaps.
  expect(bench.done.slice(before).filter((name) => name === 'normal').length).toBeLessThanOrEqual(1)
  await normal
  expect(bench.done.filter((name) => name === 'normal').length).toBe(30)
  expect(bench.ends).toEqual(['urgent', 'normal'])
})

test('one that is urgent but silent for long does not keep the device from others', async () => {
  const bench = new Bench()
  const urgent = bench.run('urgent', { urgent: true, units: 2, gapMs: 100 })
  await bench.run('normal', { units: 10 })
  expect(bench.done.filter((name) => name === 'urgent').length).toBe(1)
  await urgent
})

test('of others the smaller order goes first; the greater one uses what it leaves', async () => {
  const bench = new Bench()
  const later = bench.run('later', { order: 7, units: 6 })
  const sooner = bench.run('sooner', { order: -3, units: 6, gapMs: 6 })
  await Promise.all([later, sooner])
  expect(bench.ends).toEqual(['later', 'sooner'])
  const busy = new Bench()
  const second = busy.run('second', { order: 2 })
  // Two streams of one run: one has always a unit in flight.
  await Promise.all([busy.run('first', { order: 1 }), busy.run('first', { order: 1 }), second])
  expect(busy.ends).toEqual(['first', 'second'])
})

test('an abort while it waits is heard at once', async () => {
  const bench = new Bench()
  const left = bench.gate.enter({ urgent: true, signal: new AbortController().signal })
  const abort = new AbortController()
  const waiting = bench.run('waiting', { signal: abort.signal })
  abort.abort('enough')
  await expect(waiting).rejects.toBe('enough')
  left()
  await bench.run('next', { units: 1 })
})

test('one goes behind the last unit of another, which has none after it, before that is done; not behind an urgent one', async () => {
  const { signal } = new AbortController()
  const gate = new UnitGate()
  const outcome = (order: number): Promise<string> =>
    Promise.race([
      gate.turn({ order, signal }).then((waited) => (waited ? 'waited' : 'at once')),
      delay(60).then(() => 'waits'),
    ])
  expect(await outcome(2)).toBe('at once')
  const first = gate.enter({ order: 1, signal })
  const second = gate.enter({ order: 1, signal })
  expect(await outcome(2)).toBe('waits')
  second()
  expect(await outcome(2)).toBe('waited')
  expect(await outcome(1)).toBe('at once')
  first()
  const urgent = gate.enter({ urgent: true, signal })
  expect(await outcome(2)).toBe('waits')
  urgent()
  // After some silence.
  expect(await outcome(2)).toBe('waited')
})
