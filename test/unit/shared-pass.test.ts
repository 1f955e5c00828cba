/** One pass over an SRS for several batches: how often it is read, who gets what, and who ends without the others. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DevicePoints, Run } from '../../src/groth16/proving-device.ts'
import { type PointSource, SharedPass } from '../../src/groth16/shared-pass.ts'
import type { PointRange } from '../../src/params/layout.ts'
import { settle } from '../support/fake-time.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** An SRS of five ranges; imports take a turn of the event loop, and fail if the test says so. */
class Source implements PointSource {
  readonly ranges = (['h', 'l', 'a', 'b_g1', 'b_g2'] as const).map(
    (query): PointRange => ({ query, first: 0, count: 1 }),
  )
  readonly imported: string[] = []
  held = 0
  fails: unknown

  async pass(
    runOf: (range: PointRange) => Run,
    use: (range: PointRange, points: DevicePoints) => Promise<void>,
  ): Promise<void> {
    for (const range of this.ranges) {
      const run = runOf(range)
      await turn()
      run.signal.throwIfAborted()
      if (this.fails !== undefined) throw this.fails
      this.imported.push(range.query)
      run.unit(1)
      this.held++
      try {
        await use(range, { group: 'g1', count: 1, release: () => {} })
      } finally {
        this.held--
      }
    }
  }
}

/** A batch that remembers what it was given. */
class Batch {
  readonly got: string[] = []
  readonly importShares: number[] = []
  readonly abort = new AbortController()
  readonly run: Run
  readonly place: ReturnType<SharedPass['announce']>
  onUse: (query: string) => Promise<void> | void = turn

  constructor(shared: SharedPass, order = 0) {
    this.run = { signal: this.abort.signal, order, unit: (share) => void this.importShares.push(share) }
    this.place = shared.announce(this.run)
  }

  async pass(): Promise<void> {
    try {
      await this.place.pass(
        () => this.run,
        async ({ query }) => {
          await this.onUse(query)
          this.run.signal.throwIfAborted()
          this.got.push(query)
        },
      )
    } finally {
      this.place[Symbol.dispose]()
    }
  }
}

const ROUND = ['h', 'l', 'a', 'b_g1', 'b_g2']

test('batches that were announced together need one pass, however long each takes to come', async () => {
  const source = new Source()
  const shared = new SharedPass(source)
  const batches = [new Batch(shared), new Batch(shared), new Batch(shared)]
  const passing = batches.slice(0, 2).map((batch) => batch.pass())
  await settle()
  expect(source.imported).toEqual([])
  passing.push((batches[2] as Batch).pass())
  await Promise.all(passing)
  expect(source.imported).toEqual(ROUND)
  for (const { got, importShares } of batches) expect([got, importShares]).toEqual([ROUND, [1, 1, 1, 1, 1]])
})

test('one that comes on the way gets the rest first, and then what it missed', async () => {
  const source = new Source()
  const shared = new SharedPass(source)
  const first = new Batch(shared)
  const joined = new Promise<Batch>((resolve) => {
    first.onUse = async (query) => {
      if (query === 'l') resolve(new Batch(shared))
      await turn()
    }
  })
  const passing = first.pass()
  const late = await joined
  await Promise.all([passing, late.pass()])
  expect(first.got).toEqual(ROUND)
  expect(late.got).toEqual(['l', 'a', 'b_g1', 'b_g2', 'h'])
  expect(source.imported).toEqual([...ROUND, 'h'])
})

test('an announced one that fails before it comes is not waited for', async () => {
  const source = new Source()
  const shared = new SharedPass(source)
  const [first, failed] = [new Batch(shared), new Batch(shared)]
  const passing = first.pass()
  await settle()
  failed.place[Symbol.dispose]()
  await passing
  expect(source.imported).toEqual(ROUND)
})

