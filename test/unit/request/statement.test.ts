import { describe, expect, it } from 'vitest'
import type { ProofRequest } from '../../../src/request/proof-request.ts'
import { deriveStatement, fingerprintSteps, statementOf } from '../../../src/request/statement.ts'
import { atOnce } from '../../../src/request/steps.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { deriveChallenges } from '../../../src/synthesis/post-challenges.ts'
import { postGeometry } from '../../../src/synthesis/post-geometry.ts'
import {
  recordedPublicInputs,
  recordedRequest,
  window3Request,
  windowRequest,
  winning32Request,
  winningRequest,
} from '../../support/fixtures.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const RECORDED: [string, () => ProofRequest, string, string][] = [
  ['window', windowRequest, '2KiB/a/window', '2KiB/a/witness-window.json'],
  ['window-3, the second partition padded', window3Request, '2KiB/a/window-3', '2KiB/a/witness-window-3.json'],
  ['winning', winningRequest, '2KiB/a/winning', '2KiB/a/witness-winning.json'],
  ['winning 32 GiB', winning32Request, '32GiB/winning', '32GiB/witness-winning.json'],
]

describe('statementOf', () => {
  it.each(RECORDED)('gives the reference’s public inputs: %s', (_, request, folder, witness) => {
    const statement = statementOf(request())
    expect(statement.publicInputs.map((partition) => partition.map(hex))).toEqual(recordedPublicInputs(witness))
    expect(hex(validateRequest(request()).proverId)).toBe(recordedRequest(folder).prover_id)
  })

  it.each(RECORDED)('is the same in slices: %s', async (_, request) => {
    expect(await deriveStatement(validateRequest(request()))).toEqual(statementOf(request()))
  })

  it('does not depend on the order of the vanilla proofs', () => {
    const request = window3Request()
    const shuffled = { ...request, vanillaProofs: [...request.vanillaProofs].reverse() }
    expect(statementOf(shuffled)).toEqual(statementOf(request))
  })

  it('numbers challenges through for V1, from the first partition on', () => {
    const request = window3Request()
    const first = statementOf({ ...request, registeredProof: 'StackedDrgWindow2KiBV1' })
    const perSector = statementOf(request)
    // The first sector of partition 0 has the numbers 0 to 9 under both rules.
    expect(first.publicInputs[0]?.slice(0, 11)).toEqual(perSector.publicInputs[0]?.slice(0, 11))
    expect(first.publicInputs[0]?.slice(11)).not.toEqual(perSector.publicInputs[0]?.slice(11))
    const later = statementOf({ ...request, registeredProof: 'StackedDrgWindow2KiBV1', partitionIndex: 3 })
    expect(later.publicInputs[0]?.slice(0, 11)).not.toEqual(first.publicInputs[0]?.slice(0, 11))
    const geometry = postGeometry('wpost-2k')
    const challenges = new Uint32Array(10)
    const sector = validateRequest(request).sectors[2]
    deriveChallenges(geometry, 'running', request.randomness, sector?.sectorNumber as bigint, 3 * 2 + 2, challenges)
    // Padding repeats the last sector's inputs and takes no new numbers.
    const expected = [...challenges].map((leaf) => leaf.toString(16).padStart(2, '0').padEnd(64, '0'))
    expect(later.publicInputs[1]?.slice(1, 11).map(hex)).toEqual(expected)
    expect(later.publicInputs[1]?.slice(12).map(hex)).toEqual(expected)
  })
})

describe('deriveStatement', () => {
  it('stops with the reason of an abort', async () => {
    const reason = new Error('enough')
    const statement = deriveStatement(validateRequest(windowRequest()), { signal: AbortSignal.abort(reason) })
    await expect(statement).rejects.toBe(reason)
  })
})

describe('deriveChallenges', () => {
  it('gives the leaves of a golden 32 GiB WindowPoSt', () => {
    const challenges = new Uint32Array(10)
    deriveChallenges(postGeometry('wpost-32g'), 'per-sector', new Uint8Array(32), 1n, 0, challenges)
    // From the index bits in curio's lib/proof/testgolden/post.vproof: randomness 0, sector 1.
    const golden = [707914199, 439148358, 967788220, 548708700, 1061661429, 6202012, 1055504637, 389535735, 1000069704]
    expect([...challenges]).toEqual([...golden, 600088878])
  })
})

describe('fingerprintSteps', () => {
  const fingerprint = (request: ProofRequest): string => atOnce(fingerprintSteps(validateRequest(request)))

  it('is the same for the same work, however it is scheduled', () => {
    const request = windowRequest()
    const again = {
      ...windowRequest(),
      vanillaProofs: [...request.vanillaProofs].reverse(),
      priority: 'low' as const,
      deadline: new Date(0),
    }
    expect(fingerprint(again)).toBe(fingerprint(request))
  })

  it('differs with whatever is proved', () => {
    const request = windowRequest()
    const randomness = Uint8Array.from(request.randomness, (byte, i) => (i === 0 ? byte ^ 1 : byte))
    const prints = [
      request,
      { ...request, minerId: 7n },
      { ...request, partitionIndex: 1 },
      { ...request, randomness },
      { ...request, sectors: undefined, vanillaProofs: request.vanillaProofs.slice(1) },
      { ...request, registeredProof: 'StackedDrgWindow2KiBV1' as const },
    ].map(fingerprint)
    expect(new Set(prints).size).toBe(prints.length)
  })
})
