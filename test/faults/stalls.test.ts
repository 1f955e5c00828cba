/** Synthesis and verification workers that hang: real threads behind the engine, fake devices. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Engine } from '../../src/engine.ts'
import { WorkerExitedError } from '../../src/errors.ts'
import { SynthesisPool } from '../../src/synthesis/synthesis-pool.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { windowRequest } from '../support/fixtures.ts'
import { hasSilentFiles, letAnswer, makeSilent } from '../support/silent-file.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

/** On a busy machine a thread takes a second to start. */
const STALL_MS = 1_500

/** How a worker hangs: for ever in JavaScript, in a promise, or in a system call. */
type Hang = 'loop' | 'wait' | 'read'

function pool(faults: Record<string, Hang>, pipe?: string): SynthesisPool {
  const calls = new Int32Array(new SharedArrayBuffer(16))
  const file = new URL('../support/fault-synthesis-worker.js', import.meta.url)
  return new SynthesisPool(2, { stallMs: STALL_MS, file, workerData: { calls, faults, pipe } })
}

/** An engine, and what it tells of stalls and retries. */
async function watched(faults: Record<string, Hang>, pipe?: string): Promise<{ engine: Engine; told: string[] }> {
  const engine = await new FakeMachine().engine({}, { synthesizer: () => pool(faults, pipe) })
  const told: string[] = []
  engine.on('stalled', ({ index, phase, gpu, silentMs }) => {
    expect(silentMs).toBeGreaterThanOrEqual(STALL_MS)
    expect(gpu).toBeUndefined()
    told.push(`stalled ${index} ${phase}`)
  })
  engine.on('retry', ({ index, attempt, error }) => {
    expect(error.message).toContain('made no progress')
    told.push(`retry ${index} ${attempt}`)
  })
  return { engine, told }
}

const everyTime = (operation: string, hang: Hang): Record<string, Hang> =>
  Object.fromEntries([1, 2, 3].map((nth) => [`${operation} ${nth}`, hang]))

// A thread that starts slower yet counts as one that hangs.
describe('a synthesis worker that hangs', { retry: 2 }, () => {
  test.each(['loop', 'wait'] as const)(
    'in a %s is told of and ended, and its partition alone is made anew',
    async (hang) => {
      const { engine, told } = await watched({ 'checkAndSynthesize 2': hang })
      const seen = recordEvents(engine)
      const { partitions, verified } = await engine.prove(syntheticWindowRequest('2k', 6))
      expect([partitions, verified]).toEqual([3, true])
      expect(told).toEqual([expect.stringMatching(/^stalled \d synthesis$/), expect.stringMatching(/^retry \d 2$/)])
      expect(seen.filter((event) => /^partition \d synthesizing$/.test(event)).length).toBe(4)
      await engine.close()
      expect(engine.status().memory.usedBytes).toBe(0)
    },
  )

  test('three times in a row fails its job, and no other', async () => {
    const { engine, told } = await watched(everyTime('checkAndSynthesize', 'loop'))
    const error = await proverErrorOf(() => engine.prove(windowRequest()))
    expect(error).toBeInstanceOf(WorkerExitedError)
    expect(error.message).toMatch(/made no progress for \d+ ms/)
    expect(told).toEqual([
      'stalled 0 synthesis',
      'retry 0 2',
      'stalled 0 synthesis',
      'retry 0 3',
      'stalled 0 synthesis',
    ])
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    await engine.close()
  })

  test('is aborted within 250 ms, whatever it does', async () => {
    const { engine } = await watched({ 'checkAndSynthesize 1': 'loop' })
    const abort = new AbortController()
    const proving = engine.prove(windowRequest(), { signal: abort.signal })
    engine.on('partition', ({ state }) => {
      if (state === 'synthesizing') setTimeout(() => abort.abort('enough'), 50)
    })
    let abortedAt = 0
    abort.signal.addEventListener('abort', () => {
      abortedAt = performance.now()
    })
    await expect(proving).rejects.toBe('enough')
    expect(performance.now() - abortedAt).toBeLessThan(250)
    await engine.close()
    expect(engine.status().memory.usedBytes).toBe(0)
  })

  test.runIf(hasSilentFiles)('in a system call that never returns holds up neither its job nor close()', async () => {
    const directory = temporaryDirectory()
    const pipe = join(directory, 'pipe')
    makeSilent(pipe)
    const { engine, told } = await watched({ 'checkAndSynthesize 1': 'read' }, pipe)
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    expect(told).toEqual(['stalled 0 synthesis', 'retry 0 2'])
    await engine.close()
    // Lets the thread end, and with it this process.
    letAnswer(pipe)
    removeDirectory(directory)
  })
})

describe('a worker that hangs while it verifies', { retry: 2 }, () => {
  test('is told of and ended; the proof is verified by another', async () => {
    const { engine, told } = await watched({ 'verify 1': 'loop' })
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    expect(told).toEqual(['stalled 0 verification', 'retry 0 2'])
    await engine.close()
  })

  test('ahead of the proof, is told of and ended; the proof is verified from the inputs themselves', async () => {
    const { engine, told } = await watched({ 'prepareInputs 1': 'loop' })
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    expect(told).toEqual(['stalled 0 verification'])
    await engine.close()
  })

  test('three times in a row fails the job: no proof leaves unverified', async () => {
    const { engine } = await watched(everyTime('verify', 'wait'))
    expect(await proverErrorOf(() => engine.prove(windowRequest()))).toBeInstanceOf(WorkerExitedError)
    await engine.close()
    expect(engine.status().memory.usedBytes).toBe(0)
  })
})

test('a worker that hangs while it reads a seal is ended, and another reads it', async () => {
  const workers = pool({ 'readSeal 1': 'loop' })
  const input = { vanillaProof: new Uint8Array(8) } as Parameters<SynthesisPool['readSeal']>[0]
  let stalls = 0
  expect(await workers.readSeal(input, { priority: 0, onStall: () => stalls++ })).toEqual([])
  expect(stalls).toBe(1)
  await workers.close()
})
