import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { budgetBytes } from '../../src/budget/detect-memory.ts'
import { type CircuitEstimate, partitionBytes } from '../../src/budget/estimates.ts'
import { Inputs } from '../../src/budget/inputs.ts'
import { MemoryBudget, type Reservation } from '../../src/budget/memory-budget.ts'
import { PartitionMemory } from '../../src/budget/partition-memory.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { BudgetExceededError, QueueFullError } from '../../src/errors.ts'

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

describe('inputs', () => {
  const needs: Partial<Record<CircuitId, number>> = { 'winning-2k': 30, 'porep-2k': 60 }
  const setUp = (kept = 0) => {
    const budget = new MemoryBudget(100)
    const inputs = new Inputs({
      budget,
      partitionBytes: (circuitId) => needs[circuitId] as number,
      keptBytes: () => kept,
    })
    return { budget, inputs }
  }
  const never = new AbortController().signal
  const bytes = (held: number, reading = 0) => ({ held, reading })

  test('are counted from when they are taken to the end of the job, the form in which they came until it is read', async () => {
    const { budget, inputs } = setUp()
    const input = inputs.admit('winning-2k', bytes(10, 20))
    expect([budget.usedBytes, inputs.bytes]).toEqual([0, 0])
    await input.take(() => 1, never)
    expect([budget.usedBytes, inputs.bytes]).toEqual([30, 30])
    input.read()
    expect([budget.usedBytes, inputs.bytes]).toEqual([10, 10])
    input[Symbol.dispose]()
    expect([budget.usedBytes, inputs.bytes]).toEqual([0, 0])
  })

  test('that leave no room for a partition of their own job are refused with the numbers', () => {
    const error = captured(() => setUp(20).inputs.admit('porep-2k', bytes(11, 10)))
    expect(error).toBeInstanceOf(BudgetExceededError)
    // 21 of input, 60 of partition, 20 kept.
    expect((error as BudgetExceededError).details).toEqual({
      field: 'memory.totalBytes',
      expected: 'at least 101',
      received: '100',
    })
  })

  test('leave room for the largest partition of all jobs in hand', async () => {
    const { inputs } = setUp(10)
    // Of 100, 10 are kept and 30 are for a partition: 60 for inputs.
    const first = inputs.admit('winning-2k', bytes(40))
    expect(captured(() => inputs.admit('winning-2k', bytes(21)))).toBeInstanceOf(QueueFullError)
    const second = inputs.admit('winning-2k', bytes(5, 15))
    // A larger partition would not fit beside them; once the second is read and the first is gone it does.
    expect(captured(() => inputs.admit('porep-2k', bytes(1)))).toBeInstanceOf(QueueFullError)
    second.read()
    first[Symbol.dispose]()
    const third = inputs.admit('porep-2k', bytes(25))
    expect(captured(() => inputs.admit('winning-2k', bytes(1)))).toBeInstanceOf(QueueFullError)
    third[Symbol.dispose]()
    inputs.admit('winning-2k', bytes(55))
  })

  test('may keep a circuit from being preloaded for good, and jobs that do not fit beside it anyhow do not', () => {
    const { inputs } = setUp()
    const input = inputs.admit('porep-2k', bytes(11))
    // 11 of input, 60 of partition, 30 to be kept.
    expect(captured(() => inputs.admitKept('winning-2k'))).toBeInstanceOf(QueueFullError)
    input[Symbol.dispose]()
    const smaller = inputs.admit('porep-2k', bytes(10))
    inputs.admitKept('winning-2k')
    smaller[Symbol.dispose]()
    const full = setUp(20).inputs
    full.admit('porep-2k', bytes(1))
    // 20, 30 and 60 are more than all, so that job is refused when the preload has come.
    full.admitKept('winning-2k')
  })

  test('go ahead of all that wait for memory, whatever its rank', async () => {
    const { budget, inputs } = setUp()
    const running = await budget.reserve(90)
    const waiting = budget.reserve(30, { rank: () => 3 })
    const input = inputs.admit('winning-2k', bytes(20))
    const taken = input.take(() => 0, never)
    expect([await state(waiting), await state(taken)]).toEqual(['pending', 'pending'])
    running.release(10)
    expect([await state(waiting), await state(taken), budget.usedBytes]).toEqual(['pending', 'resolved', 100])
    running.release()
    expect(await state(waiting)).toBe('resolved')
  })

  test('that are given up while they wait leave nothing', async () => {
    const { budget, inputs } = setUp()
    const running = await budget.reserve(100)
    const input = inputs.admit('winning-2k', bytes(70))
    const abort = new AbortController()
    const taken = input.take(() => 0, abort.signal)
    abort.abort('enough')
    await expect(taken).rejects.toBe('enough')
    input[Symbol.dispose]()
    inputs.admit('winning-2k', bytes(70))
    running.release()
    expect([budget.usedBytes, budget.waiting]).toEqual([0, 0])
  })
})

describe('what a partition holds', () => {
  const estimate: CircuitEstimate = {
    synthesisBytes: 1,
    sentBytes: 20,
    quotientBytes: 30,
    witnessBytes: 4,
    deviceBytes: 5,
    residentBytes: 0,
    pointBytes: 0,
    keepPoints: false,
  }

  test('goes part by part, each once, and the rest at the end', async () => {
    const budget = new MemoryBudget(100)
    const memory = new PartitionMemory(budget, await budget.reserve(partitionBytes(estimate)), estimate)
    const used = [budget.usedBytes]
    for (const part of ['synthesis', 'sent', 'sent', 'quotient'] as const) {
      memory.freed(part)
      used.push(budget.usedBytes)
    }
    memory[Symbol.dispose]()
    expect([...used, budget.usedBytes]).toEqual([60, 59, 39, 39, 9, 0])
  })

  test('is less by what of the witness is the input', async () => {
    const budget = new MemoryBudget(100)
    const memory = new PartitionMemory(budget, await budget.reserve(partitionBytes(estimate)), estimate)
    memory.isInput(3)
    expect(budget.usedBytes).toBe(57)
    memory[Symbol.dispose]()
    expect(budget.usedBytes).toBe(0)
  })

  test('comes back where it is free and nobody waits for it', async () => {
    const budget = new MemoryBudget(100)
    const memory = new PartitionMemory(budget, await budget.reserve(partitionBytes(estimate)), estimate)
    for (const part of ['synthesis', 'sent', 'quotient'] as const) memory.freed(part)
    const other = await budget.reserve(60)
    // 31 are free: enough for what was sent, too little for the quotient.
    expect(memory.takeBack()).toBe(false)
    other.release()
    expect([memory.takeBack(), budget.usedBytes]).toEqual([true, 59])
    memory.freed('quotient')
    const waiting = budget.reserve(80)
    expect(memory.takeBack()).toBe(false)
    memory[Symbol.dispose]()
    expect((await waiting).bytes).toBe(80)
  })

  test('is nothing where a preload keeps it', async () => {
    const budget = new MemoryBudget(100)
    const memory = new PartitionMemory(budget, await budget.reserve(0), estimate)
    for (const part of ['synthesis', 'sent', 'quotient'] as const) memory.freed(part)
    memory.isInput(3)
    expect([memory.takeBack(), budget.usedBytes]).toEqual([true, 0])
    memory[Symbol.dispose]()
    expect(budget.usedBytes).toBe(0)
  })
})

/** What a call throws. */
function captured(call: () => unknown): unknown {
  try {
    call()
    return undefined
  } catch (error) {
    return error
  }
}

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
