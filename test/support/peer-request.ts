/**
 * From a folder as the reference prover writes it (`request.json` and the vanilla proofs beside it) to the request of a
 * caller.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProofRequest } from '../../src/request/proof-request.ts'

/** What such a file may hold; each kind has its own fields. */
interface PeerRequest {
  readonly kind: 'porep' | 'winning' | 'window' | 'update'
  readonly registered_proof: string
  readonly miner_id?: string
  readonly sector_id?: string
  readonly randomness?: string
  readonly sectors?: readonly { readonly sector_id: string; readonly comm_r: string; readonly vanilla: string }[]
  readonly c1?: string
  readonly comm_r_old?: string
  readonly comm_r_new?: string
  readonly comm_d_new?: string
  readonly partitions?: readonly string[]
}

/** @returns a request with buffers of its own */
export function peerRequest(folder: string): ProofRequest {
  const file = JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8')) as PeerRequest
  return { registeredProof: file.registered_proof, ...fieldsOf(file, folder) } as ProofRequest
}

function fieldsOf(file: PeerRequest, folder: string): object {
  const bytes = (name: string): Uint8Array => new Uint8Array(readFileSync(join(folder, name)))
  const hex = (text: string | undefined): Uint8Array => new Uint8Array(Buffer.from(text ?? '', 'hex'))
  switch (file.kind) {
    case 'porep':
      return {
        kind: 'porep-c2',
        minerId: BigInt(file.miner_id ?? ''),
        sectorNumber: BigInt(file.sector_id ?? ''),
        vanillaProof: bytes(file.c1 ?? 'c1.json'),
      }
    case 'update':
      return {
        kind: 'snap-update',
        // An update's proof states neither.
        minerId: 1000n,
        sectorNumber: 1n,
        commROld: hex(file.comm_r_old),
        commRNew: hex(file.comm_r_new),
        commDNew: hex(file.comm_d_new),
        vanillaProofs: file.partitions?.map(bytes),
      }
    default:
      return {
        kind: `${file.kind}-post`,
        minerId: BigInt(file.miner_id ?? ''),
        randomness: hex(file.randomness),
        sectors: file.sectors?.map(({ sector_id, comm_r }) => ({
          sectorNumber: BigInt(sector_id),
          commR: hex(comm_r),
        })),
        vanillaProofs: file.sectors?.map(({ vanilla }) => bytes(vanilla)),
        ...(file.kind === 'window' && { partitionIndex: 0 }),
      }
  }
}
