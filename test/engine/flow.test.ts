/** The way of a job, on fake devices: order, memory, progress, events, retries. */
import { describe, expect, test } from 'vitest'
import { GpuUnavailableError, InvalidRequestError, ProofInvalidError, WorkerExitedError } from '../../src/errors.ts'
import type { JobProgress, PartitionEvent } from '../../src/events.ts'
import type { ProofRequest } from '../../src/request/proof-request.ts'
import { collect } from '../support/collect.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { delay, FakeMachine, recordEvents } from '../support/fake-device.ts'
import { window3Request, windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

/** Two sectors fill a partition. */
const partitions = (count: number): ProofRequest => syntheticWindowRequest('2k', 2 * count)

describe('one job', () => {
  test('events come in order, progress rises to 1, the result has the proofs in order of the partitions', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const fractions: number[] = []
    const request = window3Request()
    const result = await engine.prove(request, { onProgress: ({ fraction }) => fractions.push(fraction) })
    expect(result).toMatchObject({ kind: 'window-post', circuitId: 'wpost-2k', partitions: 2, verified: true })
    const commR = (sector: number): Buffer => Buffer.from(request.sectors?.[sector]?.commR as Uint8Array)
    expect(commR(0).equals(result.proof.subarray(0, 32))).toBe(true)
    expect(commR(2).equals(result.proof.subarray(192, 224))).toBe(true)
    expect(seen.filter((event) => /^(queued|active|partition 0|completed|drained)/.test(event))).toEqual([
      'queued',
      'active',
      'partition 0 synthesizing',
      'partition 0 synth_done',
      'partition 0 gpu',
      'partition 0 done',
      'completed',
      'drained',
    ])
    // Parameters are loaded beside the first synthesis.
    expect(seen.filter((event) => /^(active|srs|partition 0 gpu)/.test(event))).toEqual([
      'active',
      'srs loading',
      'srs loaded',
      'partition 0 gpu',
    ])
    expect(fractions.length).toBeGreaterThan(8)
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b))
    expect(fractions.at(-1)).toBe(1)
    const { timings } = result
    expect(Math.min(...Object.values(timings))).toBeGreaterThanOrEqual(0)
    expect(timings.totalMs).toBeGreaterThan(timings.gpuMs / 2)
    await engine.close()
  })

  test('moves inside a partition, and says how long it will take once its circuit was measured', async () => {
    const machine = new FakeMachine({ units: 10, unitMs: 3 })
    const engine = await machine.engine()
    const progress: JobProgress[] = []
    await engine.prove(windowRequest(), { onProgress: (event) => progress.push(event) })
    expect(progress.filter(({ done }) => done === 0).length).toBeGreaterThan(10)
    expect(progress.every(({ remainingMs }) => remainingMs === undefined)).toBe(true)
    progress.length = 0
    await engine.prove(windowRequest(), { onProgress: (event) => progress.push(event) })
    const estimates = progress.map(({ remainingMs }) => remainingMs as number)
    expect(estimates[0]).toBeGreaterThan(estimates.at(-2) as number)
    expect(estimates.at(-1)).toBe(0)
    await engine.close()
  })

  test('holds one copy of its input, counted, from its checks to its end; the caller’s buffers may go', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'deaf', ms: 200 })
    const engine = await machine.engine()
    // Of two sectors: three commitments, and of ten challenges each a leaf and the siblings of two levels of eight.
    const bytes = 2 * (3 + 10 * (1 + 7 + 7)) * 32
    const held = new Set<number>()
    const states = new Map<string, number>()
    for (const name of ['queued', 'active', 'partition'] as const) {
      engine.on(name, () => void held.add(engine.status().memory.inputBytes))
    }
    engine.on('completed', () => states.set('completed', engine.status().memory.inputBytes))
    const callers: WeakRef<Uint8Array>[] = []
    const begin = (): Promise<unknown> => {
      const request = windowRequest()
      const vanillaProofs = request.vanillaProofs.map((proof) => new Uint8Array(proof))
      callers.push(...vanillaProofs.map((proof) => new WeakRef(proof)))
      return engine.prove({ ...request, vanillaProofs, requestId: 'held' })
    }
    const proving = begin()
    while (machine.running.prove === 0) await delay(1)
    collect()
    expect(callers.map((caller) => caller.deref())).toEqual(callers.map(() => undefined))
    await proving
    expect([...held]).toEqual([bytes])
    expect([states.get('completed'), engine.status().memory.inputBytes]).toEqual([0, 0])
    await engine.close()
  })

  test('a refused request queues nothing and tells nobody', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const error = await proverErrorOf(() => engine.prove({ ...windowRequest(), vanillaProofs: [] }))
    expect(error).toBeInstanceOf(InvalidRequestError)
    machine.fail('locate', 1, { kind: 'throw', error: new GpuUnavailableError('no file') })
    await proverErrorOf(() => engine.prove(windowRequest()))
    expect(seen).toEqual([])
    expect(engine.status().totals.failed['window-post']).toBe(0)
    await engine.close()
  })

  test('a listener or onProgress that throws does not harm the proof', async () => {
    const engine = await new FakeMachine().engine()
    const errors: Error[] = []
    engine.on('error', (error) => errors.push(error))
    engine.on('partition', () => {
      throw new Error('bad listener')
    })
    const onProgress = (): void => {
      throw new Error('bad progress bar')
    }
    await engine.prove(windowRequest(), { onProgress })
    const messages = errors.map(({ message }) => message)
    expect(new Set(messages)).toEqual(
      new Set(['a listener of "partition" failed: bad listener', 'onProgress failed: bad progress bar']),
    )
    // Once for each of the four events, but once a job for what would fail at each report.
    const count = (start: string): number => messages.filter((message) => message.startsWith(start)).length
    expect([count('a listener of'), count('onProgress')]).toEqual([4, 1])
    await engine.close()
  })

  test('what a listener of `completed` does to the result, or gives away of it, is not what the caller gets', async () => {
    const engine = await new FakeMachine().engine()
    const told: Uint8Array[] = []
    engine.once('completed', ({ result }) => told.push(result.proof.fill(0)))
    engine.on('completed', ({ result: { proof } }) => {
      // As `postMessage` does that hands a buffer to a worker.
      structuredClone(proof.buffer, { transfer: [proof.buffer as ArrayBuffer] })
    })
    for (let k = 0; k < 2; k++) {
      const { proof } = await engine.prove(windowRequest())
      expect(proof.length).toBe(192)
      expect(proof.some((byte) => byte !== 0)).toBe(true)
    }
    expect(told.map(({ length }) => length)).toEqual([0])
    await engine.close()
  })

  test('an onProgress that rejects is reported, and harms neither the proof nor the process', async () => {
    const engine = await new FakeMachine().engine()
    const errors: string[] = []
    engine.on('error', ({ message }) => errors.push(message))
    const onProgress = async (): Promise<void> => {
      throw Object.create(null)
    }
    await engine.prove(windowRequest(), { onProgress })
    expect(errors).toEqual(['onProgress failed: a thrown object'])
    await engine.close()
  })

  test('a failure without a type reaches the caller as a ProverError with its cause', async () => {
    const cause = new Error('EIO')
    for (const operation of ['locate', 'warm', 'synthesize', 'prove', 'verify'] as const) {
      const engine = await new FakeMachine().fail(operation, 1, { kind: 'throw', error: cause }).engine()
      const error = await proverErrorOf(() => engine.prove(windowRequest()))
      expect([operation, error.cause]).toEqual([operation, cause])
      expect(error.message).toBe('internal fault, not a fault of the request: EIO')
      expect(error.code).toBe(operation === 'prove' ? 'ERR_GPU_VALIDATION' : 'ERR_SYNTHESIS_FAILED')
      await engine.close()
    }
  })

  test('prepares the verification once a job, while a device works', async () => {
    const machine = new FakeMachine({ units: 20 })
    const engine = await machine.engine({ synthesis: { concurrency: 1 } })
    await engine.prove(syntheticWindowRequest('2k', 6))
    expect(machine.log.filter((entry) => /^(prepare|verify)/.test(entry))).toEqual(['prepare 3', 'verify 3 prepared'])
    expect(machine.log.indexOf('prepare 3')).toBeLessThan(machine.log.lastIndexOf('prove wpost-2k'))
    await engine.close()
  })

  test.each([
    ['fails', { kind: 'throw', error: new Error('EIO') }, ['prepare 1', 'verify 1']],
    ['is wrong', { kind: 'wrong' }, ['prepare 1', 'verify 1 prepared', 'verify 1']],
  ] as const)('a preparation that %s is no fault of the proof', async (_, fault, calls) => {
    const machine = new FakeMachine().fail('prepare', 1, fault)
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    expect(machine.log.filter((entry) => /^(prepare|verify)/.test(entry))).toEqual(calls)
    expect(seen.filter((event) => /^(verifyFailed|retry|error)/.test(event))).toEqual([])
    await engine.close()
  })

  test('what is no circuit is not preloaded', async () => {
    const engine = await new FakeMachine().engine()
    for (const circuitId of ['wpost-1k', undefined, 5, Object.create(null)]) {
      const error = await proverErrorOf(() => engine.preload(circuitId))
      expect([error.code, error.details.field]).toEqual(['ERR_INVALID_OPTIONS', 'circuitId'])
    }
    await engine.close()
  })

  test('a preload that keeps a circuit gets verification ready, too, and does not fail with it', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    await engine.preload('wpost-2k')
    expect(machine.warmed).toEqual([])
    await engine.preload('winning-2k')
    expect(machine.warmed).toEqual(['winning-2k'])
    // Clocks rise, each time it is asked for.
    await engine.preload('winning-2k')
    expect(machine.log.filter((entry) => entry === 'warm-up').length).toBe(2)
    await engine.close()
    expect(machine.log.filter((entry) => entry === 'warm-up ends').length).toBe(2)
    const faulty = new FakeMachine()
    faulty.warmingFails = new Error('the key can not be read')
    const other = await faulty.engine()
    await other.preload('winning-2k')
    expect(faulty.warmed).toEqual(['winning-2k'])
    await other.close()
  })

  test('a signal that aborts while the request is read stops the job', async () => {
    const engine = await new FakeMachine().engine()
    const controller = new AbortController()
    const reason = new Error('aborted by a getter')
    const request = Object.defineProperty(windowRequest(), 'minerId', {
      get() {
        controller.abort(reason)
        return 1000n
      },
    })
    await expect(engine.prove(request, { signal: controller.signal })).rejects.toBe(reason)
    expect(engine.status().queue).toEqual({ queued: 0, active: 0 })
    await engine.close()
  })
})

