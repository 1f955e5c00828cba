/** The seal of a real 2 KiB sector, in all forms of its commit-phase-1 output, and ways to damage it. */
import type { PorepC2Request } from '../../src/request/proof-request.ts'
import { porepGeometry } from '../../src/synthesis/porep/porep-geometry.ts'
import type { PorepPartition } from '../../src/synthesis/porep/porep-partition.ts'
import type { RecordLayout } from '../../src/synthesis/records.ts'
import { fromHex, vectorFile, vectorJson } from './vectors.ts'

const FOLDER = '2KiB/a/porep'

/** As `request.json` of the reference prover has it. */
export const recordedSeal: {
  readonly registered_proof: string
  readonly miner_id: string
  readonly sector_id: string
  readonly porep_id: string
  readonly prover_id: string
  readonly replica_id: string
  readonly comm_r: string
  readonly comm_d: string
  readonly seed: string
  readonly ticket: string
} = vectorJson(`${FOLDER}/request.json`)

/** Bytes of `c1.json`. */
export const wrappedOutput = (): Uint8Array => vectorFile(`${FOLDER}/c1.json`)

/** The JSON of the output itself. */
export const outputJson = (): Uint8Array =>
  new Uint8Array(Buffer.from(JSON.parse(Buffer.from(wrappedOutput()).toString()).Phase1Out, 'base64'))

// biome-ignore lint/suspicious/noExplicitAny: tests change it in every place
export const outputObject = (): any => JSON.parse(Buffer.from(outputJson()).toString())

export const jsonBytes = (value: unknown): Uint8Array => new Uint8Array(Buffer.from(JSON.stringify(value)))

/** A request as a caller would make it. */
export function porepRequest(vanillaProof: Uint8Array = wrappedOutput()): PorepC2Request {
  return {
    kind: 'porep-c2',
    registeredProof: recordedSeal.registered_proof as PorepC2Request['registeredProof'],
    minerId: BigInt(recordedSeal.miner_id),
    sectorNumber: BigInt(recordedSeal.sector_id),
    vanillaProof,
  }
}

/** The output in bincode, from partitions that were read. */
export function outputBincode(partitions: readonly PorepPartition[]): Uint8Array {
  const u64 = (value: number): Buffer => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(BigInt(value))
    return bytes
  }
  const [{ commitments, circuitId }] = partitions as [PorepPartition]
  const { challenges } = porepGeometry(circuitId)
  const { commR, commD, replicaId, seed, ticket } = commitments
  const proofs = partitions.flatMap((partition) => [u64(challenges), Buffer.from(partition.proofs)])
  return new Uint8Array(Buffer.concat([u64(partitions.length), ...proofs, commR, commD, replicaId, seed, ticket]))
}

export const seed: Uint8Array = fromHex(recordedSeal.seed)

/** A value in a record, with its path. */
export interface RecordLeaf {
  readonly path: readonly (string | number)[]
  readonly kind: 'scalar' | 'number' | 'length' | 'tag'
  readonly at: number
}

/** All values of a record in order, lengths and tags included. */
export function* leavesOf(
  layout: RecordLayout,
  at = 0,
  path: readonly (string | number)[] = [],
): Generator<RecordLeaf> {
  switch (layout.kind) {
    case 'scalar':
    case 'plain':
      yield { path, kind: 'scalar', at }
      return
    case 'number':
      yield { path, kind: 'number', at }
      return
    case 'list':
      yield { path, kind: 'length', at }
      for (let i = 0; i < layout.count; i++) yield* leavesOf(layout.of, at + 8 + i * layout.of.bytes, [...path, i])
      return
    case 'struct':
      for (const { name, layout: field, offset } of layout.fields) yield* leavesOf(field, at + offset, [...path, name])
      return
    case 'variant':
      yield { path, kind: 'tag', at }
      yield* leavesOf(layout.of, at + 4, [...path, layout.name])
  }
}
