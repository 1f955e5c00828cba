/** What an update's request asks for and states, and which nodes the chain challenges. */
import { afterAll, describe, expect, it } from 'vitest'
import { poseidonHash } from '../../../src/circuit/poseidon/hash.ts'
import { snapParameters } from '../../../src/circuit/snap/snap-parameters.ts'
import { WasmPoseidonHasher } from '../../../src/cpu/poseidon.ts'
import { frFromBytes, frToBytes } from '../../../src/field/fr.ts'
import { verifyProofs } from '../../../src/groth16/verify.ts'
import { parseVerifyingKey } from '../../../src/params/verifying-key.ts'
import { takeOver } from '../../../src/request/partitions.ts'
import type { SnapUpdateRequest } from '../../../src/request/proof-request.ts'
import { registeredUpdateProof } from '../../../src/request/snap/update-proofs.ts'
import { deriveStatement, fingerprintSteps, statementOf } from '../../../src/request/statement.ts'
import { atOnce } from '../../../src/request/steps.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { bigintHasher } from '../../../src/synthesis/bigint-hasher.ts'
import { snapChallenges, snapPhi, snapRhos } from '../../../src/synthesis/snap/snap-challenges.ts'
import { snapGeometry } from '../../../src/synthesis/snap/snap-geometry.ts'
import type { SnapPartition } from '../../../src/synthesis/snap/snap-partition.ts'
import { checkAndSynthesizeSnap } from '../../../src/synthesis/snap/synthesize-snap.ts'
import { SynthesisPool } from '../../../src/synthesis/synthesis-pool.ts'
import { proverErrorOf } from '../../support/expect-error.ts'
import { recordedPublicInputs, snap32Request, snapRequest } from '../../support/fixtures.ts'
import { proofVector } from '../../support/vectors.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const hasher = new WasmPoseidonHasher()
const CUSTOM_TAG = 1n << 40n

describe('challenges', () => {
  /** The first field element of the reference's tests. */
  const commRNew = 0x6c07_40d6_edb2_2eb1_3054_f458_7d6d_2dcb_c688_f796_c303_c704_4f60_429c_4bbe_1c10n

  // storage-proofs-update, challenges.rs: the first five of a partition.
  it.each([
    [5, 0, 0, 10, [21, 7, 3, 31, 0]],
    [6, 0, 0, 10, [53, 51, 56, 3, 0]],
    [8, 0, 0, 10, [245, 140, 15, 128, 28]],
    [9, 1, 1, 10, [286, 308, 493, 510, 508]],
    [10, 1, 1, 10, [542, 666, 955, 927, 911]],
    [18, 2, 1, 10, [78878, 130797, 112892, 93994, 78379]],
    [24, 4, 15, 86, [16388544, 15794686, 16637142, 16319148, 16328348]],
    [30, 4, 1, 86, [109168525, 127316247, 80331041, 97065716, 72310052]],
    [31, 4, 15, 86, [2045262457, 2036941247, 2136653521, 2091356007, 2147167623]],
  ])(
    'are those of the reference: 2^%i nodes, 2^%i partitions, number %i',
    (nodeBits, partitionBits, partition, challenges, first) => {
      const parameters = { nodeBits, partitionBits, challenges }
      const { nodes } = snapChallenges(parameters, frToBytes(commRNew), partition, hasher)
      expect(nodes.length).toBe(challenges)
      expect([...nodes.subarray(0, 5)]).toEqual(first)
    },
  )

  it.each(['2k', '8m', '512m', '32g', '64g'] as const)('are cut from all digests, lowest bits first: %s', (size) => {
    const parameters = snapParameters(size)
    const bits = parameters.nodeBits - parameters.partitionBits
    const partition = 2 ** parameters.partitionBits - 1
    const { nodes, digests } = snapChallenges(parameters, frToBytes(commRNew), partition, hasher)
    const perDigest = Math.floor(254 / bits)
    const count = Math.ceil(parameters.challenges / perDigest)
    const expected = Array.from({ length: count }, (_, j) =>
      poseidonHash([commRNew, BigInt(count * partition + j)], CUSTOM_TAG),
    )
    expect(Array.from({ length: count }, (_, j) => frFromBytes(digests, 32 * j))).toEqual(expected)
    expect([...nodes]).toEqual(
      Array.from({ length: parameters.challenges }, (_, c) => {
        const digest = expected[Math.floor(c / perDigest)] as bigint
        const random = (digest >> BigInt((c % perDigest) * bits)) & (2n ** BigInt(bits) - 1n)
        return Number(random) + partition * 2 ** bits
      }),
    )
  })

  it('have randomness from their highest bits', () => {
    const { parameters, highBits, hSelect } = snapGeometry('snap-64g')
    expect([highBits, hSelect]).toEqual([10, 8])
    expect([snapGeometry('snap-2k').highBits, snapGeometry('snap-2k').hSelect]).toEqual([1, 1])
    const [commDNew, commROld] = [frToBytes(3n), frToBytes(4n)]
    const phi = snapPhi(commDNew, commROld, hasher)
    expect(frFromBytes(phi)).toBe(poseidonHash([3n, 4n], CUSTOM_TAG))
    const nodes = Uint32Array.of(0, 2 ** 31 - 1, 5 * 2 ** 21 + 17)
    const rhos = snapRhos(phi, nodes, parameters.nodeBits, highBits, bigintHasher)
    expect(rhos).toEqual(snapRhos(phi, nodes, parameters.nodeBits, highBits, hasher))
    expect([0, 1, 2].map((i) => frFromBytes(rhos, 32 * i))).toEqual(
      [0n, 1023n, 5n].map((high) => poseidonHash([frFromBytes(phi), high], CUSTOM_TAG)),
    )
  })
})

