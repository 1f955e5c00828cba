/** Updates that are wrong somewhere: each is refused with an error that names the place. */
import { describe, expect, it } from 'vitest'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { InvalidRequestError, type ProverError } from '../../src/errors.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { SnapUpdateRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { FieldPath, offsetOf } from '../../src/synthesis/records.ts'
import { type SnapGeometry, snapGeometry } from '../../src/synthesis/snap/snap-geometry.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { snapRequest } from '../support/fixtures.ts'
import { leavesOf } from '../support/porep.ts'
import { rememberingHasher } from '../support/remembering-hasher.ts'
import { syntheticSnapRequest } from '../support/synthetic-snap.ts'

const R_HEX = '01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73'
const hasher = rememberingHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const small = snapGeometry('snap-2k')
const large = snapGeometry('snap-8m')
const SECTOR = snapRequest().sectorNumber

/** Takes a request through every check before a device. */
const refusal = (request: unknown): Promise<ProverError> =>
  proverErrorOf(async () => {
    for (const partition of await takeOver(validateRequest(request))) await checkAndSynthesize(partition, hasher, idle)
  })

/** The request with vanilla proof `partition` edited. */
function edited(request: SnapUpdateRequest, edit: (bytes: Buffer) => void, partition = 0): SnapUpdateRequest {
  const vanillaProofs = request.vanillaProofs.map((bytes, k) => {
    const copy = Buffer.from(bytes)
    if (k === partition) edit(copy)
    return new Uint8Array(copy)
  })
  return { ...request, vanillaProofs }
}

/** With the lowest bit of a byte flipped. */
const flipped = (request: SnapUpdateRequest, at: number, partition = 0): SnapUpdateRequest =>
  edited(request, (bytes) => bytes.writeUInt8((bytes[at] as number) ^ 1, at), partition)

const challengeAt = ({ proof }: SnapGeometry, challenge: number): number =>
  proof.challenges + challenge * proof.challengeBytes

/** Copies challenge `from` over challenge `to`. */
function copyChallenge(bytes: Buffer, from: number, to: number): void {
  const { challengeBytes } = small.proof
  bytes.copyWithin(challengeAt(small, to), challengeAt(small, from), challengeAt(small, from) + challengeBytes)
}

