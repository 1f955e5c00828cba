/** Large requests do not hold the event loop up, and those that are too large are refused. */
import { describe, expect, it } from 'vitest'
import { checkRequest } from '../../../src/request/check-request.ts'
import { takeOver } from '../../../src/request/partitions.ts'
import type { WindowPostRequest } from '../../../src/request/proof-request.ts'
import { inTurns } from '../../../src/request/steps.ts'
import { MOST_PARTITIONS } from '../../../src/request/validate-sectors.ts'
import { postGeometry } from '../../../src/synthesis/post-geometry.ts'
import { COMM_R_OFFSET, vanillaLayout } from '../../../src/synthesis/vanilla-post.ts'
import { proverErrorOf } from '../../support/expect-error.ts'
import { porepRequest } from '../../support/porep.ts'
import { syntheticWindowRequest } from '../../support/synthetic-post.ts'

/** What no turn of the event loop may take. In CPU time, since elapsed time on a shared machine is anybody's. */
const LONGEST_TURN_MS = 50

/** The most CPU time that the process takes between two turns of the event loop until a promise settles. */
async function longestTurnMs(work: () => unknown): Promise<{ result: unknown; ms: number }> {
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  let [at, ms, ended] = [cpuMs(), 0, false]
  const working = Promise.resolve()
    .then(work)
    .finally(() => {
      ended = true
    })
  while (!ended) {
    await new Promise((resolve) => setImmediate(resolve))
    const now = cpuMs()
    ms = Math.max(ms, now - at)
    at = now
  }
  return { result: await working, ms }
}

const HEAD_BYTES = COMM_R_OFFSET + 32

/**
 * Vanilla proofs of which nothing but the head is right: views of one buffer, each beginning where the head before it
 * ends.
 */
function heads(count: number): WindowPostRequest {
  const { totalBytes } = vanillaLayout(postGeometry('wpost-32g'))
  const bytes = new Uint8Array(count * HEAD_BYTES + totalBytes)
  const words = new DataView(bytes.buffer)
  // Backwards, so that sorting has something to do.
  for (let i = 0; i < count; i++) words.setUint32(i * HEAD_BYTES, count - i, true)
  return {
    kind: 'window-post',
    registeredProof: 'StackedDrgWindow32GiBV1_2',
    minerId: 1000n,
    partitionIndex: 0,
    randomness: new Uint8Array(32),
    vanillaProofs: Array.from({ length: count }, (_, i) => bytes.subarray(i * HEAD_BYTES, i * HEAD_BYTES + totalBytes)),
  }
}

describe('checkRequest', () => {
  const most = MOST_PARTITIONS * postGeometry('wpost-32g').sectorsPerPartition

  it(`checks ${most} sectors, and those that the chain expects, in slices`, { retry: 2 }, async () => {
    const request = heads(most)
    const commR = new Uint8Array(32)
    const sectors = Array.from({ length: most }, (_, i) => ({ sectorNumber: BigInt(i + 1), commR }))
    const { result, ms } = await longestTurnMs(() => checkRequest({ ...request, sectors, requestId: 'large' }))
    const checked = result as Awaited<ReturnType<typeof checkRequest>>
    if (checked.request.kind !== 'window-post') throw new Error(checked.request.kind)
    expect(checked.request.partitions).toBe(MOST_PARTITIONS)
    expect(checked.request.sectors.slice(0, 2)).toMatchObject([
      { sectorNumber: 1n, place: most - 1 },
      { sectorNumber: 2n, place: most - 2 },
    ])
    expect(checked.fingerprint).toMatch(/^[0-9a-f]{64}$/)
    expect(ms).toBeLessThan(LONGEST_TURN_MS)
  })

  it('refuses one sector more, and a list of a million at once', async () => {
    for (const count of [most + 1, 2 ** 20]) {
      const vanillaProofs = new Array(count).fill(new Uint8Array())
      const error = await proverErrorOf(async () => checkRequest({ ...heads(1), vanillaProofs }))
      expect(error.code).toBe('ERR_INVALID_REQUEST')
      expect(error.details).toEqual({
        field: 'vanillaProofs',
        expected: `at most ${most} vanilla proofs (${MOST_PARTITIONS} partitions)`,
        received: `an array of ${count}`,
      })
    }
  })

  it('names the second of two of one sector', async () => {
    const request = heads(3)
    const vanillaProofs = [0, 1, 2, 1].map((i) => request.vanillaProofs[i] as Uint8Array)
    const error = await proverErrorOf(async () => checkRequest({ ...request, vanillaProofs }))
    expect(error.details).toEqual({ field: 'vanillaProofs[3]', sector: 2n, received: 'vanillaProofs[1]' })
  })

  it('hashes a seal of 51 MB under an id in slices', { retry: 2 }, async () => {
    const vanillaProof = new Uint8Array(51e6)
    const request = { ...porepRequest(), vanillaProof }
    const { result, ms } = await longestTurnMs(() => checkRequest({ ...request, requestId: 'seal' }))
    const other = await checkRequest({ ...request, vanillaProof: vanillaProof.fill(1, 50e6), requestId: 'seal' })
    expect((result as typeof other).fingerprint).not.toBe(other.fingerprint)
    expect(ms).toBeLessThan(LONGEST_TURN_MS)
    // Without one nothing is hashed: it is checked when the call returns.
    expect(checkRequest(request)).toMatchObject({ fingerprint: '' })
  })

  it('a WindowPoSt of 10 MB is checked and taken over without a long turn', { retry: 2 }, async () => {
    const request = { ...syntheticWindowRequest('32g', 400), requestId: 'window' }
    const { result, ms } = await longestTurnMs(async () => takeOver((await checkRequest(request)).request))
    const [partition] = result as Awaited<ReturnType<typeof takeOver>>
    if (partition?.kind !== 'window-post') throw new Error(partition?.kind)
    expect(partition.scalars.length).toBe(400 * 713 * 32)
    expect(ms).toBeLessThan(LONGEST_TURN_MS)
  })

  it('stops with the reason of an abort', async () => {
    const abort = new AbortController()
    const checking = checkRequest(heads(most), abort.signal)
    expect(checking).toBeInstanceOf(Promise)
    abort.abort('enough')
    await expect(checking).rejects.toBe('enough')
  })
})

describe('steps', () => {
  it('that throw, throw at once or reject, depending on when', async () => {
    function* failing(turns: number): Generator<undefined, never, undefined> {
      for (let turn = 0; turn < turns; turn++) {
        const until = performance.now() + 15
        while (performance.now() < until);
        yield
      }
      throw new Error('broken')
    }
    expect(() => inTurns(failing(0))).toThrow('broken')
    await expect(inTurns(failing(2))).rejects.toThrow('broken')
  })
})
