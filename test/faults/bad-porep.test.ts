/** Commit-phase-1 outputs that are wrong somewhere: each is refused with an error that names the place. */
import { describe, expect, it } from 'vitest'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { InvalidRequestError, type ProverError } from '../../src/errors.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { PorepC2Request } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { PorepChecker } from '../../src/synthesis/porep/check-porep.ts'
import { porepGeometry } from '../../src/synthesis/porep/porep-geometry.ts'
import type { PorepPartition } from '../../src/synthesis/porep/porep-partition.ts'
import { FieldPath } from '../../src/synthesis/records.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import {
  jsonBytes,
  leavesOf,
  outputBincode,
  outputJson,
  outputObject,
  porepRequest,
  recordedSeal,
  wrappedOutput,
} from '../support/porep.ts'

const hasher = new WasmPoseidonHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const geometry = porepGeometry('porep-2k')
const SECTOR = BigInt(recordedSeal.sector_id)

async function partitionOf(request: PorepC2Request): Promise<PorepPartition> {
  const [partition] = await takeOver(validateRequest(request))
  return partition as PorepPartition
}

/** Takes a request through every check before a device. */
const refusal = (request: PorepC2Request): Promise<ProverError> =>
  proverErrorOf(async () => await checkAndSynthesize(await partitionOf(request), hasher, idle))

/** The output with a change made to it. */
// biome-ignore lint/suspicious/noExplicitAny: a change may be of any kind
function changed(change: (output: any) => void): PorepC2Request {
  const output = outputObject()
  change(output)
  return porepRequest(jsonBytes(output))
}

const flip = (bytes: number[]): void => {
  bytes[0] = (bytes[0] as number) ^ 1
}

// biome-ignore lint/suspicious/noExplicitAny: of the output as an object
const firstProof = (output: any, challenge = 0): any => output.vanilla_proofs.StackedDrg2KiBV1[0][challenge]

/** The part of a challenge's proof that an error has to name. */
function partOf(path: readonly (string | number)[]): string {
  const columns = path[0] === 'replica_column_proofs'
  const length = columns ? (path[1] === 'c_x' ? 2 : 3) : path[0] === 'labeling_proofs' ? 2 : 1
  return new FieldPath(...path.slice(0, length)).toString()
}

describe('the proof of a challenge', () => {
  it.each([0, 1])('has nothing that could be changed unnoticed: challenge %i', async (challenge) => {
    const { record } = geometry.challenge
    const partition = await partitionOf(porepRequest())
    const { proofs } = partition
    const base = challenge * record.bytes
    let changes = 0
    for (const { path, kind, at } of leavesOf(record)) {
      if (kind !== 'scalar' && kind !== 'number') continue
      changes++
      proofs[base + at] = (proofs[base + at] as number) ^ 1
      const error = await proverErrorOf(() => {
        const checker = new PorepChecker(geometry, partition, hasher)
        checker.checkNodes(challenge)
        checker.checkHashes(challenge)
      })
      proofs[base + at] = (proofs[base + at] as number) ^ 1
      const where = path.join('.')
      expect(error, where).toBeInstanceOf(InvalidRequestError)
      expect(error.details, where).toMatchObject({ sector: SECTOR, partition: 0, challenge })
      const named = `vanillaProof.vanilla_proofs[0][${challenge}].${partOf(path)}`
      expect(error.details.field?.startsWith(named), `${where}: ${error.message}`).toBe(true)
      expect(error.message).toContain(`partition 0, challenge ${challenge}`)
    }
    // 8 of TreeD, 16 of the others with 16 siblings each, columns of 2, labels of 3 · 37; and the numbers.
    expect(changes).toBe(8 + 6 + 16 * (16 + 2) + 15 * 3 + 3 * (37 + 2))
  })

  it('has no bit of a length or tag that could be changed unnoticed', async () => {
    const { record } = geometry.challenge
    const bincode = outputBincode([await partitionOf(porepRequest())])
    for (const { path, kind, at } of leavesOf(record)) {
      if (kind !== 'length' && kind !== 'tag') continue
      // After the number of partitions and that of challenges.
      const bytes = bincode.slice()
      bytes[16 + at] = (bytes[16 + at] as number) ^ 3
      const { details } = await refusal(porepRequest(bytes))
      const field = new FieldPath('vanillaProof', 'vanilla_proofs', 0, 0, ...path).toString()
      expect(details).toMatchObject({ field, partition: 0, challenge: 0, sector: SECTOR })
    }
  })
})