describe('order', () => {
  test('jobs complete one after another: partitions start by job, then by index', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    const order: string[] = []
    const jobs = new Map<string, number>()
    engine.on('queued', ({ job }) => jobs.set(job.id, jobs.size))
    engine.on('partition', ({ job, index, state }) => {
      if (state === 'synthesizing') order.push(`${jobs.get(job.id)}.${index}`)
    })
    await Promise.all([engine.prove(partitions(10)), engine.prove(partitions(10))])
    expect(order).toEqual([0, 1].flatMap((job) => Array.from({ length: 10 }, (_, index) => `${job}.${index}`)))
    expect(machine.most.prove).toBe(1)
    await engine.close()
  })

  test('at most one witness waits for a device that is busy', async () => {
    const machine = new FakeMachine({ units: 4, unitMs: 3 })
    const engine = await machine.engine({ synthesis: { concurrency: 4, lookahead: 1 } })
    let most = 0
    engine.on('partition', () => {
      const { jobs } = engine.status()
      const ahead = jobs.flatMap((job) => job.partitions).filter(({ state }) => /^synth/.test(state)).length
      most = Math.max(most, ahead)
    })
    await engine.prove(partitions(6))
    // One for the idle device and one ahead.
    expect(most).toBe(2)
    await engine.close()
  })

  test('a WinningPoSt passes a running WindowPoSt at its next partition', async () => {
    const machine = new FakeMachine({ units: 4, unitMs: 2 })
    const engine = await machine.engine()
    const order: string[] = []
    const taken = (event: PartitionEvent): void => {
      if (event.state === 'gpu') order.push(event.job.kind)
    }
    engine.on('partition', taken)
    const window = engine.prove(partitions(8))
    await new Promise<void>((resolve) => engine.once('progress', () => resolve()))
    const winning = engine.prove(winningRequest()).then(() => order.slice())
    expect((await winning).filter((kind) => kind === 'window-post').length).toBeLessThanOrEqual(3)
    await window
    expect(order.length).toBe(9)
    await engine.close()
  })

  test('what only the stand-in can do needs no witness made ahead to begin', async () => {
    // The device reaches the domain of a WindowPoSt of 2 KiB, 2^15; a WinningPoSt has 2^17.
    const machine = new FakeMachine({ domains: [15], standIn: true })
    const engine = await machine.engine({ synthesis: { concurrency: 1, lookahead: 0 } })
    const seen = recordEvents(engine)
    await Promise.all([engine.prove(winningRequest()), engine.prove(windowRequest())])
    expect(seen.filter((event) => event === 'fallback').length).toBe(1)
    await engine.close()
  })

  test('an earlier deadline goes first within a priority', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    const order: string[] = []
    engine.on('completed', ({ job }) => order.push(job.requestId as string))
    const later = (ms: number): Date => new Date(Date.now() + ms)
    await Promise.all([
      engine.prove({ ...partitions(3), requestId: 'first' }),
      engine.prove({ ...partitions(2), requestId: 'none' }),
      engine.prove({ ...partitions(2), requestId: 'late', deadline: later(60_000) }),
      engine.prove({ ...partitions(2), requestId: 'soon', deadline: later(50_000) }),
    ])
    expect(order.indexOf('soon')).toBeLessThan(order.indexOf('late'))
    expect(order.indexOf('late')).toBeLessThan(order.indexOf('none'))
    await engine.close()
  })

  test('two devices work at once, each on one partition', async () => {
    const machine = new FakeMachine({ devices: 2, unitMs: 3 })
    const engine = await machine.engine({ synthesis: { concurrency: 2 } })
    const result = await engine.prove(partitions(8))
    expect(result.partitions).toBe(8)
    expect(machine.most.prove).toBe(2)
    expect(engine.status().gpus.map(({ state }) => state)).toEqual(['idle', 'idle'])
    await engine.close()
  })
})

