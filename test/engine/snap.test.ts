/**
 * An update's way through the engine: taken over, checked and synthesized for real, in order; "proved" by a fake
 * device.
 */
import { describe, expect, test } from 'vitest'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { createEngine, type Engine } from '../../src/engine.ts'
import { frToBytes } from '../../src/field/fr.ts'
import { statementOf } from '../../src/request/statement.ts'
import type { Synthesizer } from '../../src/synthesis/synthesis-pool.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import type { VerifyTask } from '../../src/synthesis/verify-functions.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { syntheticSnapRequest } from '../support/synthetic-snap.ts'

const hasher = new WasmPoseidonHasher()

/** On the calling thread. What it is given to verify is kept. */
function synthesizer(verified: VerifyTask[]): Synthesizer {
  return {
    synthesize: (partition, { signal, onProgress }) => {
      const run = { signal: signal ?? new AbortController().signal, unit: onProgress ?? (() => {}) }
      return checkAndSynthesize(partition, hasher, run)
    },
    readSeal: () => Promise.reject(new Error('not a seal')),
    warm: async () => {},
    digestOf: () => Promise.reject(new Error('nobody asks for it')),
    prepareInputs: () => Promise.reject(new Error('verification does without')),
    verify: async (task) => {
      verified.push(task)
      if ('sum' in task.inputs) return false
      // A fake proof begins with its partition's first input, the constant ONE.
      return task.inputs.every((_, k) => Buffer.from(task.proof.subarray(192 * k, 192 * k + 32)).equals(frToBytes(1n)))
    },
    close: async () => {},
  }
}

function start(verified: VerifyTask[] = [], machine = new FakeMachine()): Promise<Engine> {
  const modules = { ...machine.modules(), synthesizer: () => synthesizer(verified) }
  return createEngine({ memory: { totalBytes: 2 ** 34 } }, modules)
}

describe('an update', () => {
  test('is proved in order of its partitions, and verified against its statement', async () => {
    const verified: VerifyTask[] = []
    await using engine = await start(verified)
    const request = syntheticSnapRequest('8m')
    const result = await engine.prove(request)
    expect(result).toMatchObject({ kind: 'snap-update', circuitId: 'snap-8m', partitions: 4, verified: true })
    const { publicInputs } = statementOf(request)
    expect(verified.map((task) => task.inputs)).toEqual([publicInputs])
    // A fake proof begins with its partition's inputs.
    const expected = publicInputs.map(([packed, commROld]) => [packed, commROld])
    const found = [0, 1, 2, 3].map((k) =>
      [1, 2].map((i) => result.proof.slice(192 * k + 32 * i, 192 * k + 32 * (i + 1))),
    )
    expect(found).toEqual(expected)
  })

  test('scenario 26: of which one partition is proved wrong has that one proved anew', async () => {
    const machine = new FakeMachine().fail('prove', 3, { kind: 'wrong' })
    await using engine = await start([], machine)
    const seen = recordEvents(engine)
    expect((await engine.prove(syntheticSnapRequest('8m'))).verified).toBe(true)
    expect(seen.filter((event) => /^(verifyFailed|retry)/.test(event))).toEqual(['verifyFailed 2', 'retry 2 2'])
    expect(machine.calls('prove')).toBe(5)
  })

  test('with a wrong partition is refused, naming it', async () => {
    await using engine = await start()
    const request = syntheticSnapRequest('8m')
    const proof = request.vanillaProofs[2] as Uint8Array
    proof[40] = (proof[40] as number) ^ 1
    const error = await proverErrorOf(() => engine.prove(request))
    expect(error.details).toMatchObject({ field: 'vanillaProofs[2].apex_leafs', partition: 2 })
  })

  test('joins the same update under one id, and no other', async () => {
    await using engine = await start()
    const request = { ...syntheticSnapRequest('8m'), requestId: 'update' }
    const [first, second] = [engine.prove(request), engine.prove(request)]
    const other = await proverErrorOf(() => engine.prove({ ...request, sectorNumber: 1n }))
    expect(other.code).toBe('ERR_REQUEST_CONFLICT')
    expect(await second).toEqual(await first)
  })
})
