/** Workers that die: real threads behind `WorkerLink`, and fake devices behind the engine. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { workerFile } from '../../src/cpu/wasm-file.ts'
import { ProcessLink } from '../../src/device/process-link.ts'
import { WorkerLink } from '../../src/device/worker-link.ts'
import { GpuUnavailableError, InvalidRequestError, WorkerExitedError } from '../../src/errors.ts'
import type { Milestone, Run } from '../../src/groth16/proving-device.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { delay, FakeMachine, recordEvents } from '../support/fake-device.ts'
import type { FaultFunctions } from '../support/fault-worker.js'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { openFiles, tellsOpenFiles } from '../support/open-files.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'
import { warningsOf } from '../support/warnings.ts'

const open = (): WorkerLink<FaultFunctions> =>
  new WorkerLink<FaultFunctions>(new URL('../support/fault-worker.js', import.meta.url), 'fault', { from: 'the test' })

describe('WorkerLink', () => {
  test('calls, progress, worker data and errors of their own class cross the thread', async () => {
    const link = open()
    expect(await link.call('echo', { bytes: new Uint8Array([1, 2]), big: 3n })).toEqual({
      bytes: new Uint8Array([1, 2]),
      big: 3n,
      workerData: { from: 'the test' },
    })
    const shares: number[] = []
    const passed: Milestone[] = []
    const options = { onProgress: (share: number) => shares.push(share), onPassed: (at: Milestone) => passed.push(at) }
    await link.call('count', { units: 5, unitMs: 30 }, options)
    expect(shares.length).toBeGreaterThan(2)
    expect(passed).toEqual(['taken', 'divided'])
    const error = await proverErrorOf(() => link.call('refuse', undefined))
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details).toEqual({ field: 'randomness', sector: 7n })
    expect((error.cause as Error).message).toBe('the cause')
    await expect(link.call('missing' as 'echo', {})).rejects.toThrow('no function missing')
    await link.terminate()
  })

  test('a remark for the log comes before the reply', async () => {
    const link = open()
    const notes: string[] = []
    await link.call('remark', 'no room for the memo', { onNote: (message) => notes.push(message) })
    await link.call('remark', 'nobody listens')
    expect(notes).toEqual(['no room for the memo'])
    await link.terminate()
  })

  test('a shared array crosses without a copy', async () => {
    const link = open()
    const shared = new Uint8Array(new SharedArrayBuffer(4))
    await link.call('fill', shared)
    expect([...shared]).toEqual([7, 7, 7, 7])
    await link.terminate()
  })

  test('an abort reaches the worker, and the call rejects with its reason when the work has stopped', async () => {
    const link = open()
    const abort = new AbortController()
    const counting = link.call('count', { units: 1000, unitMs: 5 }, { signal: abort.signal })
    await delay(50)
    abort.abort('enough')
    await expect(counting).rejects.toBe('enough')
    await expect(link.call('echo', {}, { signal: abort.signal })).rejects.toBe('enough')
    expect(await link.call('running', undefined)).toBe(0)
    await link.terminate()
  })

  test.each(['exit', 'throw'] as const)(
    'calls in flight reject when the worker dies by %s, and so do later ones',
    async (how) => {
      const link = open()
      const counting = proverErrorOf(() => link.call('count', { units: 1000, unitMs: 5 }))
      await delay(20)
      const dying = proverErrorOf(() => link.call('die', how))
      for (const error of [await counting, await dying]) {
        expect(error).toBeInstanceOf(WorkerExitedError)
        expect(error.retryable).toBe(true)
      }
      expect((await link.exited).message).toContain(how === 'exit' ? 'code 3' : 'died of its own')
      await expect(link.call('echo', {})).rejects.toBeInstanceOf(WorkerExitedError)
      await link.terminate()
    },
  )

  test('one signal stops a dozen calls, without a warning of listeners', async () => {
    const warnings = await warningsOf(async () => {
      const link = open()
      const abort = new AbortController()
      const calls = Array.from({ length: 12 }, () =>
        link.call('count', { units: 1000, unitMs: 5 }, { signal: abort.signal }),
      )
      const settled = Promise.allSettled(calls)
      await delay(20)
      abort.abort('enough')
      expect(await settled).toEqual(calls.map(() => ({ status: 'rejected', reason: 'enough' })))
      await link.terminate()
    })
    expect(warnings).toEqual([])
  })

  test('what a call returned is not held until the worker ends', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const link = open()
    const first = process.memoryUsage().arrayBuffers
    for (let call = 0; call < 40; call++) await link.call('echo', { bytes: new Uint8Array(2 ** 20) })
    // 40 MiB came back. A single collection may find some of it on its way still.
    const held = (): number => {
      collect()
      return process.memoryUsage().arrayBuffers - first
    }
    await expect.poll(held, { timeout: 5_000 }).toBeLessThan(10 * 2 ** 20)
    await link.terminate()
  })

  test('case 24: a call settles though its link is collected meanwhile, and rejects when the thread is ended', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const counting = open().call('count', { units: 20, unitMs: 5 })
    for (let k = 0; k < 5; k++) {
      await delay(10)
      collect()
    }
    expect(await counting).toBeUndefined()
    const link = open()
    const calls = [1, 2].map(() => proverErrorOf(() => link.call('count', { units: 1000, unitMs: 5 })))
    await delay(20)
    const from = performance.now()
    await link.terminate()
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(['ERR_WORKER_EXITED', 'ERR_WORKER_EXITED'])
    expect(performance.now() - from).toBeLessThan(1_000)
  })

  test('one that ends by a function is asked to, and ended if it does not; what is in flight rejects at once', async () => {
    const file = new URL('../support/fault-worker.js', import.meta.url)
    const link = new WorkerLink<FaultFunctions>(file, 'ends itself', undefined, { endsBy: 'stop' })
    const beats = new Int32Array(new SharedArrayBuffer(4))
    await link.call('beat', beats)
    const counting = proverErrorOf(() => link.call('count', { units: 10_000, unitMs: 5 }))
    await delay(20)
    const [ending, again] = [link.terminate(), link.terminate()]
    expect((await counting).message).toContain('was given up')
    await expect(link.call('echo', {})).rejects.toBeInstanceOf(WorkerExitedError)
    await Promise.all([ending, again])
    const last = beats[0]
    expect(last).toBeGreaterThan(0)
    await delay(30)
    expect(beats[0]).toBe(last)
  })

  test('one that is given up in the middle of something holds its process open until it has ended', async () => {
    const child = fileURLToPath(new URL('../support/left-child.js', import.meta.url))
    // Longer than a thread is waited for.
    const { stdout } = await promisify(execFile)(process.execPath, [child, '3000'])
    expect(stdout).toBe('given up, then it\ncame to its end')
  })

  test.runIf(tellsOpenFiles)('one that is ended while it loads leaves no module open', async () => {
    // One with a hundred of them.
    const file = workerFile('synthesis/synthesis-worker.js')
    for (let ms = 15; ms < 90; ms += 5) {
      const link = new WorkerLink<Record<never, never>>(file, 'loads', undefined)
      await delay(ms)
      await link.terminate()
    }
    expect(openFiles().filter((path) => path.endsWith('.js') || path.endsWith('.mjs'))).toEqual([])
  })

  test('a file that is not there', async () => {
    const link = new WorkerLink<FaultFunctions>(new URL('./none.js', import.meta.url), 'none', undefined)
    await expect(link.call('echo', {})).rejects.toBeInstanceOf(WorkerExitedError)
  })
})

describe('ProcessLink', () => {
  type Functions = Pick<FaultFunctions, 'echo' | 'count' | 'remark'> & {
    readonly crash: (signal: string, run: Run) => Promise<void>
    readonly sums: (args: { arrays: readonly Uint8Array[] }, run: Run) => { of: [number, number][]; left: number[] }
    readonly block: (args: { ms: number; signal?: string }, run: Run) => void
    readonly residentBytes: (args: undefined, run: Run) => number
  }
  const file = new URL('../support/fault-child.js', import.meta.url)
  const start = (): ProcessLink<Functions> => new ProcessLink<Functions>(file, 'fault')

  test.each(['SIGSEGV', 'SIGABRT', 'SIGKILL'])(
    'case 40: a process that ends by %s rejects its calls by that name, and harms neither this one nor the next',
    async (signal) => {
      const link = start()
      const counting = proverErrorOf(() => link.call('count', { units: 1000, unitMs: 5 }))
      const crashed = await proverErrorOf(() => link.call('crash', signal))
      for (const error of [crashed, await counting]) {
        expect(error).toBeInstanceOf(WorkerExitedError)
        expect(error.message).toContain(`was ended by ${signal}`)
        // Its last words.
        expect(error.message).toContain('memory was not to be read')
      }
      await expect(link.call('echo', {})).rejects.toBeInstanceOf(WorkerExitedError)
      await link.terminate()
      const next = start()
      expect(await next.call('echo', { big: 3n })).toEqual({ big: 3n })
      await next.terminate()
    },
  )

  test('remarks and progress come back, an abort goes out, and terminate rejects what is in flight', async () => {
    const link = start()
    const notes: string[] = []
    const shares: number[] = []
    await link.call('remark', 'no room', { onNote: (message) => notes.push(message) })
    const passed: Milestone[] = []
    const options = { onProgress: (share: number) => shares.push(share), onPassed: (at: Milestone) => passed.push(at) }
    await link.call('count', { units: 5, unitMs: 30 }, options)
    expect([notes, shares.length > 2, passed]).toEqual([['no room'], true, ['taken', 'divided']])
    const abort = new AbortController()
    const counting = link.call('count', { units: 1000, unitMs: 5 }, { signal: abort.signal })
    abort.abort('enough')
    await expect(counting).rejects.toBe('enough')
    const last = proverErrorOf(() => link.call('count', { units: 1000, unitMs: 5 }))
    await link.terminate()
    expect((await last).code).toBe('ERR_WORKER_EXITED')
  })

  /** More than any pipe holds. */
  const large = (): Uint8Array => new Uint8Array(12 * 2 ** 20).fill(1)

  test('byte arrays cross whole: shared ones, parts of others, empty ones, of calls that are made at once', async () => {
    const link = start()
    const shared = new Uint8Array(new SharedArrayBuffer(3 * 2 ** 20 + 5)).fill(2)
    const part = new Uint8Array(100).fill(3).subarray(10, 17)
    const [first, second, third] = await Promise.all([
      link.call('sums', { arrays: [shared, part, new Uint8Array(0)] }),
      link.call('sums', { arrays: [large(), Buffer.from([250, 5])] }),
      link.call('echo', { list: [{ bytes: part }], set: new Set([1]), nothing: undefined }),
    ])
    expect(first).toEqual({
      of: [
        [3 * 2 ** 20 + 5, 6 * 2 ** 20 + 10],
        [7, 21],
        [0, 0],
      ],
      left: [0, 0, 0],
    })
    expect(second.of).toEqual([
      [12 * 2 ** 20, 12 * 2 ** 20],
      [2, 255],
    ])
    expect(third).toEqual({ list: [{ bytes: new Uint8Array(7).fill(3) }], set: new Set([1]), nothing: undefined })
    await link.terminate()
  })

  test('a process that does not read holds the sender up: little is copied ahead', async () => {
    const link = start()
    await link.call('block', { ms: 300 })
    await delay(50)
    const before = process.memoryUsage().arrayBuffers
    const arrays = [large(), large()]
    const sending = link.call('sums', { arrays })
    await delay(100)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(26 * 2 ** 20)
    expect((await sending).of).toEqual(arrays.map(({ length }) => [length, length]))
    await link.terminate()
  })

  test('an abort in mid-send: the call rejects once nothing is sent any more, and the process drops what came', async () => {
    const link = start()
    const abortOne = async (): Promise<void> => {
      await link.call('block', { ms: 150 })
      await delay(30)
      const abort = new AbortController()
      // The first array has come when the second is on its way.
      const second = new Uint8Array(new SharedArrayBuffer(100 * 2 ** 20))
      const sending = link.call('sums', { arrays: [large(), second] }, { signal: abort.signal })
      await delay(200)
      abort.abort('enough')
      await expect(sending).rejects.toBe('enough')
    }
    await abortOne()
    const before = await link.call('residentBytes', undefined)
    for (let k = 0; k < 5; k++) await abortOne()
    // 5 times 12 MiB and more came.
    expect((await link.call('residentBytes', undefined)) - before).toBeLessThan(30 * 2 ** 20)
    expect((await link.call('sums', { arrays: [large()] })).of).toEqual([[12 * 2 ** 20, 12 * 2 ** 20]])
    await link.terminate()
  })

  test.each(['SIGKILL', 'SIGSEGV'])(
    'a process that ends by %s in mid-send rejects the call by that name',
    async (signal) => {
      const link = start()
      await link.call('block', { ms: 100, signal })
      await delay(30)
      const error = await proverErrorOf(() => link.call('sums', { arrays: [large(), large()] }))
      expect(error).toBeInstanceOf(WorkerExitedError)
      expect(error.message).toContain(`was ended by ${signal}`)
      const later = await proverErrorOf(() => link.call('sums', { arrays: [large()] }))
      expect(later).toBeInstanceOf(WorkerExitedError)
    },
  )

  test('terminate in mid-send rejects the call', async () => {
    const link = start()
    await link.call('block', { ms: 60_000 })
    await delay(30)
    const sending = proverErrorOf(() => link.call('sums', { arrays: [large()] }))
    await delay(30)
    await link.terminate()
    expect((await sending).code).toBe('ERR_WORKER_EXITED')
  })
})