test('an abort of one, wherever, and a failure of its sums leave the others their pass', async () => {
  const source = new Source()
  const shared = new SharedPass(source)
  const [whole, aborted, broken, waiting] = [0, 1, 2, 3].map((order) => new Batch(shared, order)) as [
    Batch,
    Batch,
    Batch,
    Batch,
  ]
  aborted.onUse = (query) => {
    if (query === 'l') aborted.abort.abort('enough')
    if (query === 'l') waiting.abort.abort('too late')
  }
  const failure = new Error('wrong')
  broken.onUse = (query) => {
    if (query === 'a') throw failure
  }
  const results = await Promise.allSettled([whole, aborted, broken, waiting].map((batch) => batch.pass()))
  expect(results).toEqual([
    { status: 'fulfilled', value: undefined },
    { status: 'rejected', reason: 'enough' },
    { status: 'rejected', reason: failure },
    { status: 'rejected', reason: 'too late' },
  ])
  expect([whole.got, aborted.got, broken.got, waiting.got]).toEqual([ROUND, ['h'], ['h', 'l'], ['h']])
  expect(source.imported).toEqual(ROUND)
})

test('points that can not be had fail all who wait for them, and not those who come next', async () => {
  const source = new Source()
  const shared = new SharedPass(source)
  source.fails = new Error('the file is gone')
  const both = [new Batch(shared), new Batch(shared)].map((batch) => batch.pass())
  for (const passing of both) await expect(passing).rejects.toBe(source.fails)
  source.fails = undefined
  await new Batch(shared).pass()
  expect(source.imported).toEqual(ROUND)
})

test('when the last has left, importing stops', async () => {
  const source = new Source()
  const shared = new SharedPass(source)
  const only = new Batch(shared)
  const passing = only.pass()
  await turn()
  only.abort.abort('enough')
  await expect(passing).rejects.toBe('enough')
  await settle()
  expect(source.imported.length).toBeLessThan(2)
  const next = new Batch(shared)
  await next.pass()
  expect(next.got).toEqual(ROUND)
})

test('those of smaller order are served first', async () => {
  const shared = new SharedPass(new Source())
  const served: number[] = []
  const batches = [5, -7, 2].map((order) => {
    const batch = new Batch(shared, order)
    batch.onUse = () => void served.push(order)
    return batch
  })
  await Promise.all(batches.map((batch) => batch.pass()))
  expect(served).toEqual(ROUND.flatMap(() => [-7, 2, 5]))
})

test('any sequence of batches, aborts and failures: each gets every range once or fails, and nothing is left', async () => {
  const plans = fc.array(
    fc.record({
      at: fc.nat(30),
      boards: fc.nat(5),
      end: fc.constantFrom('whole', 'whole', 'abort', 'fail' as const),
      after: fc.nat(6),
    }),
    { minLength: 1, maxLength: 6 },
  )
  await fc.assert(
    fc.asyncProperty(plans, async (planned) => {
      const source = new Source()
      const shared = new SharedPass(source)
      const runs = planned.map(async ({ at, boards, end, after }) => {
        for (let k = 0; k < at; k++) await turn()
        const batch = new Batch(shared)
        let uses = 0
        batch.onUse = async () => {
          if (uses++ === after && end === 'fail') throw new Error('fail')
          await turn()
        }
        if (end === 'abort')
          void (async () => {
            for (let k = 0; k < after; k++) await turn()
            batch.abort.abort('abort')
          })()
        for (let k = 0; k < boards; k++) await turn()
        const result = await batch.pass().then(
          () => 'whole',
          () => 'failed',
        )
        if (result === 'whole') expect([...batch.got].sort()).toEqual([...ROUND].sort())
        if (end === 'whole') expect(result).toBe('whole')
        return batch.got.length
      })
      await Promise.all(runs)
      await settle()
      expect(source.held).toBe(0)
      // Never more than if each had gone alone.
      expect(source.imported.length).toBeLessThanOrEqual(5 * planned.length + planned.length)
    }),
    { numRuns: 200 },
  )
})
