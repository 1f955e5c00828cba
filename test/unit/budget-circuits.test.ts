/** Sizes and estimates of circuits, and what devices keep of them. */
import { describe, expect, test, vi } from 'vitest'
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateCircuit, neededBytes } from '../../src/budget/estimates.ts'
import { MemoryBudget, type Reservation } from '../../src/budget/memory-budget.ts'
import { Residency } from '../../src/budget/residency.ts'
import { CIRCUIT_FAMILIES, type CircuitId, circuitIdOf, SECTOR_SIZE_TAGS } from '../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { serializeShape } from '../../src/cpu/circuit-machine/image.ts'
import { LIMB_RECORD_BYTES } from '../../src/cpu/circuit-machine/limbs.ts'
import { shapeImageBytes } from '../../src/cpu/working-set.ts'
import { paramsLayout } from '../../src/params/layout.ts'

const CIRCUITS = CIRCUIT_FAMILIES.flatMap((family) => SECTOR_SIZE_TAGS.map((size) => circuitIdOf(family, size)))

describe('sizes', () => {
  test.each(CIRCUITS)('of %s are those of its shape', (circuitId) => {
    const shape = circuitShape(circuitId)
    const { inputs, aux, constraints, log2Domain, root } = shape
    const { bits, wide } = root.totals
    const size = circuitSize(circuitId)
    if (size === undefined) throw new Error('no size')
    expect(size).toMatchObject({ inputs, aux, constraints, log2Domain, bits, wide })
    expect(paramsLayout(size)).toEqual(paramsLayout(shape))
    // A proof on a device places both; the estimate is for the largest sector.
    const image = serializeShape(shape).words.byteLength + 2 * LIMB_RECORD_BYTES * shape.coefficients.length
    expect(image).toBeLessThan(shapeImageBytes(size))
  })

  test.each(['porep-2k', 'snap-2k'] as const)('%s fits into 2 GB', (circuitId) => {
    const size = circuitSize(circuitId)
    if (size === undefined) throw new Error('no size')
    const estimate = estimateCircuit(size, { totalBytes: 8 * 2 ** 30, threads: 2 })
    expect(neededBytes(estimate)).toBeLessThan(2e9)
  })

  test('unknown circuits have none', () => {
    expect(circuitSize('constructor' as CircuitId)).toBeUndefined()
  })

  test('a WinningPoSt of 32 GiB fits into 1 GB with its points kept', () => {
    const size = circuitSize('winning-32g')
    if (size === undefined) throw new Error('no size')
    const estimate = estimateCircuit(size, { totalBytes: 4 * 2 ** 30, threads: 2 })
    expect(estimate.keepPoints).toBe(true)
    // h 2^19 − 1, l 375,210, a 133 + 284,196, b_g1 and b_g2 1 + 272,184 points: 1,456,011 of 128 bytes and 272,185 of
    // 256.
    expect(estimate.pointBytes).toBe(128 * 1_456_011 + 256 * 272_185)
    expect(neededBytes(estimate)).toBeLessThan(1e9)
    expect(estimateCircuit(size, { totalBytes: 2 ** 29, threads: 2 }).keepPoints).toBe(false)
  })
})

