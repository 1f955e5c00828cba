import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { ComputePool } from '../../src/cpu/thread-pool.ts'
import { WorkerExitedError } from '../../src/errors.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { openFiles } from '../support/open-files.ts'
import { warningsOf } from '../support/warnings.ts'

const TASKS = new URL('../support/fault-tasks.js', import.meta.url)
const run = (signal: AbortSignal = new AbortController().signal, shares: number[] = []): Run => ({
  signal,
  unit: (share) => shares.push(share),
})

let pool: ComputePool
const open = async (threads: number): Promise<ComputePool> => {
  pool = await ComputePool.create({ threads, taskModules: [TASKS] })
  return pool
}
afterEach(() => pool.close())

describe('ComputePool', () => {
  it('runs tasks on all threads, keeps the order of results and reports each unit', async () => {
    await open(2)
    const shares: number[] = []
    const results = await pool.run('square', [1, 2, 3, 4], run(undefined, shares))
    expect(results).toEqual([1, 4, 9, 16])
    expect(shares).toEqual([0.25, 0.5, 0.75, 1])
    expect(new Set(await pool.run('threadOf', [20, 20, 20, 20], run())).size).toBe(2)
    expect(await pool.run('square', [], run())).toEqual([])
  })

  it('gives urgent tasks the next thread, and goes on with the others behind them', async () => {
    await open(1)
    const ended: string[] = []
    const told = (name: string): Run => ({ signal: new AbortController().signal, unit: () => ended.push(name) })
    const long = pool.run('square', Array(6).fill(2), told('long'))
    const urgent = pool.run('square', [3, 4], { ...told('urgent'), urgent: true })
    expect([await long, await urgent]).toEqual([Array(6).fill(4), [9, 16]])
    // One task was on the thread already.
    expect(ended).toEqual(['long', 'urgent', 'urgent', 'long', 'long', 'long', 'long', 'long'])
  })

  it('gives each thread a scratch block of its own and one memory to all', async () => {
    await open(2)
    const blocks = await pool.run<unknown, { scratch: number; scratchBytes: number }>('scratch', [0, 0], run())
    const [a, b] = blocks.map((block) => block.scratch) as [number, number]
    expect(Math.abs(a - b)).toBeGreaterThanOrEqual(blocks[0]?.scratchBytes as number)
    const address = pool.arena.allocate(1)
    await pool.run('write', [{ address, value: 42 }], run())
    expect(new Uint8Array(pool.memory.buffer)[address]).toBe(42)
  })

  it('rejects with the error of a task, class and message kept, and goes on afterwards', async () => {
    await open(1)
    await expect(pool.run('fail', ['out of range'], run())).rejects.toMatchObject({
      name: 'RangeError',
      message: 'out of range',
    })
    await expect(pool.run('nothing', [0], run())).rejects.toThrow('No task is called nothing')
    await expect(pool.run('uncloneable', [0], run())).rejects.toThrow(/could not be cloned/)
    await expect(pool.run('square', [() => 0], run())).rejects.toThrow(/could not be cloned/)
    expect(await pool.run('square', [3], run())).toEqual([9])
  })

  it('stops handing out after a failure and waits for what runs', async () => {
    await open(2)
    const shares: number[] = []
    const args = Array.from({ length: 50 }, (_, index) => ({ index, at: 3 }))
    await expect(pool.run('failAt', args, run(undefined, shares))).rejects.toThrow('task 3')
    expect(shares.length).toBeLessThan(10)
  })

  it('rejects with the reason of an abort: before, while tasks run, and while it waits behind another run', async () => {
    await open(1)
    await expect(pool.run('square', [1], run(AbortSignal.abort('never')))).rejects.toBe('never')

    const during = new AbortController()
    const running = pool.run('sleep', Array(100).fill(10), run(during.signal))
    setTimeout(() => during.abort('enough'), 30)
    await expect(running).rejects.toBe('enough')

    const waiting = new AbortController()
    const first = pool.run('sleep', [100], run())
    const second = pool.run('square', [1], run(waiting.signal))
    waiting.abort('gone')
    await expect(second).rejects.toBe('gone')
    await first
  })

  it('serves overlapping runs in order', async () => {
    await open(1)
    const order: string[] = []
    await Promise.all([
      pool.run('sleep', [10, 10], run()).then(() => order.push('first')),
      pool.run('square', [1], run()).then(() => order.push('second')),
    ])
    expect(order).toEqual(['first', 'second'])
  })

  it('listens to a signal once, however many runs share it, and no longer than they last', async () => {
    await open(1)
    const controller = new AbortController()
    const { signal } = controller
    const warnings = await warningsOf(async () => {
      const runs = Array.from({ length: 40 }, (_, i) => pool.run<number, number>('square', [i], run(signal)))
      expect(getEventListeners(signal, 'abort').length).toBe(1)
      expect((await Promise.all(runs)).flat()).toEqual(Array.from({ length: 40 }, (_, i) => i * i))
      expect(getEventListeners(signal, 'abort').length).toBe(0)

      const stopped = Array.from({ length: 40 }, () => pool.run('sleep', [5, 5], run(signal)))
      controller.abort('all')
      for (const settled of await Promise.allSettled(stopped))
        expect(settled).toEqual({ status: 'rejected', reason: 'all' })
      expect(getEventListeners(signal, 'abort').length).toBe(0)
    })
    expect(warnings).toEqual([])
  })

  describe('moves to fresh memory', () => {
    const MIB = 2 ** 20
    const never = new AbortController().signal
    const large = (): number => {
      const [address, rest] = [pool.arena.allocate(MIB), pool.arena.allocate(64 * MIB)]
      new Uint8Array(pool.memory.buffer, address, MIB).fill(7)
      pool.arena.free(rest)
      return address
    }

    it('with what is allocated, on new threads, and gives the rest back', async () => {
      await open(2)
      const address = large()
      const [before, threads] = [pool.memory.buffer.byteLength, await pool.run('threadOf', [20, 20], run())]
      await pool.renew(never)
      expect(pool.memory.buffer.byteLength).toBeLessThan(before - 60 * MIB)
      expect(new Uint8Array(pool.memory.buffer, address, MIB).every((byte) => byte === 7)).toBe(true)
      const fresh = await pool.run('threadOf', [20, 20], run())
      expect(new Set([...threads, ...fresh]).size).toBe(4)
      await pool.run('write', [{ address, value: 9 }], run())
      expect(new Uint8Array(pool.memory.buffer)[address]).toBe(9)
      // It grows again, above what is there.
      const again = pool.arena.allocate(64 * MIB)
      expect(again).toBeGreaterThanOrEqual(address + MIB)
      await pool.run('write', [{ address: again + 64 * MIB - 1, value: 5 }], run())
      expect(new Uint8Array(pool.memory.buffer)[again + 64 * MIB - 1]).toBe(5)
      await pool.renew(never)
    })

    it('not while anybody uses the present one, nor once that is about to be', async () => {
      await open(1)
      const { memory } = pool
      await expect(pool.renew(AbortSignal.abort('later'))).rejects.toBe('later')
      const stop = new AbortController()
      const stopped = pool.renew(stop.signal)
      stop.abort('now')
      await expect(stopped).rejects.toBe('now')
      const renewing = pool.renew(never).catch((error: Error) => error.message)
      const long = pool.run('sleep', Array(20).fill(50), run())
      await expect(pool.renew(never)).rejects.toThrow('already')
      expect(await renewing).toContain('in use')
      await long
      expect(pool.memory).toBe(memory)
      expect(await pool.run('square', [3], run())).toEqual([9])
      await pool.renew(never)
      expect(pool.memory).not.toBe(memory)
    })

    it('and leaves no file open of threads that were still starting when it was stopped', {
      skip: process.platform !== 'linux',
    }, async () => {
      await open(2)
      const openModules = (): string[] => openFiles().filter((path) => path.endsWith('.js'))
      const before = openModules().length
      for (let ms = 0; ms < 60; ms += 3) {
        const stop = new AbortController()
        setTimeout(() => stop.abort('now'), ms)
        await pool.renew(stop.signal).catch((reason) => expect(reason).toBe('now'))
      }
      await pool.renew(never)
      expect(openModules().length).toBeLessThanOrEqual(before)
      expect(await pool.run('square', [3], run())).toEqual([9])
    })

    it('or ends with the pool, new threads included', async () => {
      await open(1)
      const renewing = pool.renew(never).catch((error: unknown) => error)
      await pool.close()
      expect(await renewing).toBeInstanceOf(WorkerExitedError)
      await expect(pool.renew(never)).rejects.toThrow()
    })
  })

  it('rejects the pending run and all later ones when a thread dies', async () => {
    await open(2)
    const pending = [pool.run('sleep', [60_000], run()), pool.run('exit', [3], run())]
    for (const settled of await Promise.allSettled(pending)) {
      expect(settled).toMatchObject({ status: 'rejected', reason: { code: 'ERR_WORKER_EXITED' } })
    }
    await expect(pool.run('square', [1], run())).rejects.toBeInstanceOf(WorkerExitedError)
  })

  it('names the thread, the exit code and the task in that error', async () => {
    await open(1)
    await expect(pool.run('exit', [3], run())).rejects.toThrow(/Compute thread 0 .* \(code 3, running exit\)/)
  })

  it('fails to start when a task module is missing', async () => {
    await open(1)
    const missing = new URL('./no-such-module.js', import.meta.url)
    await expect(ComputePool.create({ threads: 2, taskModules: [missing] })).rejects.toBeInstanceOf(WorkerExitedError)
  })

  it('close ends a task that never would, rejects it, and is idempotent', async () => {
    await open(1)
    const stuck = pool.run('loop', [0], run())
    const closed = Promise.all([pool.close(), pool.close()])
    await expect(stuck).rejects.toBeInstanceOf(WorkerExitedError)
    await closed
    await expect(pool.run('square', [1], run())).rejects.toBeInstanceOf(WorkerExitedError)
  })

  it('closes once the run is over when its reporter throws', async () => {
    await open(1)
    const broken: Run = {
      signal: new AbortController().signal,
      unit: () => {
        throw new Error('broken bar')
      },
    }
    await expect(pool.run('square', [1, 2, 3], broken)).rejects.toThrow('broken bar')
    expect(await pool.run('square', [2], run())).toEqual([4])
  })
})
