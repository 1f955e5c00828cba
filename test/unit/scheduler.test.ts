/** Which partition is synthesized next: order, lanes, memory, priority, abort. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MemoryBudget } from '../../src/budget/memory-budget.ts'
import { BudgetExceededError } from '../../src/errors.ts'
import { type Clock, Job } from '../../src/queue/job.ts'
import { SynthesisScheduler, type Turn } from '../../src/queue/synthesis-scheduler.ts'
import type { Priority } from '../../src/request/proof-request.ts'

const clock: Clock = { now: () => 0 }
const turns = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let arrivals = 0
function job(name: string, total: number, priority: Priority = 'normal', deadline?: Date): Job {
  const input = { id: name, kind: 'window-post', circuitId: 'wpost-2k', priority, deadline, total } as const
  return new Job(input, arrivals++, { partitionMoved: () => {} }, clock)
}

/** A scheduler whose partitions wait until the test ends their synthesis or takes them onto a device. */
class Bench {
  readonly budget: MemoryBudget
  readonly scheduler: SynthesisScheduler
  readonly started: string[] = []
  readonly waiting: string[] = []
  readonly failed: [string, unknown][] = []
  readonly turns = new Map<string, Turn>()
  idle = 1

  constructor(options: { bytes?: number; concurrency?: number; lookahead?: number } = {}) {
    const { bytes = 1000, concurrency = 4, lookahead = 1 } = options
    this.budget = new MemoryBudget(bytes)
    const freeDevices = (): number => this.idle
    this.scheduler = new SynthesisScheduler({ budget: this.budget, concurrency, lookahead, freeDevices, now: () => 0 })
  }

  add(added: Job, bytes = 10, signal: AbortSignal = added.signal): void {
    for (const partition of added.partitions) {
      const name = `${added.id}.${partition.index}`
      this.scheduler
        .turn({
          partition,
          bytes: () => bytes,
          signal,
          onWait: () => this.waiting.push(name),
          onGrant: () => this.started.push(name),
        })
        .then(
          (turn) => this.turns.set(name, turn),
          (reason) => this.failed.push([name, reason]),
        )
    }
  }

  /** The partition's witness is made. */
  async synthesized(name: string): Promise<void> {
    this.turns.get(name)?.synthesized()
    await turns()
  }

  /** A device takes the partition and is done with it. */
  async proved(name: string): Promise<void> {
    const turn = this.turns.get(name)
    turn?.leave()
    turn?.memory.release()
    await turns()
  }
}

describe('order', () => {
  test('by job, then by index; never more than idle devices and lookahead allow', async () => {
    const bench = new Bench()
    bench.add(job('a', 3))
    bench.add(job('b', 2))
    await turns()
    expect(bench.started).toEqual(['a.0', 'a.1'])
    await bench.synthesized('a.0')
    expect(bench.started.length).toBe(2)
    await bench.proved('a.0')
    expect(bench.started).toEqual(['a.0', 'a.1', 'a.2'])
    await bench.proved('a.1')
    await bench.proved('a.2')
    expect(bench.started).toEqual(['a.0', 'a.1', 'a.2', 'b.0', 'b.1'])
  })

  test('any order in which partitions end leaves the order of starts as it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), fc.integer({ min: 1, max: 4 }), async (choices, concurrency) => {
        const bench = new Bench({ bytes: 45, concurrency, lookahead: 3 })
        for (const name of ['a', 'b', 'c']) bench.add(job(name, 5))
        await turns()
        const expected = ['a', 'b', 'c'].flatMap((name) => Array.from({ length: 5 }, (_, k) => `${name}.${k}`))
        const open = (): string[] => [...bench.turns.keys()]
        while (bench.turns.size > 0) {
          expect(bench.budget.usedBytes).toBeLessThanOrEqual(45)
          // None of them has ended its synthesis.
          expect(bench.turns.size).toBeLessThanOrEqual(concurrency)
          const name = open()[choices.next().value % bench.turns.size] as string
          await bench.proved(name)
          bench.turns.delete(name)
        }
        expect(bench.started).toEqual(expected)
      }),
      { numRuns: 100 },
    )
  })

  test('a deadline goes before none, the earlier before the later', async () => {
    const bench = new Bench({ concurrency: 1, lookahead: 0 })
    bench.add(job('running', 1))
    await turns()
    bench.add(job('none', 1))
    bench.add(job('late', 1, 'normal', new Date(2000)))
    bench.add(job('soon', 1, 'normal', new Date(1000)))
    for (const name of ['running', 'soon', 'late', 'none']) await bench.proved(`${name}.0`)
    expect(bench.started).toEqual(['running.0', 'soon.0', 'late.0', 'none.0'])
  })
})

describe('priority', () => {
  test('what is critical waits neither for lanes nor for the memory that something else waits for', async () => {
    const bench = new Bench({ bytes: 35, concurrency: 1 })
    bench.add(job('normal', 10), 20)
    await turns()
    await bench.synthesized('normal.0')
    // The second one's turn has come, but 15 bytes are free.
    expect([bench.started, bench.waiting]).toEqual([['normal.0'], ['normal.1']])
    bench.add(job('critical', 1, 'critical'), 15)
    await turns()
    expect(bench.started).toEqual(['normal.0', 'critical.0'])
    // Nothing of lower rank is served while the urgent one waits for what the other gives back.
    await bench.synthesized('critical.0')
    bench.add(job('winning', 1, 'critical'), 35)
    await bench.proved('normal.0')
    await bench.proved('critical.0')
    expect(bench.started).toEqual(['normal.0', 'critical.0', 'winning.0'])
    await bench.proved('winning.0')
    expect(bench.started.at(-1)).toBe('normal.1')
  })
})

describe('a partition that gives up', () => {
  test('while it waits for its turn or for memory rejects and lets the others pass', async () => {
    const bench = new Bench({ bytes: 30, concurrency: 1 })
    bench.add(job('running', 1), 20)
    await turns()
    const [first, second] = [new AbortController(), new AbortController()]
    bench.idle = 3
    await bench.synthesized('running.0')
    bench.add(job('large', 1), 25, first.signal)
    bench.add(job('queued', 1), 5, second.signal)
    bench.add(job('small', 1), 5)
    await turns()
    expect(bench.started).toEqual(['running.0'])
    second.abort('second')
    first.abort('first')
    await turns()
    expect(bench.failed).toEqual([
      ['queued.0', 'second'],
      ['large.0', 'first'],
    ])
    expect(bench.started).toEqual(['running.0', 'small.0'])
  })

  test('a partition that can never fit rejects and does not block', async () => {
    const bench = new Bench({ bytes: 30 })
    bench.add(job('giant', 1), 31)
    bench.add(job('small', 1))
    await turns()
    expect(bench.failed[0]?.[1]).toBeInstanceOf(BudgetExceededError)
    expect(bench.started).toEqual(['small.0'])
  })
})