describe('the engine', () => {
  test('restarts a device that died while idle', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    const seen: string[] = []
    engine.on('gpu', ({ state }) => seen.push(state))
    machine.clients[0]?.die('out of the blue')
    await engine.prove(windowRequest())
    expect(seen).toEqual(['lost', 'ready'])
    expect(engine.status().gpus).toMatchObject([{ ordinal: 0, generation: 2, state: 'idle' }])
    await engine.close()
  })

  test('proves the partition again that a device died with, and only that one', async () => {
    const machine = new FakeMachine().fail('prove', 3, { kind: 'die' })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const result = await engine.prove(syntheticWindowRequest('2k', 10))
    expect(result.partitions).toBe(5)
    expect([machine.calls('prove'), machine.calls('synthesize')]).toEqual([6, 5])
    expect(seen.filter((event) => /^retry/.test(event))).toEqual(['retry 2 2'])
    await engine.close()
    expect(machine.open).toBe(0)
  })

  test('a device that dies while it loads parameters is no reason to fail', async () => {
    const machine = new FakeMachine().fail('warm', 1, { kind: 'die' })
    const engine = await machine.engine()
    await engine.prove(windowRequest())
    await engine.close()
  })

  test('a device that dies every time fails the job, and is quarantined after three restarts in a row', async () => {
    const machine = new FakeMachine()
    for (let nth = 1; nth <= 6; nth++) machine.fail('prove', nth, { kind: 'die' })
    const engine = await machine.engine()
    const first = await proverErrorOf(() => engine.prove(windowRequest()))
    expect(first).toBeInstanceOf(WorkerExitedError)
    const second = await proverErrorOf(() => engine.prove(winningRequest()))
    expect(second).toBeInstanceOf(GpuUnavailableError)
    expect(engine.status().gpus).toMatchObject([{ state: 'quarantined' }])
    const { memory, queue } = engine.status()
    expect([memory.waiting, queue.queued, queue.active]).toEqual([0, 0, 0])
    await engine.close()
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test('with one of two devices broken, the other does all', async () => {
    const machine = new FakeMachine({ devices: 2 }).fail('start', 1, { kind: 'throw', error: new Error('no driver') })
    const engine = await machine.engine()
    await engine.prove(syntheticWindowRequest('2k', 6))
    expect(engine.status().gpus.map(({ state, reason }) => [state, reason])).toEqual([
      ['excluded', 'no driver'],
      ['idle', undefined],
    ])
    await engine.close()
  })
})
