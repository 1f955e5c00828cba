/**
 * Vanilla proofs whose content is wrong: refused before the job is queued where no hash is needed, else in synthesis.
 */
import { describe, expect, it } from 'vitest'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { InvalidRequestError, type ProverError } from '../../src/errors.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { WindowPostRequest, WinningPostRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { postGeometry } from '../../src/synthesis/post-geometry.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { inclusionProofOffset, vanillaLayout } from '../../src/synthesis/vanilla-post.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { window3Request, windowRequest, winning32Request } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

type PostRequest = WindowPostRequest | WinningPostRequest

const R_HEX = '01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73'
const hasher = new WasmPoseidonHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }

/** The request with vanilla proof `place` edited. */
function edited<R extends PostRequest>(request: R, place: number, edit: (bytes: Buffer) => void): R {
  const vanillaProofs = request.vanillaProofs.map((bytes, i) => {
    const copy = Buffer.from(bytes)
    if (i === place) edit(copy)
    return new Uint8Array(copy)
  })
  return { ...request, vanillaProofs }
}

const refusedBeforeQueue = (request: PostRequest): Promise<ProverError> =>
  proverErrorOf(async () => await takeOver(validateRequest(request)))

/** For what only hashes can tell: the request is taken over, and its synthesis fails. */
async function refusedInSynthesis(request: PostRequest): Promise<ProverError> {
  const partitions = await takeOver(validateRequest(request))
  return await proverErrorOf(async () => {
    for (const partition of partitions) await checkAndSynthesize(partition, hasher, idle)
  })
}

const layout2k = vanillaLayout(postGeometry('wpost-2k'))
const layout32g = vanillaLayout(postGeometry('winning-32g'))
const [SECTOR_0, SECTOR_1, SECTOR_2] = [168229961122n, 168229961669n, 168229961670n]

describe('a vanilla proof of the wrong form', () => {
  const proof3 = inclusionProofOffset(layout2k, 3)
  const level1 = layout2k.levels[1] as (typeof layout2k.levels)[number]
  // [what, edit, field, challenge, expected, received]
  const wrong: [string, (bytes: Buffer) => void, string, number | undefined, string, string][] = [
    ['two sectors in one', (b) => b.writeBigUInt64LE(2n, 40), 'sectors.length', undefined, '1', '2'],
    ['a length of 2^64 - 1', (b) => b.fill(0xff, 40, 48), 'sectors.length', undefined, '1', '18446744073709551615'],
    ['too few challenges', (b) => b.writeBigUInt64LE(9n, 48), 'inclusion_proofs.length', undefined, '10', '9'],
    [
      'a length that is right in its low half only',
      (b) => b.writeUInt32LE(1, 52),
      'inclusion_proofs.length',
      undefined,
      '10',
      '4294967306',
    ],
    ['the tree of another size', (b) => b.writeUInt32LE(1, proof3), 'variant', 3, '0', '1'],
    ['a path that is too long', (b) => b.writeBigUInt64LE(3n, proof3 + 68), 'path.length', 3, '2', '3'],
    [
      'too many siblings',
      (b) => b.writeBigUInt64LE(8n, proof3 + level1.hashesLength),
      'path[1].hashes.length',
      3,
      '7',
      '8',
    ],
    [
      'an index outside its group',
      (b) => b.writeBigUInt64LE(8n, proof3 + level1.index),
      'path[1].index',
      3,
      'below 8',
      '8',
    ],
    [
      'an index whose high half is set',
      (b) => b.writeUInt32LE(1, proof3 + level1.index + 4),
      'path[1].index',
      3,
      'below 8',
      '429496729',
    ],
  ]
  it.each(wrong)('has %s', async (_, edit, field, challenge, expected, received) => {
    const error = await refusedBeforeQueue(edited(windowRequest(), 1, edit))
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    const path = challenge === undefined ? field : `inclusion_proofs[${challenge}].${field}`
    expect(error.details).toMatchObject({ field: `vanillaProofs[1].${path}`, sector: SECTOR_1, expected })
    expect(error.details.received).toContain(received)
    expect(error.details.challenge).toBe(challenge)
    expect(error.message).toContain(`sector ${SECTOR_1}`)
  })

  const scalars: [string, number, string, number | undefined][] = [
    ['comm_c', layout2k.commC, 'comm_c', undefined],
    ['comm_r_last', layout2k.commRLast, 'comm_r_last', undefined],
    ['leaf', proof3 + layout2k.leaf, 'inclusion_proofs[3].leaf', 3],
    ['sibling', proof3 + level1.siblings + 4 * 32, 'inclusion_proofs[3].path[1].hashes[4]', 3],
  ]
  it.each(scalars)('has a field element that is not canonical: %s', async (_, offset, field, challenge) => {
    const error = await refusedBeforeQueue(edited(windowRequest(), 0, (b) => b.set(Buffer.from(R_HEX, 'hex'), offset)))
    expect(error.details).toEqual({
      field: `vanillaProofs[0].${field}`,
      sector: SECTOR_0,
      ...(challenge !== undefined && { challenge }),
      expected: '32 bytes little-endian below r',
      received: R_HEX,
    })
  })

  it('names the place in the caller’s list, whatever the order', async () => {
    const request = window3Request()
    const reversed = { ...request, vanillaProofs: [...request.vanillaProofs].reverse() }
    const error = await refusedBeforeQueue(
      edited(reversed, 0, (b) => b.writeUInt32LE(2, inclusionProofOffset(layout2k, 9))),
    )
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[0].inclusion_proofs[9].variant',
      sector: SECTOR_2,
      challenge: 9,
    })
  })
})

