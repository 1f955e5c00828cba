/** A real seal's commit-phase-1 output, in every form in which it is kept; what it states. */
import { describe, expect, it } from 'vitest'
import { UnsupportedProofError } from '../../../src/errors.ts'
import { verifyProofs } from '../../../src/groth16/verify.ts'
import { parseVerifyingKey } from '../../../src/params/verifying-key.ts'
import { takeOver } from '../../../src/request/partitions.ts'
import { registeredSealProof, sealProofOf } from '../../../src/request/porep/seal-proofs.ts'
import type { PorepC2Request } from '../../../src/request/proof-request.ts'
import { deriveStatement, fingerprintSteps, statementOf } from '../../../src/request/statement.ts'
import { atOnce } from '../../../src/request/steps.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { SynthesisPool } from '../../../src/synthesis/synthesis-pool.ts'
import { proverErrorOf } from '../../support/expect-error.ts'
import { recordedPublicInputs } from '../../support/fixtures.ts'
import {
  jsonBytes,
  outputBincode,
  outputJson,
  outputObject,
  porepRequest,
  recordedSeal,
  wrappedOutput,
} from '../../support/porep.ts'
import { syntheticSealRequest } from '../../support/synthetic-seal.ts'
import { fromHex, proofVector } from '../../support/vectors.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const read = (request: PorepC2Request) => takeOver(validateRequest(request))
const text = (value: string): Uint8Array => new Uint8Array(Buffer.from(value))

