/** A seal's way through the engine: real synthesis workers, fake devices. */
import { afterEach, describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../../src/engine.ts'
import { InvalidRequestError, RequestConflictError } from '../../src/errors.ts'
import { frToBytes } from '../../src/field/fr.ts'
import { SynthesisPool, type Synthesizer } from '../../src/synthesis/synthesis-pool.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { jsonBytes, outputJson, outputObject, porepRequest } from '../support/porep.ts'

const engines: Engine[] = []

async function startEngine(machine: FakeMachine): Promise<Engine> {
  const pool = new SynthesisPool(2)
  const synthesizer: Synthesizer = {
    // A fake device makes a proof of the inputs: it gets no more of them than fit, the constant ONE.
    synthesize: async (partition, options) => {
      const witness = await pool.synthesize(partition, options)
      return { ...witness, inputs: witness.inputs.subarray(0, 32) }
    },
    readSeal: (input, options) => pool.readSeal(input, options),
    warm: async () => {},
    digestOf: () => Promise.reject(new Error('nobody asks for it')),
    prepareInputs: () => Promise.reject(new Error('verification does without')),
    verify: async ({ inputs, proof }) =>
      !('sum' in inputs) && inputs.length === 1 && Buffer.from(proof.subarray(0, 32)).equals(frToBytes(1n)),
    close: () => pool.close(),
  }
  const engine = await createEngine(
    { memory: { totalBytes: 8 * 2 ** 30 } },
    { ...machine.modules(), synthesizer: () => synthesizer },
  )
  engines.push(engine)
  return engine
}

afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close({ force: true })
})

describe('a seal', () => {
  test('is read, synthesized, proved and verified', async () => {
    const engine = await startEngine(new FakeMachine())
    const seen = recordEvents(engine)
    const result = await engine.prove(porepRequest())
    expect(result).toMatchObject({ kind: 'porep-c2', circuitId: 'porep-2k', partitions: 1, verified: true })
    expect(result.proof.length).toBe(192)
    expect(seen.filter((event) => /^(queued|active|partition 0|completed)/.test(event))).toEqual([
      'queued',
      'active',
      'partition 0 synthesizing',
      'partition 0 synth_done',
      'partition 0 gpu',
      'partition 0 done',
      'completed',
    ])
  })

  test('scenario 26: whose proof is wrong is proved anew; it is never returned', async () => {
    const machine = new FakeMachine().fail('prove', 1, { kind: 'wrong' })
    const engine = await startEngine(machine)
    const seen = recordEvents(engine)
    expect((await engine.prove(porepRequest())).verified).toBe(true)
    expect(seen.filter((event) => event.startsWith('verifyFailed'))).toEqual(['verifyFailed 0'])
    expect(machine.calls('prove')).toBe(2)
  })

  test('with a fault is refused before it is queued where no hash is needed, else before a device sees it', async () => {
    const machine = new FakeMachine()
    const engine = await startEngine(machine)
    const seen = recordEvents(engine)
    const [early, late] = [outputObject(), outputObject()]
    early.vanilla_proofs.StackedDrg2KiBV1[0][1].labeling_proofs[1].parents.pop()
    late.vanilla_proofs.StackedDrg2KiBV1[0][1].replica_column_proofs.exp_parents[7].column.rows[0][3] ^= 1
    const refused = await proverErrorOf(() => engine.prove(porepRequest(jsonBytes(early))))
    expect(refused).toBeInstanceOf(InvalidRequestError)
    expect(refused.details.field).toBe('vanillaProof.vanilla_proofs[0][1].labeling_proofs[1].parents')
    expect(seen.some((event) => event.startsWith('queued'))).toBe(false)
    const failed = await proverErrorOf(() => engine.prove(porepRequest(jsonBytes(late))))
    expect(failed).toBeInstanceOf(InvalidRequestError)
    expect(failed.details).toMatchObject({
      field: 'vanillaProof.vanilla_proofs[0][1].replica_column_proofs.exp_parents[7].column.rows',
      partition: 0,
      challenge: 1,
    })
    expect(machine.calls('prove')).toBe(0)
    // Nothing is left over of either.
    expect((await engine.prove(porepRequest())).verified).toBe(true)
    const { jobs, memory } = engine.status()
    expect(jobs.filter(({ state }) => state === 'active' || state === 'queued')).toEqual([])
    expect(memory).toBeDefined()
  })

  test('asked for twice under one id is proved once; another under it is refused', async () => {
    const machine = new FakeMachine()
    const engine = await startEngine(machine)
    const request = { ...porepRequest(), requestId: 'sector 1' }
    const both = [engine.prove(request), engine.prove({ ...request, vanillaProof: request.vanillaProof.slice() })]
    const other = await proverErrorOf(() => engine.prove({ ...request, vanillaProof: outputJson() }))
    expect(other).toBeInstanceOf(RequestConflictError)
    const [first, second] = await Promise.all(both)
    expect(second?.proof).toEqual(first?.proof)
    expect(machine.calls('prove')).toBe(1)
  })

  test('is given up with the reason of the abort', async () => {
    const engine = await startEngine(new FakeMachine())
    const reason = new Error('no longer wanted')
    const abort = new AbortController()
    const proving = engine.prove(porepRequest(), { signal: abort.signal })
    setTimeout(() => abort.abort(reason), 5)
    await expect(proving).rejects.toBe(reason)
  })
})
