import { describe, expect, it } from 'vitest'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import type { ReadRun } from '../../src/params/parameters-location.ts'
import { type SrsResource, SrsStore, type SrsStoreEvent } from '../../src/srs/srs-store.ts'

const idle: ReadRun = { signal: new AbortController().signal, unit: () => {} }

interface Load {
  readonly circuitId: CircuitId
  readonly run: ReadRun
  resolve(): void
  reject(error: Error): void
}

/** A store whose loads are settled by the test. */
function controlled() {
  const loads: Load[] = []
  const released: CircuitId[] = []
  const events: SrsStoreEvent[] = []
  const clock = { now: 0 }
  const store = new SrsStore<SrsResource & { circuitId: CircuitId }>({
    load: (circuitId, run) =>
      new Promise((resolve, reject) => {
        const resource = { circuitId, bytes: 100, development: false, release: () => void released.push(circuitId) }
        loads.push({ circuitId, run, resolve: () => resolve(resource), reject })
      }),
    onEvent: (event) => void events.push(event),
    now: () => clock.now,
  })
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return { store, loads, released, events, clock, turn }
}

describe('the store of parameters', () => {
  it('loads once for all who ask, and counts them', async () => {
    const { store, loads, events, turn } = controlled()
    const both = Promise.all([store.acquire('wpost-2k', idle), store.acquire('wpost-2k', idle)])
    await turn()
    expect(loads.length).toBe(1)
    loads[0]?.resolve()
    const [first, second] = await both
    expect(first.resource).toBe(second.resource)
    expect(store.status()).toMatchObject([{ circuitId: 'wpost-2k', bytes: 100, references: 2, idleMs: 0 }])
    first.release()
    first.release()
    expect(store.status()[0]?.references).toBe(1)
    expect(events.map(({ state }) => state)).toEqual(['loading', 'loaded'])
  })

  it('evicts what is idle, least recently used first, and nothing that is used', async () => {
    const { store, loads, events, released, clock, turn } = controlled()
    const acquire = async (circuitId: CircuitId) => {
      const lease = store.acquire(circuitId, idle)
      await turn()
      loads.at(-1)?.resolve()
      return lease
    }
    const [a, b, c] = [await acquire('wpost-2k'), await acquire('winning-2k'), await acquire('winning-32g')]
    clock.now = 10
    b.release()
    clock.now = 20
    a.release()
    clock.now = 50
    expect(store.status()).toMatchObject([
      { circuitId: 'winning-32g', references: 1, idleMs: 0 },
      { circuitId: 'winning-2k', references: 0, idleMs: 40 },
      { circuitId: 'wpost-2k', references: 0, idleMs: 30 },
    ])
    expect(await store.evict('winning-32g')).toBe(0)
    expect(await store.evict('winning-2k')).toBe(100)
    expect(await store.evict('winning-2k')).toBe(0)
    expect(released).toEqual(['winning-2k'])
    expect(events.at(-1)).toEqual({ circuitId: 'winning-2k', state: 'evicted', bytes: 100 })
    // Loaded anew afterwards.
    const again = store.acquire('winning-2k', idle)
    await turn()
    expect(loads.length).toBe(4)
    loads[3]?.resolve()
    ;(await again).release()
    c.release()
  })

  it('one who gives up does not stop the load for others', async () => {
    const { store, loads, turn } = controlled()
    const controller = new AbortController()
    const impatient = store.acquire('wpost-2k', { signal: controller.signal, unit: () => {} })
    const patient = store.acquire('wpost-2k', idle)
    await turn()
    controller.abort(new Error('no time'))
    await expect(impatient).rejects.toThrow('no time')
    expect(loads[0]?.run.signal.aborted).toBe(false)
    loads[0]?.resolve()
    expect((await patient).resource.bytes).toBe(100)
  })

  it('a load that nobody waits for is aborted, and what it still gives is released', async () => {
    const { store, loads, released, events, turn } = controlled()
    const controller = new AbortController()
    const only = store.acquire('wpost-2k', { signal: controller.signal, unit: () => {} })
    await turn()
    controller.abort(new Error('no time'))
    await expect(only).rejects.toThrow('no time')
    expect(loads[0]?.run.signal.aborted).toBe(true)
    loads[0]?.resolve()
    await turn()
    expect(released).toEqual(['wpost-2k'])
    expect(events.map(({ state, bytes }) => [state, bytes])).toEqual([
      ['loading', 0],
      ['evicted', 0],
    ])
    // Who comes later starts anew.
    const later = store.acquire('wpost-2k', idle)
    await turn()
    loads[1]?.resolve()
    expect((await later).resource.bytes).toBe(100)
  })

  it('a failed load fails all who wait, and the next one tries again', async () => {
    const { store, loads, events, turn } = controlled()
    const both = [store.acquire('wpost-2k', idle), store.acquire('wpost-2k', idle)]
    await turn()
    loads[0]?.reject(new Error('no such file'))
    for (const waiting of both) await expect(waiting).rejects.toThrow('no such file')
    expect(store.status()).toEqual([])
    const next = store.acquire('wpost-2k', idle)
    await turn()
    loads[1]?.resolve()
    expect((await next).resource.bytes).toBe(100)
    expect(events.map(({ state }) => state)).toEqual(['loading', 'evicted', 'loading', 'loaded'])
  })

  it('an aborted signal loads nothing', async () => {
    const { store, loads } = controlled()
    const run = { signal: AbortSignal.abort(new Error('early')), unit: () => {} }
    await expect(store.acquire('wpost-2k', run)).rejects.toThrow('early')
    expect(loads.length).toBe(0)
  })

  it('progress reaches all who wait', async () => {
    const { store, loads, turn } = controlled()
    const shares: number[] = []
    const run = { signal: idle.signal, unit: (share: number) => void shares.push(share) }
    const both = [store.acquire('wpost-2k', run), store.acquire('wpost-2k', run)]
    await turn()
    loads[0]?.run.unit(0.5)
    loads[0]?.resolve()
    await Promise.all(both)
    expect(shares).toEqual([0.5, 0.5])
  })

  it('close releases what is loaded and aborts what loads', async () => {
    const { store, loads, released, events, turn } = controlled()
    const loaded = store.acquire('wpost-2k', idle)
    await turn()
    loads[0]?.resolve()
    await loaded
    const loading = store.acquire('winning-2k', idle)
    loading.catch(() => {})
    await turn()
    await store.close()
    expect(released).toEqual(['wpost-2k'])
    expect(loads[1]?.run.signal.aborted).toBe(true)
    expect(store.status()).toEqual([])
    expect(events.slice(2)).toEqual([
      { circuitId: 'winning-2k', state: 'loading', bytes: 0 },
      { circuitId: 'wpost-2k', state: 'evicted', bytes: 100 },
      { circuitId: 'winning-2k', state: 'evicted', bytes: 0 },
    ])
  })
})