describe('a snap-update request', () => {
  it('states what the reference’s verifier asks', () => {
    const { kind, circuitId, publicInputs } = statementOf(snapRequest())
    expect({ kind, circuitId }).toEqual({ kind: 'snap-update', circuitId: 'snap-2k' })
    expect(publicInputs.map((inputs) => inputs.map(hex))).toEqual(recordedPublicInputs('2KiB/a/witness-update.json'))
  })

  it('states the same of each of 16 partitions, with its number', async () => {
    const { publicInputs } = await deriveStatement(validateRequest(snap32Request()))
    const [recorded] = recordedPublicInputs('32GiB/witness-update-partition-15.json') as [string[]]
    expect(publicInputs.map((inputs) => inputs.map(hex))).toEqual(
      Array.from({ length: 16 }, (_, k) => [(0x80 + k).toString(16).padEnd(64, '0'), ...recorded.slice(1)]),
    )
    expect(publicInputs).toEqual(statementOf(snap32Request()).publicInputs)
  })

  it('states what the reference’s proof proves', () => {
    const { vk, proof } = proofVector('2KiB/a', 'update', 'update-2KiB')
    const key = parseVerifyingKey(vk, { file: 'test.vk' })
    expect(verifyProofs(key, statementOf(snapRequest()).publicInputs, proof)).toBe(true)
    const other = { ...snapRequest(), commROld: snapRequest().commRNew }
    expect(verifyProofs(key, statementOf(other).publicInputs, proof)).toBe(false)
  })

  it('is understood', () => {
    const { vanillaProofs, ...rest } = validateRequest(snapRequest())
    expect(rest).toMatchObject({
      kind: 'snap-update',
      circuitId: 'snap-2k',
      registered: { id: 0, name: 'StackedDrg2KiBV1' },
      priority: 'normal',
      minerId: 3_093_900n,
      sectorNumber: 168_229_961_122n,
      partitions: 1,
    })
    expect(vanillaProofs).toEqual(snapRequest().vanillaProofs)
    const deadline = new Date(5000)
    const urgent = validateRequest({ ...snapRequest(), requestId: 'a', priority: 'critical', deadline })
    expect(urgent).toMatchObject({ requestId: 'a', priority: 'critical', deadline })
  })

  it('has a fingerprint of all that is public, and of nothing else', () => {
    const fingerprint = (change: object): string =>
      atOnce(fingerprintSteps(validateRequest({ ...snapRequest(), ...change })))
    const plain = fingerprint({})
    expect(fingerprint({ priority: 'low', requestId: 'x', deadline: new Date() })).toBe(plain)
    const changes = [
      { minerId: 1n },
      { sectorNumber: 1n },
      { commROld: snapRequest().commRNew },
      { commRNew: snapRequest().commROld },
      { commDNew: snapRequest().commROld },
    ]
    expect(new Set([plain, ...changes.map(fingerprint)]).size).toBe(1 + changes.length)
  })

  it('is taken over: afterwards the caller’s buffers are free', async () => {
    const request = snapRequest()
    const partitions = await takeOver(validateRequest(request))
    expect(partitions.length).toBe(1)
    const [{ proof, commitments, ...rest }] = partitions as [(typeof partitions)[0]]
    expect(rest).toEqual({
      kind: 'snap-update',
      circuitId: 'snap-2k',
      partition: 0,
      sectorNumber: 168_229_961_122n,
    })
    expect(proof.buffer).toBeInstanceOf(SharedArrayBuffer)
    for (const bytes of [...request.vanillaProofs, request.commROld, request.commRNew, request.commDNew]) bytes.fill(0)
    expect(hex(proof)).toBe(hex(snapRequest().vanillaProofs[0] as Uint8Array))
    const { commROld, commRNew, commDNew } = snapRequest()
    expect(commitments).toEqual({ commROld, commRNew, commDNew })
  })

  it('stops with the reason of an abort', async () => {
    const reason = new Error('enough')
    const taken = takeOver(validateRequest(snap32Request()), { signal: AbortSignal.abort(reason) })
    await expect(taken).rejects.toBe(reason)
  })
})