/** Every object's keys in reverse, with a stranger among them. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, field]): [string, unknown] => [key, shuffled(field)])
  // An enum's object has its variant's name as its only key.
  if (entries.length === 1) return Object.fromEntries(entries)
  return Object.fromEntries([
    ...entries.reverse(),
    ['stranger', { a: ['\\"', { b: [-1.5e3, true, null] }], ']}': '}]' }],
  ])
}

describe('a commit-phase-1 output', () => {
  const forms: [string, () => Uint8Array | Promise<Uint8Array>][] = [
    ['JSON', outputJson],
    ['base64', () => text(Buffer.from(outputJson()).toString('base64'))],
    ['base64 with a newline', () => text(`${Buffer.from(outputJson()).toString('base64')}\n`)],
    [
      'c1.json with other keys first',
      () => {
        const { SectorNum, Phase1Out, SectorSize } = JSON.parse(Buffer.from(wrappedOutput()).toString())
        return jsonBytes({ Unknown: [1], SectorSize, Phase1Out, SectorNum })
      },
    ],
    ['indented JSON', () => text(JSON.stringify(outputObject(), null, '\t'))],
    ['JSON with Windows newlines', () => text(JSON.stringify(outputObject(), null, 1).replaceAll('\n', '\r\n'))],
    ['JSON with keys in another order, and unknown ones', () => jsonBytes(shuffled(outputObject()))],
    ['bincode', async () => outputBincode(await read(porepRequest()))],
  ]
  it.each(forms)('as %s is read like c1.json', async (_, form) => {
    const request = porepRequest(await form())
    expect(await read(request)).toEqual(await read(porepRequest()))
    expect(statementOf(request)).toEqual(statementOf(porepRequest()))
  })

  it('is read by a worker as by the calling thread, into shared memory', async () => {
    const pool = new SynthesisPool(1)
    try {
      const readSeal = (seal: Parameters<SynthesisPool['readSeal']>[0]) => pool.readSeal(seal, { priority: 1 })
      const partitions = await takeOver(validateRequest(porepRequest()), { readSeal })
      expect(partitions).toEqual(await read(porepRequest()))
      expect(partitions[0]?.proofs.buffer).toBeInstanceOf(SharedArrayBuffer)
      const wrong = validateRequest({ ...porepRequest(), minerId: 1n })
      const error = await proverErrorOf(() => takeOver(wrong, { readSeal }))
      expect(error.details.field).toBe('vanillaProof.replica_id')
    } finally {
      await pool.close()
    }
  })

  it('leaves the caller’s buffer alone, and free afterwards', async () => {
    const request = porepRequest()
    const before = request.vanillaProof.slice()
    const partitions = await read(request)
    expect(request.vanillaProof).toEqual(before)
    request.vanillaProof.fill(0)
    expect(partitions).toEqual(await read(porepRequest()))
  })

  it('is not taken over once the signal aborts', async () => {
    const reason = new Error('no longer wanted')
    const taken = takeOver(validateRequest(porepRequest()), { signal: AbortSignal.abort(reason) })
    await expect(taken).rejects.toBe(reason)
  })
})

describe('the statement of a seal', () => {
  it('is what the reference derives', async () => {
    const expected = recordedPublicInputs('2KiB/a/witness-porep.json')
    const statement = statementOf(porepRequest())
    expect(statement.kind).toBe('porep-c2')
    expect(statement.circuitId).toBe('porep-2k')
    expect(statement.publicInputs.map((partition) => partition.map(hex))).toEqual(expected)
    const validated = validateRequest(porepRequest())
    expect(await deriveStatement(validated)).toEqual(statement)
    expect(await deriveStatement(validated, { inputs: await takeOver(validated) })).toEqual(statement)
    expect(hex(validated.proverId)).toBe(recordedSeal.prover_id)
    expect(hex(validated.registered.porepId)).toBe(recordedSeal.porep_id)
  })

  it('is what the reference’s proof proves', () => {
    const { vk, proof } = proofVector('2KiB/a', 'porep', 'porep-2KiB')
    const key = parseVerifyingKey(vk, { file: 'test.vk' })
    expect(verifyProofs(key, statementOf(porepRequest()).publicInputs, proof)).toBe(true)
    const other = statementOf(syntheticSealRequest('StackedDrg2KiBV1_1'))
    expect(verifyProofs(key, other.publicInputs, proof)).toBe(false)
  })

  it('agrees with what the chain expects', () => {
    const [commR, commD] = [fromHex(recordedSeal.comm_r), fromHex(recordedSeal.comm_d)]
    expect(statementOf({ ...porepRequest(), commR, commD })).toEqual(statementOf(porepRequest()))
  })

  it('decides what a request that is repeated joins', () => {
    const fingerprint = (fields: Partial<PorepC2Request>): string =>
      atOnce(fingerprintSteps(validateRequest({ ...porepRequest(), requestId: 'x', ...fields })))
    const same = fingerprint({ priority: 'high' })
    expect(fingerprint({})).toBe(same)
    expect(fingerprint({ sectorNumber: 1n })).not.toBe(same)
    expect(fingerprint({ vanillaProof: outputJson() })).not.toBe(same)
  })
})

describe('registered seal proofs', () => {
  it('have the chain’s numbers', () => {
    expect([0, 5, 8, 10, 13, 19].map(registeredSealProof)).toEqual([
      'StackedDrg2KiBV1',
      'StackedDrg2KiBV1_1',
      'StackedDrg32GiBV1_1',
      'StackedDrg2KiBV1_1_Feat_SyntheticPoRep',
      'StackedDrg32GiBV1_1_Feat_SyntheticPoRep',
      'StackedDrg64GiBV1_2_Feat_NonInteractivePoRep',
    ])
  })

  it('choose graph and challenges', () => {
    expect(sealProofOf('StackedDrg64GiBV1')).toMatchObject({ circuitId: 'porep-64g', legacyGraph: true, id: 4 })
    expect(sealProofOf('StackedDrg8MiBV1_1_Feat_SyntheticPoRep')).toMatchObject({
      circuitId: 'porep-8m',
      legacyGraph: false,
      challengeRule: 'synthetic',
      id: 11,
    })
    expect(hex(sealProofOf('StackedDrg32GiBV1_2_Feat_NonInteractivePoRep').porepId)).toBe(`12${'00'.repeat(31)}`)
  })

  it.each([-1, 20, 1.5, Number.NaN])('refuse the number %s', async (id) => {
    const error = await proverErrorOf(() => registeredSealProof(id))
    expect(error.details).toMatchObject({ field: 'registeredProof', received: String(id) })
  })

  it('that are non-interactive wait for aggregation', async () => {
    const registeredProof = 'StackedDrg2KiBV1_2_Feat_NonInteractivePoRep'
    const error = await proverErrorOf(() => validateRequest({ ...porepRequest(), registeredProof }))
    expect(error).toBeInstanceOf(UnsupportedProofError)
    expect(error.details).toMatchObject({ field: 'registeredProof', received: registeredProof })
  })
})