describe('an output of the wrong form', () => {
  const P = 'vanillaProof.vanilla_proofs'
  // biome-ignore lint/suspicious/noExplicitAny: a change may be of any kind
  const changes: [string, (output: any) => void, string][] = [
    ['another registered proof', (o) => (o.registered_proof = 'StackedDrg2KiBV1'), 'vanillaProof.registered_proof'],
    ['a registered proof that is a number', (o) => (o.registered_proof = 5), 'vanillaProof.registered_proof'],
    ['no registered proof', (o) => delete o.registered_proof, 'vanillaProof.registered_proof'],
    ['proofs of another size', (o) => (o.vanilla_proofs = { StackedDrg8MiBV1: [] }), P],
    ['proofs under two sizes', (o) => (o.vanilla_proofs.StackedDrg8MiBV1 = []), P],
    ['proofs in no object', (o) => (o.vanilla_proofs = []), P],
    ['no proofs', (o) => delete o.vanilla_proofs, P],
    ['no partition', (o) => (o.vanilla_proofs.StackedDrg2KiBV1 = []), P],
    ['two partitions', (o) => o.vanilla_proofs.StackedDrg2KiBV1.push([]), P],
    ['one challenge', (o) => o.vanilla_proofs.StackedDrg2KiBV1[0].pop(), `${P}[0]`],
    ['three challenges', (o) => o.vanilla_proofs.StackedDrg2KiBV1[0].push({}), `${P}[0]`],
    ['challenges in another order', (o) => o.vanilla_proofs.StackedDrg2KiBV1[0].reverse(), `${P}[0][0].comm_d_proofs`],
    ['a challenge twice', (o) => o.vanilla_proofs.StackedDrg2KiBV1[0].fill(firstProof(o)), `${P}[0][1].comm_d_proofs`],
    ['another comm_r', (o) => flip(o.comm_r), `${P}[0]`],
    ['another comm_d', (o) => flip(o.comm_d), 'vanillaProof.replica_id'],
    ['another replica id', (o) => flip(o.replica_id), 'vanillaProof.replica_id'],
    ['another ticket', (o) => flip(o.ticket), 'vanillaProof.replica_id'],
    ['another seed', (o) => flip(o.seed), `${P}[0][0].comm_d_proofs`],
    ['a comm_r of zeros', (o) => o.comm_r.fill(0), 'vanillaProof.comm_r'],
    ['a comm_d of zeros', (o) => o.comm_d.fill(0), 'vanillaProof.comm_d'],
    ['a seed of zeros', (o) => o.seed.fill(0), 'vanillaProof.seed'],
    ['a comm_r that is no field element', (o) => o.comm_r.fill(255), 'vanillaProof.comm_r'],
    ['a comm_d that is no field element', (o) => o.comm_d.fill(255), 'vanillaProof.comm_d'],
    ['no ticket', (o) => delete o.ticket, 'vanillaProof.ticket'],
    ['a seed of 31 bytes', (o) => o.seed.pop(), 'vanillaProof.seed'],
    ['a seed of 33 bytes', (o) => o.seed.push(0), 'vanillaProof.seed'],
    ['a byte of 256', (o) => (o.seed[7] = 256), 'vanillaProof.seed'],
    ['a negative byte', (o) => (o.seed[7] = -1), 'vanillaProof.seed'],
    ['a fraction of a byte', (o) => (o.seed[7] = 0.5), 'vanillaProof.seed'],
    ['a byte as a string', (o) => (o.seed[7] = '7'), 'vanillaProof.seed'],
    ['a huge byte', (o) => (o.seed[7] = 1e20), 'vanillaProof.seed'],
    ['a ticket as hex', (o) => (o.ticket = '00'.repeat(32)), 'vanillaProof.ticket'],
    ['no data path', (o) => delete firstProof(o).comm_d_proofs, `${P}[0][0].comm_d_proofs`],
    [
      'a data path of a larger sector',
      (o) => firstProof(o).comm_d_proofs.data.Single.path.path.push({}),
      `${P}[0][0].comm_d_proofs.data.Single.path.path`,
    ],
    [
      'a path of another variant',
      (o) => (firstProof(o).comm_r_last_proof.data = { Sub: {} }),
      `${P}[0][0].comm_r_last_proof.data`,
    ],
    [
      'six siblings',
      (o) => firstProof(o).comm_r_last_proof.data.Single.path.path[1].hashes.pop(),
      `${P}[0][0].comm_r_last_proof.data.Single.path.path[1].hashes`,
    ],
    [
      'a leaf that is no field element',
      (o) => firstProof(o, 1).comm_r_last_proof.data.Single.leaf.fill(255),
      `${P}[0][1].comm_r_last_proof.data.Single.leaf`,
    ],
    [
      'an index of 8',
      (o) => (firstProof(o).comm_r_last_proof.data.Single.path.path[0].index = 8),
      `${P}[0][0].comm_r_last_proof.data.Single.path.path[0].index`,
    ],
    [
      'an index of 2^33',
      (o) => (firstProof(o).comm_r_last_proof.data.Single.path.path[0].index = 2 ** 33),
      `${P}[0][0].comm_r_last_proof.data.Single.path.path[0].index`,
    ],
    [
      'five DRG parents',
      (o) => firstProof(o).replica_column_proofs.drg_parents.pop(),
      `${P}[0][0].replica_column_proofs.drg_parents`,
    ],
    [
      'nine expander parents',
      (o) => firstProof(o).replica_column_proofs.exp_parents.push({}),
      `${P}[0][0].replica_column_proofs.exp_parents`,
    ],
    [
      'parents in another order',
      (o) => firstProof(o).replica_column_proofs.exp_parents.reverse(),
      `${P}[0][0].replica_column_proofs.exp_parents[0].inclusion_proof`,
    ],
    [
      'a column of three layers',
      (o) => firstProof(o).replica_column_proofs.c_x.column.rows.push([]),
      `${P}[0][0].replica_column_proofs.c_x.column.rows`,
    ],
    [
      'a column without an index',
      (o) => delete firstProof(o).replica_column_proofs.c_x.column.index,
      `${P}[0][0].replica_column_proofs.c_x.column.index`,
    ],
    [
      'rows in another order',
      (o) => firstProof(o).replica_column_proofs.c_x.column.rows.reverse(),
      `${P}[0][0].replica_column_proofs.c_x.column.rows`,
    ],
    [
      'an index of a node beyond 32 bits',
      (o) => (firstProof(o).replica_column_proofs.c_x.column.index = 2 ** 32),
      `${P}[0][0].replica_column_proofs.c_x.column.index`,
    ],
    ['one labeling proof', (o) => firstProof(o).labeling_proofs.pop(), `${P}[0][0].labeling_proofs`],
    [
      'labeling proofs in another order',
      (o) => firstProof(o).labeling_proofs.reverse(),
      `${P}[0][0].labeling_proofs[0].layer_index`,
    ],
    ['36 parents', (o) => firstProof(o).labeling_proofs[1].parents.pop(), `${P}[0][0].labeling_proofs[1].parents`],
    ['no encoding proof', (o) => delete firstProof(o, 1).encoding_proof, `${P}[0][1].encoding_proof`],
    [
      'an encoding proof of the first layer',
      (o) => (firstProof(o).encoding_proof = firstProof(o).labeling_proofs[0]),
      `${P}[0][0].encoding_proof.layer_index`,
    ],
    ['an encoding proof that is null', (o) => (firstProof(o).encoding_proof = null), `${P}[0][0].encoding_proof`],
  ]
  it.each(changes)('has %s', async (_, change, field) => {
    const error = await refusal(changed(change))
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details).toMatchObject({ field, sector: SECTOR })
    expect(error.message).toContain(field)
    const place = /^vanillaProof\.vanilla_proofs\[(\d)\](?:\[(\d)\])?/.exec(field)
    if (place?.[1] !== undefined) expect(error.details.partition).toBe(Number(place[1]))
    if (place?.[2] !== undefined) expect(error.details.challenge).toBe(Number(place[2]))
  })

  const json = Buffer.from(outputJson()).toString()
  const texts: [string, string, string][] = [
    ['a key twice', json.replace('{', '{"registered_proof":"StackedDrg2KiBV1_1",'), 'vanillaProof.registered_proof'],
    [
      'a key of a proof twice',
      json.replace('"leaf":', '"root":'),
      'vanillaProof.vanilla_proofs[0][0].comm_d_proofs.data.Single.root',
    ],
    ['text after it', `${json}{}`, 'vanillaProof'],
    ['a leading zero', json.replace('"seed":[', '"seed":[0'), 'vanillaProof.seed'],
    ['a trailing comma', json.replace(/\}$/, ',}'), 'vanillaProof'],
    ['no end', json.slice(0, -1), 'vanillaProof'],
    ['half of it', json.slice(0, json.length / 2), 'vanillaProof.vanilla_proofs[0][1]'],
    ['nothing but space', ' \n\t ', 'vanillaProof'],
    ['an array', '[]', 'vanillaProof'],
    ['other text', 'commit phase 1', 'vanillaProof'],
    ['an empty object', '{}', 'vanillaProof.registered_proof'],
  ]
  it.each(texts)('has %s', async (_, text, field) => {
    const error = await refusal(porepRequest(new Uint8Array(Buffer.from(text))))
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details.field?.startsWith(field), error.message).toBe(true)
  })

  const wrapped = (fields: object): PorepC2Request =>
    porepRequest(jsonBytes({ ...JSON.parse(Buffer.from(wrappedOutput()).toString()), ...fields }))
  it.each([
    ['another sector', wrapped({ SectorNum: 7 }), 'vanillaProof.SectorNum'],
    ['another size', wrapped({ SectorSize: 8 * 2 ** 20 }), 'vanillaProof.SectorSize'],
    ['no output', wrapped({ Phase1Out: undefined }), 'vanillaProof.Phase1Out'],
    ['an output that is no base64', wrapped({ Phase1Out: 'eyJ*' }), 'vanillaProof.Phase1Out'],
    ['an output of base64url', wrapped({ Phase1Out: 'eyJ_' }), 'vanillaProof.Phase1Out'],
    ['an output that is empty', wrapped({ Phase1Out: '' }), 'vanillaProof'],
    ['an output that is no JSON', wrapped({ Phase1Out: 'AAAA' }), 'vanillaProof'],
  ])('is wrapped with %s', async (_, request, field) => {
    expect((await refusal(request)).details).toMatchObject({ field, sector: SECTOR })
  })

  it('is bincode of another length, or of other counts', async () => {
    const bincode = outputBincode([await partitionOf(porepRequest())])
    for (const bytes of [bincode.subarray(1), bincode.subarray(0, -1), new Uint8Array([...bincode, 0])]) {
      const { details } = await refusal(porepRequest(bytes))
      expect(details.field).toBe('vanillaProof')
    }
    const [partitions, challenges] = [bincode.slice(), bincode.slice()]
    partitions[0] = 2
    challenges[8] = 3
    expect((await refusal(porepRequest(partitions))).details).toMatchObject({ expected: '1', received: '2' })
    expect((await refusal(porepRequest(challenges))).details).toMatchObject({ partition: 0, received: '3' })
  })
})