describe('a synthesis worker', () => {
  const pool = new SynthesisPool(1)
  afterAll(() => pool.close())
  const synthesize = async (request: SnapUpdateRequest) => {
    const [partition] = await takeOver(validateRequest(request))
    return await pool.synthesize(partition as SnapPartition, { priority: 1 })
  }

  it('makes the witness that the calling thread would make', async () => {
    const [partition] = await takeOver(validateRequest(snapRequest()))
    const shares: number[] = []
    const run = { signal: new AbortController().signal, unit: (share: number) => void shares.push(share) }
    const witness = await checkAndSynthesizeSnap(partition as SnapPartition, hasher, run)
    expect(await synthesize(snapRequest())).toEqual(witness)
    expect(shares.at(-1)).toBe(1)
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
  })

  it('names the place at fault', async () => {
    const request = snapRequest()
    const { proof } = snapGeometry('snap-2k')
    const at = proof.challenges + 7 * proof.challengeBytes + proof.rOld + proof.octal.leaf
    ;(request.vanillaProofs[0] as Uint8Array)[at] = 0
    const error = await proverErrorOf(() => synthesize(request))
    expect(error.details).toMatchObject({
      field: 'vanillaProofs[0].challenge_proofs[7].proof_r_old',
      sector: 168_229_961_122n,
      partition: 0,
      challenge: 7,
    })
  })

  it('stops soon after an abort', async () => {
    const partitions = await takeOver(validateRequest(snap32Request()))
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    const options = { priority: 1, signal: controller.signal, onProgress: () => controller.abort(reason) }
    await expect(pool.synthesize(partitions[15] as SnapPartition, options)).rejects.toBe(reason)
  })
})

describe('registered update proofs', () => {
  it('have the chain’s numbers', () => {
    expect([0, 1, 2, 3, 4].map(registeredUpdateProof)).toEqual(
      ['2KiB', '8MiB', '512MiB', '32GiB', '64GiB'].map((size) => `StackedDrg${size}V1`),
    )
  })

  it.each([-1, 5, 0.5, Number.NaN])('refuse the number %s', async (id) => {
    const error = await proverErrorOf(() => registeredUpdateProof(id))
    expect(error.details).toMatchObject({ field: 'registeredProof', expected: '0 to 4', received: String(id) })
  })
})