describe('the vanilla proof of a partition', () => {
  it('passes as it is', async () => {
    for (const request of [snapRequest(), syntheticSnapRequest('2k'), syntheticSnapRequest('8m')]) {
      for (const partition of await takeOver(validateRequest(request))) {
        await checkAndSynthesize(partition, hasher, idle)
      }
    }
  })

  it('has nothing that could be changed unnoticed: each value is refused by name', async () => {
    const named = new Map<string, number>()
    for (const { path, kind, at } of leavesOf(small.proof.record)) {
      const error = await refusal(flipped(snapRequest(), at))
      const where = path.join('.')
      expect(error, where).toBeInstanceOf(InvalidRequestError)
      const [list, challenge, part] = path
      const inChallenge = list === 'challenge_proofs' && typeof challenge === 'number'
      expect(error.details.sector, where).toBe(SECTOR)
      expect(error.details.partition, where).toBe(0)
      expect(error.details.challenge, where).toBe(inChallenge ? challenge : undefined)
      // Lengths and tags by their own name, values by that of the part that no longer fits.
      const exact = kind === 'length' || kind === 'tag'
      const steps = exact ? path : inChallenge ? [list, challenge, part as string] : list === 'comm_c' ? [] : [list]
      const field = new FieldPath('vanillaProofs', 0, ...(steps as (string | number)[])).toString()
      if (exact) expect(error.details.field, where).toBe(field)
      else expect(error.details.field?.startsWith(field), `${where}: ${error.message}`).toBe(true)
      named.set(kind, (named.get(kind) ?? 0) + 1)
    }
    // Of each challenge: 6 + 2 values in TreeD, 14 + 2 in each TreeR; lengths of paths and of their levels' siblings.
    // Beside them comm_c and 8 apex leafs.
    expect(Object.fromEntries(named)).toEqual({
      scalar: 9 + 10 * (8 + 16 + 16),
      length: 2 + 10 * 13,
      tag: 30,
      number: 100,
    })
  }, 60_000)

  const place = (...path: (string | number)[]): number => offsetOf(small.proof.record, ...path)
  const rOld = (c: number, ...path: (string | number)[]): number =>
    place('challenge_proofs', c, 'proof_r_old', 'data', 'Single', ...path)
  const dNew = (c: number, ...path: (string | number)[]): number =>
    place('challenge_proofs', c, 'proof_d_new', 'data', 'Single', ...path)
  const P = 'vanillaProofs[0]'

  const scalars: [string, number][] = [
    ['comm_c', place('comm_c')],
    ['apex_leafs[7]', place('apex_leafs', 7)],
    ['challenge_proofs[2].proof_r_old.data.Single.leaf', rOld(2, 'leaf')],
    ['challenge_proofs[9].proof_d_new.data.Single.root', dNew(9, 'root')],
    ['challenge_proofs[0].proof_r_old.data.Single.path.path[1].hashes[6]', rOld(0, 'path', 'path', 1, 'hashes', 6)],
  ]
  it.each(scalars)('has a field element that is not canonical: %s', async (field, at) => {
    const error = await refusal(edited(snapRequest(), (bytes) => bytes.set(Buffer.from(R_HEX, 'hex'), at)))
    const challenge = /^challenge_proofs\[(\d)\]/.exec(field)?.[1]
    expect(error.details).toEqual({
      field: `${P}.${field}`,
      sector: SECTOR,
      partition: 0,
      ...(challenge !== undefined && { challenge: Number(challenge) }),
      expected: '32 bytes little-endian below r',
      received: R_HEX,
    })
    expect(error.message).toContain(`(sector ${SECTOR}, partition 0`)
  })

  // [what, edit, field, challenge, part of the message]
  const edits: [string, (bytes: Buffer) => void, string, number | undefined, string][] = [
    [
      'an index outside its group',
      (b) => b.writeBigUInt64LE(8n, rOld(3, 'path', 'path', 1, 'index')),
      '.challenge_proofs[3].proof_r_old.data.Single.path.path[1].index',
      3,
      'below 8, got 8',
    ],
    [
      'an index that is right in its low half only',
      (b) => b.writeUInt32LE(1, dNew(4, 'path', 'path', 5, 'index') + 4),
      '.challenge_proofs[4].proof_d_new.data.Single.path.path[5].index',
      4,
      'below 2, got 429496729',
    ],
    ['two challenges swapped', swapChallenges, '.challenge_proofs[1].proof_r_old', 1, 'opens another node'],
    ['a challenge twice', (b) => copyChallenge(b, 3, 8), '.challenge_proofs[8].proof_r_old', 8, 'opens another node'],
    [
      'the old replica for the new one',
      (b) => {
        const at = challengeAt(small, 6)
        const { rOld, rNew, dNew } = small.proof
        b.copyWithin(at + rNew, at + rOld, at + dNew)
      },
      '.challenge_proofs[6].proof_r_new.root',
      6,
      'differs from that of challenge 0',
    ],
    [
      'siblings in another order',
      (b) => {
        const at = rOld(5, 'path', 'path', 0, 'hashes', 2)
        const second = Buffer.from(b.subarray(at, at + 32))
        b.copyWithin(at, at + 32, at + 64)
        b.set(second, at + 32)
      },
      '.challenge_proofs[5].proof_r_old',
      5,
      'another root',
    ],
    [
      'apex leafs in another order',
      (b) => {
        const at = place('apex_leafs', 0)
        const first = Buffer.from(b.subarray(at, at + 32))
        b.copyWithin(at, at + 32, at + 8 * 32)
        b.set(first, at + 7 * 32)
      },
      '.apex_leafs',
      undefined,
      'another root than comm_d_new',
    ],
    ['another comm_c', (b) => b.writeUInt32LE(7, 0), '', undefined, 'comm_r_old is not H(comm_c, root of proof_r_old)'],
    ['nothing but zeros', (b) => b.fill(0), '.apex_leafs', undefined, 'a wrong length: expected 8, got 0'],
    ['nothing but ones', (b) => b.fill(255), '.comm_c', undefined, 'not a canonical field element'],
  ]
  it.each(edits)('has %s', async (_, edit, field, challenge, message) => {
    const { details, message: text } = await refusal(edited(snapRequest(), edit))
    expect(details).toMatchObject({ field: `${P}${field}`, sector: SECTOR, partition: 0 })
    expect(details.challenge).toBe(challenge)
    expect(text).toContain(message)
  })

  it('encodes the data with an error', async () => {
    const { details, message } = await refusal(syntheticSnapRequest('2k', 1n))
    expect(details).toMatchObject({ field: `${P}.challenge_proofs[0].proof_r_new.leaf`, partition: 0, challenge: 0 })
    expect(message).toContain('not the old leaf plus data times randomness')
  })
})