describe('a challenge that is not the one asked for', () => {
  it('is refused: one index changed', async () => {
    const request = windowRequest()
    const level0 = layout2k.levels[0] as (typeof layout2k.levels)[number]
    // Challenge 2 of sector 0 opens leaf 34 = 4·8 + 2.
    const at = inclusionProofOffset(layout2k, 2) + level0.index
    const error = await refusedBeforeQueue(edited(request, 0, (b) => b.writeBigUInt64LE(5n, at)))
    expect(error.details).toEqual({
      field: 'vanillaProofs[0].inclusion_proofs[2].path',
      sector: SECTOR_0,
      challenge: 2,
      expected: 'leaf 34',
      received: 'leaf 37',
    })
  })

  it('is refused: vanilla proofs made with other randomness', async () => {
    const other = window3Request().randomness
    const error = await refusedBeforeQueue({ ...windowRequest(), randomness: other })
    expect(error.details).toMatchObject({ sector: SECTOR_0, challenge: 0, expected: 'leaf 33', received: 'leaf 39' })
  })

  it('is refused: two inclusion proofs swapped', async () => {
    const [a, b] = [inclusionProofOffset(layout2k, 0), inclusionProofOffset(layout2k, 1)]
    const swap = (bytes: Buffer): void => {
      const first = Buffer.from(bytes.subarray(a, a + layout2k.proofBytes))
      bytes.copyWithin(a, b, b + layout2k.proofBytes)
      bytes.set(first, b)
    }
    const error = await refusedBeforeQueue(edited(windowRequest(), 0, swap))
    expect(error.details).toMatchObject({ sector: SECTOR_0, challenge: 0, expected: 'leaf 39', received: 'leaf 19' })
  })

  it('is refused: the numbering of V1 for proofs made for V1_2', async () => {
    const error = await refusedBeforeQueue({ ...windowRequest(), registeredProof: 'StackedDrgWindow2KiBV1' })
    // The first sector's challenges have the same numbers under both rules.
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[1].inclusion_proofs[0].path',
      sector: SECTOR_1,
      challenge: 0,
    })
  })

  it('is refused: a sector number changed to another', async () => {
    const error = await refusedBeforeQueue({
      ...edited(windowRequest(), 0, (b) => b.writeBigUInt64LE(1n, 0)),
      sectors: undefined,
    })
    expect(error.details).toMatchObject({ field: expect.stringContaining('inclusion_proofs[0].path'), sector: 1n })
  })
})