describe('residency', () => {
  const setUp = (total: number) => {
    const budget = new MemoryBudget(total)
    const clock = { ms: 0 }
    const loaded = new Set<CircuitId>()
    const evicted: CircuitId[] = []
    const state = { busy: true }
    const residency = new Residency({
      budget,
      minIdleMs: 300_000,
      now: () => clock.ms,
      busy: () => state.busy,
      loaded: (circuitId) => loaded.has(circuitId),
      evict: async (circuitId) => {
        evicted.push(circuitId)
        loaded.delete(circuitId)
      },
    })
    /** One partition's way with a circuit: 10 bytes of working set. */
    const use = async (circuitId: CircuitId, bytes: number, rank = 1) => {
      const entry = residency.use(circuitId, bytes, () => rank)
      const onGrant = (memory: Reservation): void => entry.settle(memory)
      const memory = await budget.reserve(() => 10 + entry.missingBytes(), { rank: () => rank, onGrant })
      loaded.add(circuitId)
      return () => {
        memory.release()
        entry[Symbol.dispose]()
      }
    }
    return { budget, clock, evicted, state, residency, use, loaded }
  }

  test('is paid for once, by the first user, and stays for the next', async () => {
    const { budget, use, residency } = setUp(100)
    const [first, second] = [await use('wpost-2k', 40), await use('wpost-2k', 40)]
    expect(budget.usedBytes).toBe(60)
    first()
    second()
    expect(budget.usedBytes).toBe(40)
    expect(residency.rows()).toEqual([{ circuitId: 'wpost-2k', bytes: 40, idleMs: 0, evictable: true }])
    ;(await use('wpost-2k', 40))()
    residency.close()
    expect(budget.usedBytes).toBe(0)
  })

  test('idle for 4:59 it stays while others work, at 5:00 it goes without any other event', async () => {
    vi.useFakeTimers()
    try {
      const { clock, evicted, use } = setUp(100)
      ;(await use('wpost-2k', 60))()
      let granted = false
      const waiting = use('winning-2k', 60).then(() => {
        granted = true
      })
      clock.ms = 299_999
      await vi.advanceTimersByTimeAsync(299_999)
      expect([granted, evicted]).toEqual([false, []])
      clock.ms = 300_000
      await vi.advanceTimersByTimeAsync(1)
      await waiting
      expect(evicted).toEqual(['wpost-2k'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('of several the first that has been idle for long enough goes at that moment', async () => {
    vi.useFakeTimers()
    try {
      const { clock, evicted, use } = setUp(100)
      ;(await use('wpost-2k', 30))()
      clock.ms = 100_000
      ;(await use('wpost-8m', 30))()
      // 60 are needed and 40 free: either would do.
      let granted = false
      const waiting = use('winning-2k', 50).then(() => {
        granted = true
      })
      clock.ms = 299_999
      await vi.advanceTimersByTimeAsync(199_999)
      expect([granted, evicted]).toEqual([false, []])
      clock.ms = 300_000
      await vi.advanceTimersByTimeAsync(1)
      await waiting
      expect(evicted).toEqual(['wpost-2k'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('goes at once for a waiter of higher rank, or when nothing is in flight', async () => {
    const { evicted, use, state } = setUp(100)
    ;(await use('wpost-2k', 60))()
    ;(await use('winning-2k', 60, 2))()
    expect(evicted).toEqual(['wpost-2k'])
    state.busy = false
    ;(await use('wpost-2k', 60))()
    expect(evicted).toEqual(['wpost-2k', 'winning-2k'])
  })

  test('the least recently used goes first, and no more than needed', async () => {
    const { clock, evicted, use, state } = setUp(100)
    state.busy = false
    for (const circuitId of ['wpost-2k', 'wpost-8m', 'winning-2k'] as const) {
      clock.ms++
      ;(await use(circuitId, 25))()
    }
    clock.ms++
    ;(await use('wpost-2k', 25))()
    ;(await use('winning-8m', 30))()
    expect(evicted).toEqual(['wpost-8m'])
  })

  test('in use, or kept, it never goes', async () => {
    const { budget, clock, evicted, use, residency, state } = setUp(100)
    state.busy = false
    const inUse = await use('wpost-2k', 30)
    ;(await use('winning-2k', 30))()
    residency.keep('winning-2k')
    clock.ms = 10 ** 9
    const abort = new AbortController()
    const waiting = budget.reserve(60, { rank: () => 3, signal: abort.signal })
    await new Promise((resolve) => setImmediate(resolve))
    expect(evicted).toEqual([])
    abort.abort('no')
    await expect(waiting).rejects.toBe('no')
    inUse()
  })

  test('what failed to load is not kept', async () => {
    const { budget, use, loaded } = setUp(100)
    const end = await use('wpost-2k', 60)
    loaded.delete('wpost-2k')
    end()
    expect(budget.usedBytes).toBe(0)
  })
})