describe('a request for another seal', () => {
  const other = new Uint8Array(32).fill(7)
  const requests: [string, Partial<PorepC2Request>, string][] = [
    ['another sector', { sectorNumber: 7n, vanillaProof: outputJson() }, 'vanillaProof.replica_id'],
    ['another sector than c1.json', { sectorNumber: 7n }, 'vanillaProof.SectorNum'],
    ['another miner', { minerId: 1000n }, 'vanillaProof.replica_id'],
    ['the proof’s first version', { registeredProof: 'StackedDrg2KiBV1' }, 'vanillaProof.registered_proof'],
    [
      'a synthetic proof',
      { registeredProof: 'StackedDrg2KiBV1_1_Feat_SyntheticPoRep' },
      'vanillaProof.registered_proof',
    ],
    ['another size', { registeredProof: 'StackedDrg32GiBV1_1' }, 'vanillaProof.SectorSize'],
    ['another comm_r', { commR: other }, 'vanillaProof.comm_r'],
    ['another comm_d', { commD: other }, 'vanillaProof.comm_d'],
    ['an unknown proof', { registeredProof: 'StackedDrg4KiBV1' as never }, 'registeredProof'],
    ['a proof by number', { registeredProof: 5 as never }, 'registeredProof'],
    ['a window proof', { registeredProof: 'StackedDrgWindow2KiBV1' as never }, 'registeredProof'],
    ['a sector as a number', { sectorNumber: 7 as never }, 'sectorNumber'],
    ['no sector', { sectorNumber: undefined as never }, 'sectorNumber'],
    ['no vanilla proof', { vanillaProof: undefined as never }, 'vanillaProof'],
    ['a vanilla proof as a string', { vanillaProof: '{}' as never }, 'vanillaProof'],
    ['an empty vanilla proof', { vanillaProof: new Uint8Array() }, 'vanillaProof'],
    ['a comm_r of 31 bytes', { commR: new Uint8Array(31) }, 'commR'],
    ['a comm_d that is no field element', { commD: new Uint8Array(32).fill(255) }, 'commD'],
    ['a miner as a number', { minerId: 1000 as never }, 'minerId'],
  ]
  it.each(requests)('%s', async (_, fields, field) => {
    const error = await refusal({ ...porepRequest(), ...fields })
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(error.details.field).toBe(field)
  })

  it('the first version, in bincode: the identity differs', async () => {
    const vanillaProof = outputBincode([await partitionOf(porepRequest())])
    const { details } = await refusal({ ...porepRequest(vanillaProof), registeredProof: 'StackedDrg2KiBV1' })
    expect(details.field).toBe('vanillaProof.replica_id')
  })
})