describe('a proof that does not verify', () => {
  test('is made anew, told of, and never returned', async () => {
    const machine = new FakeMachine().fail('prove', 2, { kind: 'wrong' })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const result = await engine.prove(partitions(3))
    expect(result.verified).toBe(true)
    expect(machine.calls('prove')).toBe(4)
    expect(seen.filter((event) => /^(verifyFailed|retry)/.test(event))).toEqual(['verifyFailed 1', 'retry 1 2'])
    expect(engine.status().gpus[0]?.verifyFailures).toBe(1)
    await engine.close()
  })

  test('fails the job the second time', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'wrong' }).fail('prove', 2, { kind: 'wrong' })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const error = await proverErrorOf(() => engine.prove(windowRequest()))
    expect(error).toBeInstanceOf(ProofInvalidError)
    expect(error.details.partition).toBe(0)
    expect(seen.filter((event) => /^(verifyFailed|failed|completed)/.test(event))).toEqual([
      'verifyFailed 0',
      'verifyFailed 0',
      'failed',
    ])
    expect(engine.status()).toMatchObject({ totals: { failed: { 'window-post': 1 }, completed: { 'window-post': 0 } } })
    await engine.close()
  })
})

describe('a partition that fails', () => {
  test('for good ends the job once, stops the others, and frees everything', async () => {
    const machine = new FakeMachine().fail('synthesize', 5, {
      kind: 'throw',
      error: new InvalidRequestError('a path leads elsewhere', { details: { sector: 9n } }),
    })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const error = await proverErrorOf(() => engine.prove(partitions(10)))
    expect(error.details.sector).toBe(9n)
    expect(seen.filter((event) => event === 'failed').length).toBe(1)
    expect(machine.calls('synthesize')).toBe(5)
    const { jobs, synthesis } = engine.status()
    expect(jobs[0]?.state).toBe('failed')
    expect(jobs[0]?.errorCode).toBe('ERR_INVALID_REQUEST')
    expect(new Set(jobs[0]?.partitions.map(({ state }) => state))).toEqual(new Set(['done', 'failed']))
    expect(synthesis.active).toBe(0)
    await engine.prove(windowRequest())
    await engine.close()
  })

  test('because its worker died is tried again, with its witness kept', async () => {
    const machine = new FakeMachine()
      .fail('synthesize', 1, { kind: 'throw', error: new WorkerExitedError('gone') })
      .fail('prove', 1, { kind: 'die' })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    await engine.prove(windowRequest())
    expect([machine.calls('synthesize'), machine.calls('prove')]).toEqual([2, 2])
    expect(seen.filter((event) => /^retry/.test(event))).toEqual(['retry 0 2', 'retry 0 2'])
    expect(engine.status().gpus[0]).toMatchObject({ ordinal: 0, generation: 2, state: 'idle' })
    await engine.close()
  })
})
