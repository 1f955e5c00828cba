import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { budgetBytes } from '../../src/budget/detect-memory.ts'
import { MemoryBudget, type Reservation } from '../../src/budget/memory-budget.ts'
import { BudgetExceededError } from '../../src/errors.ts'

const GIB = 2 ** 30
const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Whether a promise has resolved by now. */
async function state<T>(promise: Promise<T>): Promise<'pending' | 'resolved' | 'rejected'> {
  let result: 'pending' | 'resolved' | 'rejected' = 'pending'
  promise.then(
    () => {
      result = 'resolved'
    },
    () => {
      result = 'rejected'
    },
  )
  await settled()
  return result
}

describe('reservations', () => {
  test('are counted, shrink in parts, and end once', async () => {
    const budget = new MemoryBudget(100)
    const reservation = await budget.reserve(60)
    expect([budget.usedBytes, budget.availableBytes]).toEqual([60, 40])
    reservation.release(20)
    expect(budget.usedBytes).toBe(40)
    reservation.release()
    expect(budget.usedBytes).toBe(0)
  })

  test('double release, release after dispose and release of more than is held throw and change nothing', async () => {
    const budget = new MemoryBudget(100)
    const reservation = await budget.reserve(60)
    expect(() => reservation.release(61)).toThrow(RangeError)
    expect(() => reservation.release(-1)).toThrow(RangeError)
    expect(budget.usedBytes).toBe(60)
    reservation.release()
    expect(() => reservation.release()).toThrow('released already')
    expect(() => reservation.release(1)).toThrow('released already')
    expect(() => reservation.split(0)).toThrow('released already')
    reservation[Symbol.dispose]()
    expect(budget.usedBytes).toBe(0)
  })

  test('a part goes over to another holder without becoming free', async () => {
    const budget = new MemoryBudget(100)
    const reservation = await budget.reserve(100)
    const parameters = reservation.split(70)
    expect([reservation.bytes, parameters.bytes, budget.usedBytes]).toEqual([30, 70, 100])
    reservation.release()
    expect(budget.usedBytes).toBe(70)
    parameters.release()
    expect(budget.usedBytes).toBe(0)
  })

  test('more than the whole budget is refused at once, with need and total, and reserves nothing', async () => {
    const budget = new MemoryBudget(100)
    const error = await budget.reserve(101).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(BudgetExceededError)
    expect((error as BudgetExceededError).details).toEqual({
      field: 'memory.totalBytes',
      expected: 'at least 101',
      received: '100',
    })
    expect([budget.usedBytes, budget.waiting]).toEqual([0, 0])
  })
})

