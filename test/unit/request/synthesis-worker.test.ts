/** Synthesis across the thread, as the engine does it: runs the built worker. */
import { afterAll, describe, expect, it } from 'vitest'
import { WasmPoseidonHasher } from '../../../src/cpu/poseidon.ts'
import { InvalidRequestError, WorkerExitedError } from '../../../src/errors.ts'
import { takeOver } from '../../../src/request/partitions.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { postGeometry } from '../../../src/synthesis/post-geometry.ts'
import type { PostPartition } from '../../../src/synthesis/post-partition.ts'
import { SynthesisPool } from '../../../src/synthesis/synthesis-pool.ts'
import { checkAndSynthesize } from '../../../src/synthesis/synthesize.ts'
import { vanillaLayout } from '../../../src/synthesis/vanilla-post.ts'
import { proverErrorOf } from '../../support/expect-error.ts'
import { winning32Request, winningRequest } from '../../support/fixtures.ts'
import { syntheticWindowRequest } from '../../support/synthetic-post.ts'

describe('a synthesis worker', () => {
  const pool = new SynthesisPool(1)
  afterAll(() => pool.close())

  it('makes the witness that the calling thread would make, and shares it', async () => {
    const [partition] = (await takeOver(validateRequest(winning32Request()))) as [PostPartition]
    const shares: number[] = []
    const witness = await pool.synthesize(partition, { priority: 1, onProgress: (share) => shares.push(share) })
    const run = { signal: new AbortController().signal, unit: () => {} }
    expect(witness).toEqual(await checkAndSynthesize(partition, new WasmPoseidonHasher(), run))
    for (const array of [witness.inputs, witness.bits, witness.wide]) {
      expect(array.buffer).toBeInstanceOf(SharedArrayBuffer)
    }
    expect(shares.every((share) => share > 0 && share <= 1)).toBe(true)
  })

  it('refuses a wrong path with an error that keeps its class and details', async () => {
    const request = winningRequest()
    const proof = request.vanillaProofs[0] as Uint8Array
    const { proofBytes, leaf } = vanillaLayout(postGeometry('winning-2k'))
    const at = 56 + 11 * proofBytes + leaf
    proof[at] = (proof[at] as number) ^ 1
    const [partition] = (await takeOver(validateRequest(request))) as [PostPartition]
    const error = await proverErrorOf(async () => await pool.synthesize(partition, { priority: 1 }))
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[0].inclusion_proofs[11].path',
      sector: 168229961122n,
      challenge: 11,
    })
  })

  it('stops soon after an abort, and goes on with the next call', async () => {
    // Two hundred sectors are some seconds of hashing.
    const [partition] = (await takeOver(validateRequest(syntheticWindowRequest('32g', 200)))) as [PostPartition]
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    let abortedAt = 0
    const onProgress = (): void => {
      if (abortedAt === 0) abortedAt = performance.now()
      controller.abort(reason)
    }
    const aborted = pool.synthesize(partition, { priority: 1, signal: controller.signal, onProgress })
    await expect(aborted).rejects.toBe(reason)
    expect(performance.now() - abortedAt).toBeLessThan(1000)
    const [next] = (await takeOver(validateRequest(winningRequest()))) as [PostPartition]
    expect((await pool.synthesize(next, { priority: 1 })).wide.length).toBeGreaterThan(0)
  })

  it('that ends in the middle of a call rejects it', async () => {
    const dying = new SynthesisPool(1)
    const [partition] = (await takeOver(validateRequest(syntheticWindowRequest('32g', 200)))) as [PostPartition]
    const synthesis = dying.synthesize(partition, { priority: 1, onProgress: () => void dying.close() })
    await expect(synthesis).rejects.toBeInstanceOf(WorkerExitedError)
    await dying.close()
  })
})