function swapChallenges(bytes: Buffer): void {
  const at = challengeAt(small, 1)
  const first = Buffer.from(bytes.subarray(at, at + small.proof.challengeBytes))
  copyChallenge(bytes, 2, 1)
  bytes.set(first, challengeAt(small, 2))
}

describe('one of several partitions', () => {
  const sibling = (challenge: number, level: number): number =>
    challengeAt(large, challenge) + large.proof.dNew + (large.proof.binary.levels[level]?.siblings as number)

  it.each([
    ['the path of its place, in its first challenge', 2, sibling(0, 17), 0],
    ['the path of its place, in a later challenge', 1, sibling(7, 16), 7],
    ['a path below an apex leaf', 3, sibling(4, 2), 4],
    ['a path above an apex leaf', 3, sibling(9, 12), 9],
  ])('has %s changed', async (_, partition, at, challenge) => {
    const { details, message } = await refusal(flipped(syntheticSnapRequest('8m'), at, partition))
    const field = `vanillaProofs[${partition}].challenge_proofs[${challenge}].proof_d_new`
    expect(details).toMatchObject({ field, partition, challenge })
    expect(message).toContain('another root')
  })

  it('has an apex leaf changed', async () => {
    const { details } = await refusal(flipped(syntheticSnapRequest('8m'), large.proof.apexLeafs + 100 * 32, 3))
    expect(details).toMatchObject({ field: 'vanillaProofs[3].apex_leafs', partition: 3 })
  })

  it.each([
    ['stands in another’s place', [0, 2, 1, 3], 1],
    ['comes twice', [0, 1, 2, 2], 3],
  ])('%s', async (_, order, partition) => {
    const request = syntheticSnapRequest('8m')
    const vanillaProofs = order.map((k) => request.vanillaProofs[k] as Uint8Array)
    const { details, message } = await refusal({ ...request, vanillaProofs })
    const field = `vanillaProofs[${partition}].challenge_proofs[0].proof_r_old`
    expect(details).toMatchObject({ field, partition, challenge: 0 })
    expect(message).toContain('opens another node than the chain asks for')
  })

  it('has another’s apex leafs', async () => {
    const request = syntheticSnapRequest('8m')
    const { apexLeafs, challenges } = large.proof
    // The synthetic data has two kinds of partition, and these are not of the same.
    const other = (request.vanillaProofs[1] as Uint8Array).subarray(apexLeafs, challenges - 8)
    const { details } = await refusal(edited(request, (bytes) => bytes.set(other, apexLeafs)))
    expect(details).toMatchObject({ field: 'vanillaProofs[0].apex_leafs', partition: 0 })
  })
})

describe('what the chain knows', () => {
  const other = new Uint8Array(32).fill(9)
  it.each([
    ['another comm_r_old', { commROld: other }, '', 'comm_r_old is not H(comm_c, root of proof_r_old)'],
    ['another comm_r_new', { commRNew: other }, '', 'comm_r_new is not H(comm_c, root of proof_r_new)'],
    [
      'the commitments swapped',
      { commROld: snapRequest().commRNew, commRNew: snapRequest().commROld },
      '',
      'comm_r_old is not',
    ],
    [
      'another comm_d_new',
      { commDNew: other },
      '.challenge_proofs[0].proof_d_new.root',
      `differs from comm_d_new: expected ${'09'.repeat(32)}`,
    ],
  ])('is %s', async (_, change, field, message) => {
    const error = await refusal({ ...snapRequest(), ...change })
    expect(error.details).toMatchObject({ field: `vanillaProofs[0]${field}`, sector: SECTOR, partition: 0 })
    expect(error.message).toContain(message)
  })
})