describe('waiting', () => {
  test('nothing passes the first waiter, so a stream of small requests does not starve a large one', async () => {
    const budget = new MemoryBudget(100)
    const small: Reservation[] = []
    for (let i = 0; i < 50; i++) small.push(await budget.reserve(1))
    const large = budget.reserve(57)
    const later = Array.from({ length: 10 }, () => budget.reserve(1))
    for (let i = 0; i < 6; i++) {
      expect(await state(large)).toBe('pending')
      small[i]?.release()
    }
    expect(await state(large)).toBe('pending')
    expect(budget.waiting).toBe(11)
    small[6]?.release()
    expect(await state(large)).toBe('resolved')
    expect(budget.usedBytes).toBe(100)
    expect(budget.waiting).toBe(10)
    for (const reservation of small.slice(7)) reservation.release()
    await Promise.all(later)
  })

  test('rank first, then first come first served', async () => {
    const budget = new MemoryBudget(10)
    const held = await budget.reserve(10)
    const order: string[] = []
    const wait = async (name: string, rank: number): Promise<void> => {
      const reservation = await budget.reserve(10, { rank: () => rank })
      order.push(name)
      reservation.release()
    }
    const all = [wait('normal 1', 1), wait('high 1', 2), wait('normal 2', 1), wait('critical', 3), wait('high 2', 2)]
    held.release()
    await Promise.all(all)
    expect(order).toEqual(['critical', 'high 1', 'high 2', 'normal 1', 'normal 2'])
  })

  test('an aborted waiter rejects with the reason and frees the way for those behind it', async () => {
    const budget = new MemoryBudget(100)
    const held = await budget.reserve(50)
    const abort = new AbortController()
    let waits = 0
    const first = budget.reserve(100, { signal: abort.signal, onWait: () => waits++ })
    const second = budget.reserve(50, { onWait: () => waits++ })
    expect(await state(second)).toBe('pending')
    abort.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    ;(await second).release()
    expect(waits).toBe(2)
    expect(budget.waiting).toBe(0)
    held.release()
    expect(budget.usedBytes).toBe(0)
    await expect(budget.reserve(1, { signal: abort.signal })).rejects.toThrow('enough')
  })

  test('an abort after the grant changes nothing', async () => {
    const budget = new MemoryBudget(10)
    const abort = new AbortController()
    const reservation = await budget.reserve(10, { signal: abort.signal })
    abort.abort()
    expect(budget.usedBytes).toBe(10)
    reservation.release()
    expect(budget.usedBytes).toBe(0)
  })

  test('what will never be free again is refused to those who wait for it; the others go on waiting', async () => {
    const budget = new MemoryBudget(100)
    const held = await budget.reserve(60)
    const reason = new Error('kept for good')
    let hopeless: Error | undefined
    const large = budget.reserve(90, { hopeless: () => hopeless })
    const small = budget.reserve(45)
    hopeless = reason
    budget.refuseHopeless()
    await expect(large).rejects.toBe(reason)
    await expect(budget.reserve(1, { hopeless: () => hopeless })).rejects.toBe(reason)
    expect([budget.availableBytes, await state(small)]).toEqual([40, 'pending'])
    held.release()
    ;(await small).release()
    expect(budget.usedBytes).toBe(0)
  })

  test('caches are asked for what is missing, on behalf of the first waiter', async () => {
    const budget = new MemoryBudget(100)
    const cached = [await budget.reserve(40), await budget.reserve(40)]
    const asked: [number, number][] = []
    budget.onShortage((bytes, rank) => {
      asked.push([bytes, rank])
      const entry = cached.pop()
      const freed = entry?.bytes ?? 0
      entry?.release()
      return freed
    })
    const reservation = await budget.reserve(50, { rank: () => 7 })
    expect(asked).toEqual([[30, 7]])
    expect(budget.usedBytes).toBe(90)
    reservation.release()
  })

  test('any sequence of requests, aborts and releases ends at zero and never exceeds the total', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ bytes: fc.integer({ min: 0, max: 100 }), rank: fc.nat(3), abort: fc.boolean() }), {
          maxLength: 40,
        }),
        async (requests) => {
          const budget = new MemoryBudget(100)
          const jobs = requests.map(async ({ bytes, rank, abort }) => {
            const controller = new AbortController()
            if (abort) setImmediate(() => controller.abort())
            try {
              using _held = await budget.reserve(bytes, { rank: () => rank, signal: controller.signal })
              expect(budget.usedBytes).toBeLessThanOrEqual(100)
              await settled()
            } catch (error) {
              expect(error).toBe(controller.signal.reason)
            }
          })
          await Promise.all(jobs)
          expect([budget.usedBytes, budget.waiting]).toEqual([0, 0])
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('the size of the budget', () => {
  test('the smaller of cgroup limit and RAM, less a margin of at most 5 GiB or a quarter', () => {
    const auto = { totalBytes: 'auto', safetyMarginBytes: 'auto' } as const
    expect(budgetBytes(auto, { ramBytes: 256 * GIB })).toBe(251 * GIB)
    expect(budgetBytes(auto, { ramBytes: 256 * GIB, cgroupBytes: 8 * GIB })).toBe(6 * GIB)
    expect(budgetBytes({ ...auto, safetyMarginBytes: GIB }, { ramBytes: 4 * GIB })).toBe(3 * GIB)
    expect(budgetBytes({ totalBytes: 123, safetyMarginBytes: GIB }, { ramBytes: 4 * GIB })).toBe(123)
    expect(() => budgetBytes({ ...auto, safetyMarginBytes: 4 * GIB }, { ramBytes: 4 * GIB })).toThrow(RangeError)
    expect(budgetBytes(auto)).toBeGreaterThan(0)
  })
})
