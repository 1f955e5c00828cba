/** What batches on one device share of a circuit: nobody loses it to another's end, abort or failure. */
import { describe, expect, test } from 'vitest'
import { type OpenCircuit, OpenCircuits } from '../../src/device/open-circuits.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { settle } from '../support/fake-time.ts'

const circuit = (digest = 'a') => ({
  circuitId: 'wpost-2k' as const,
  keepPoints: false,
  parameters: {
    circuitId: 'wpost-2k' as const,
    development: true,
    paramsFile: 'x.params',
    vkFile: 'x.vk',
    paramsDigest: digest,
    vkDigest: 'b',
  },
})

const runOf = (signal: AbortSignal = new AbortController().signal, shares: number[] = []): Run => ({
  signal,
  unit: (share) => void shares.push(share),
})

/** Circuits whose opening the test ends, and that count what of them is held. */
class Bench {
  held = 0
  readonly loads: { run: Run; end: () => void; fail: (error: unknown) => void }[] = []
  readonly circuits = new OpenCircuits((_, run) => this.#open(run))

  async #open(run: Run): Promise<OpenCircuit> {
    await new Promise<void>((end, fail) => {
      this.loads.push({ run, end, fail })
      run.signal.addEventListener('abort', () => setImmediate(() => fail(run.signal.reason)))
    })
    this.held += 3
    const release = (): void => void this.held--
    return { shape: { release }, points: { release }, file: { key: {}, close: async () => release() } } as never
  }
}

describe('an open circuit', () => {
  test('is shared, stays open between uses, and is opened anew for other parameters', async () => {
    const { circuits, loads } = new Bench()
    const both = [circuits.use(circuit(), runOf()), circuits.use(circuit(), runOf())]
    loads[0]?.end()
    for (const use of await Promise.all(both)) use[Symbol.dispose]()
    ;(await circuits.use(circuit(), runOf()))[Symbol.dispose]()
    expect(loads.length).toBe(1)
    const other = circuits.use(circuit('made anew'), runOf())
    expect(loads.length).toBe(2)
    loads[1]?.end()
    ;(await other)[Symbol.dispose]()
  })

  test('that is forgotten in use is freed by the last who uses it; who comes meanwhile opens another', async () => {
    const bench = new Bench()
    const { circuits, loads } = bench
    const opening = [circuits.use(circuit(), runOf()), circuits.use(circuit(), runOf())]
    loads[0]?.end()
    const [first, second] = await Promise.all(opening)
    await circuits.forget('wpost-2k')
    expect(bench.held).toBe(3)
    const next = circuits.use(circuit(), runOf())
    expect(loads.length).toBe(2)
    loads[1]?.end()
    await next
    first?.[Symbol.dispose]()
    first?.[Symbol.dispose]()
    await settle()
    expect(bench.held).toBe(6)
    second?.[Symbol.dispose]()
    await settle()
    expect(bench.held).toBe(3)
  })

  test('is given up for memory only if nobody uses it', async () => {
    const bench = new Bench()
    const opening = bench.circuits.use(circuit(), runOf())
    bench.loads[0]?.end()
    const use = await opening
    await bench.circuits.forgetIdle()
    expect(bench.held).toBe(3)
    use[Symbol.dispose]()
    await bench.circuits.forgetIdle((circuitId) => circuitId !== 'wpost-2k')
    expect(bench.held).toBe(3)
    await bench.circuits.forgetIdle()
    expect(bench.held).toBe(0)
  })

  test('closing waits for those that still end, but not for ever', async () => {
    const bench = new Bench()
    const opening = bench.circuits.use(circuit(), runOf())
    bench.loads[0]?.end()
    const use = await opening
    setTimeout(() => use[Symbol.dispose](), 20)
    await bench.circuits.close(5_000)
    expect(bench.held).toBe(0)
    const another = bench.circuits.use(circuit(), runOf())
    bench.loads[1]?.end()
    await another
    await bench.circuits.close(10)
    expect(bench.held).toBe(3)
  })
})

describe('opening', () => {
  test('goes on for the others when the first who asked gives up, and tells all how far it is', async () => {
    const { circuits, loads } = new Bench()
    const abort = new AbortController()
    const shares: number[] = []
    const first = circuits.use(circuit(), runOf(abort.signal))
    const second = circuits.use(circuit(), runOf(undefined, shares))
    abort.abort('enough')
    await expect(first).rejects.toBe('enough')
    loads[0]?.run.unit(0.5)
    loads[0]?.end()
    expect((await second).file).toBeDefined()
    expect([loads.length, shares]).toEqual([1, [0.5]])
  })

  test('stops when the last has given up, who hears of it then; who comes next begins anew', async () => {
    const bench = new Bench()
    const { circuits, loads } = bench
    const abort = new AbortController()
    let stopped = false
    const only = circuits.use(circuit(), runOf(abort.signal)).catch((reason) => {
      stopped = true
      return reason
    })
    abort.abort('enough')
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    expect([stopped, loads[0]?.run.signal.aborted]).toEqual([false, true])
    const next = circuits.use(circuit(), runOf())
    expect(await only).toBe('enough')
    expect(loads.map(({ run }) => run.signal.aborted)).toEqual([true, false])
    loads[1]?.end()
    await next
    expect(bench.held).toBe(3)
  })

  test('that was forgotten stops likewise', async () => {
    const bench = new Bench()
    const abort = new AbortController()
    const only = bench.circuits.use(circuit(), runOf(abort.signal))
    only.catch(() => {})
    await bench.circuits.forget('wpost-2k')
    expect(bench.loads[0]?.run.signal.aborted).toBe(false)
    abort.abort('enough')
    await expect(only).rejects.toBe('enough')
    expect([bench.loads[0]?.run.signal.aborted, bench.held]).toEqual([true, 0])
  })

  test('that fails fails for all who waited, and not for who comes next', async () => {
    const { circuits, loads } = new Bench()
    const both = [circuits.use(circuit(), runOf()), circuits.use(circuit(), runOf())]
    const failure = new Error('bad file')
    loads[0]?.fail(failure)
    for (const use of both) await expect(use).rejects.toBe(failure)
    const next = circuits.use(circuit(), runOf())
    loads[1]?.end()
    expect((await next).file).toBeDefined()
  })
})