describe('a field of the request', () => {
  const names = ['2KiB', '8MiB', '512MiB', '32GiB', '64GiB'].map((size) => `StackedDrg${size}V1`).join(' | ')
  const [proof] = snapRequest().vanillaProofs as [Uint8Array]
  it.each<[string, string, unknown, string]>([
    ['an unknown proof', 'registeredProof', 'StackedDrg2KiBV1_1', names],
    ['a number for a proof', 'registeredProof', 0, names],
    ['no sector number', 'sectorNumber', undefined, 'a bigint (1000n)'],
    ['a sector number as a number', 'sectorNumber', 7, 'a bigint (1000n)'],
    ['a negative sector number', 'sectorNumber', -1n, 'from 0n to 2n ** 64n - 1n'],
    ['no miner', 'minerId', undefined, 'a bigint (1000n)'],
    ['no comm_r_old', 'commROld', undefined, 'a Uint8Array'],
    ['no comm_r_new', 'commRNew', null, 'a Uint8Array'],
    ['a comm_d_new as hex', 'commDNew', '00'.repeat(32), 'a Uint8Array'],
    ['a comm_r_old of 31 bytes', 'commROld', new Uint8Array(31), '32 bytes'],
    ['a comm_r_new that is r', 'commRNew', new Uint8Array(Buffer.from(R_HEX, 'hex')), '32 bytes little-endian below r'],
    ['no vanilla proofs', 'vanillaProofs', undefined, 'an array of Uint8Array'],
    ['an empty list', 'vanillaProofs', [], 'a list with at least one Uint8Array'],
    ['two vanilla proofs', 'vanillaProofs', [proof, proof], 'a list of 1 Uint8Array, one a partition'],
    ['a hole', 'vanillaProofs', new Array(1), 'a Uint8Array'],
    ['an array of numbers', 'vanillaProofs', [[...proof]], 'a Uint8Array'],
    ['a vanilla proof cut short', 'vanillaProofs', [proof.subarray(1)], '15064 bytes'],
    ['a vanilla proof with a byte more', 'vanillaProofs', [Uint8Array.from([...proof, 0])], '15064 bytes'],
    ['an unknown priority', 'priority', 'urgent', 'low | normal | high | critical'],
    ['an empty id', 'requestId', '', 'a non-empty string'],
  ])('is %s', async (_, field, value, expected) => {
    const error = await proverErrorOf(() => validateRequest({ ...snapRequest(), [field]: value }))
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details.field?.startsWith(field)).toBe(true)
    expect(error.details.expected).toBe(expected)
    expect(error.message).toContain(field)
  })

  it('is a vanilla proof of another sector size', async () => {
    const vanillaProofs = syntheticSnapRequest('8m').vanillaProofs.slice(0, 1)
    const error = await proverErrorOf(() => validateRequest({ ...snapRequest(), vanillaProofs }))
    expect(error.details).toMatchObject({ field: 'vanillaProofs[0]', partition: 0, sector: SECTOR })
  })
})

describe('taking an update over', () => {
  it('notices a buffer that was transferred away', async () => {
    const request = snapRequest()
    const validated = validateRequest(request)
    const [{ buffer }] = request.vanillaProofs as [Uint8Array]
    structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
    const error = await proverErrorOf(async () => await takeOver(validated))
    expect(error.details).toEqual({ field: 'vanillaProofs[0]', sector: SECTOR, partition: 0 })
    expect(error.message).toContain('changed while')
  })

  it('needs no more than the plain hasher', async () => {
    const [partition] = await takeOver(validateRequest(flipped(snapRequest(), small.proof.challenges + 200)))
    const checked = checkAndSynthesize(partition as NonNullable<typeof partition>, new WasmPoseidonHasher(), idle)
    await expect(checked).rejects.toBeInstanceOf(InvalidRequestError)
  })
})