describe('a root that does not fit', () => {
  it('is refused: the root that an inclusion proof states is not comm_r_last', async () => {
    const at = inclusionProofOffset(layout2k, 7) + layout2k.root
    const request = windowRequest()
    const root = Buffer.from(request.vanillaProofs[0] as Uint8Array).subarray(at, at + 32)
    const error = await refusedBeforeQueue(edited(request, 0, (b) => b.writeUInt8((root[0] as number) ^ 1, at)))
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[0].inclusion_proofs[7].root',
      sector: SECTOR_0,
      challenge: 7,
      expected: root.toString('hex'),
    })
  })

  it('is refused: a sibling of one path changed', async () => {
    const level = layout2k.levels[1] as (typeof layout2k.levels)[number]
    const at = inclusionProofOffset(layout2k, 6) + level.siblings + 3 * 32
    const error = await refusedInSynthesis(edited(window3Request(), 2, (b) => b.writeUInt8((b[at] as number) ^ 1, at)))
    expect(error.code).toBe('ERR_INVALID_REQUEST')
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[2].inclusion_proofs[6].path',
      sector: SECTOR_2,
      challenge: 6,
    })
    expect(error.message).toContain('leads to another root')
  })

  it('is refused: the leaf of one path changed, in a WinningPoSt of full size', async () => {
    const at = inclusionProofOffset(layout32g, 65) + layout32g.leaf
    const error = await refusedInSynthesis(
      edited(winning32Request(), 0, (b) => b.writeUInt8((b[at] as number) ^ 1, at)),
    )
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[0].inclusion_proofs[65].path',
      sector: 412838465071n,
      challenge: 65,
    })
  })
})

describe('a comm_r that does not fit', () => {
  it('is refused: comm_r is not H(comm_c, comm_r_last)', async () => {
    const request = windowRequest()
    const commR = Buffer.from(request.vanillaProofs[1] as Uint8Array).subarray(8, 40)
    const wrong = edited({ ...request, sectors: undefined }, 1, (b) => b.writeUInt8((commR[0] as number) ^ 1, 8))
    const error = await refusedInSynthesis(wrong)
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[1].comm_r',
      sector: SECTOR_1,
      expected: commR.toString('hex'),
    })
  })

  it('is refused: comm_c of another sector', async () => {
    const request = windowRequest()
    const other = (request.vanillaProofs[0] as Uint8Array).subarray(layout2k.commC, layout2k.commC + 32)
    const error = await refusedInSynthesis(edited(request, 1, (b) => b.set(other, layout2k.commC)))
    expect(error.details).toMatchObject({ field: 'vanillaProofs[1].comm_r', sector: SECTOR_1 })
    expect(error.message).toContain('H(comm_c, comm_r_last)')
  })
})

describe('taking a request over', () => {
  it('notices buffers that change meanwhile', async () => {
    const request = windowRequest()
    const validated = validateRequest(request)
    request.vanillaProofs[1]?.fill(0)
    const error = await proverErrorOf(async () => await takeOver(validated))
    expect(error.details).toEqual({ field: 'vanillaProofs[1]', sector: SECTOR_1 })
    expect(error.message).toContain('changed while')
  })

  it('notices buffers that were transferred away', async () => {
    const request = windowRequest()
    const validated = validateRequest(request)
    structuredClone(request.vanillaProofs[0], {
      transfer: [(request.vanillaProofs[0] as Uint8Array).buffer as ArrayBuffer],
    })
    const error = await proverErrorOf(async () => await takeOver(validated))
    expect(error.details).toEqual({ field: 'vanillaProofs[0]', sector: SECTOR_0 })
  })

  it('stops with the reason of an abort', async () => {
    const reason = new Error('enough')
    const validated = validateRequest(syntheticWindowRequest('32g', 400))
    const copied = takeOver(validated, { signal: AbortSignal.abort(reason) })
    await expect(copied).rejects.toBe(reason)
  })

  it('leaves the caller’s buffers alone', async () => {
    const request = windowRequest()
    const before = request.vanillaProofs.map((bytes) => Buffer.from(bytes).toString('hex'))
    const [partition] = await takeOver(validateRequest(request))
    partition?.scalars.fill(0)
    expect(request.vanillaProofs.map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual(before)
  })
})
