/** The proofs that `npm run bench` can measure: requests of the examples' data. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { CircuitId, PorepC2Request, ProofRequest, SnapUpdateRequest, WinningPostRequest } from 'wgzk'

export interface BenchProof {
  /** Folder with the `request.json` and the vanilla proofs, which the peer reads too. */
  readonly input: string
  /** The peer's name of the kind. */
  readonly peerKind: string
  readonly request: () => ProofRequest
}

// biome-ignore lint/suspicious/noExplicitAny: each kind of request has its own form
type RequestFile = any

const folder = (name: string): string => fileURLToPath(new URL(`../../examples/data/${name}/`, import.meta.url))
const requestFile = (input: string): RequestFile => JSON.parse(readFileSync(`${input}request.json`, 'utf8'))
const scalar = (hex: string): Buffer => Buffer.from(hex, 'hex')

function winning(input: string): WinningPostRequest {
  const file = requestFile(input)
  return {
    kind: 'winning-post',
    registeredProof: 'StackedDrgWinning32GiBV1',
    minerId: BigInt(file.miner_id),
    randomness: scalar(file.randomness),
    vanillaProofs: file.sectors.map(({ vanilla }: { vanilla: string }) => readFileSync(`${input}${vanilla}`)),
  }
}

function porep(input: string): PorepC2Request {
  const file = requestFile(input)
  return {
    kind: 'porep-c2',
    registeredProof: file.registered_proof,
    minerId: BigInt(file.miner_id),
    sectorNumber: BigInt(file.sector_id),
    vanillaProof: readFileSync(`${input}${file.c1}`),
  }
}

function snap(input: string): SnapUpdateRequest {
  const file = requestFile(input)
  return {
    kind: 'snap-update',
    registeredProof: file.registered_proof,
    // An update's proof states neither.
    minerId: 1000n,
    sectorNumber: 1n,
    commROld: scalar(file.comm_r_old),
    commRNew: scalar(file.comm_r_new),
    commDNew: scalar(file.comm_d_new),
    vanillaProofs: file.partitions.map((name: string) => readFileSync(`${input}${name}`)),
  }
}

const proof = (name: string, peerKind: string, read: (input: string) => ProofRequest): BenchProof => {
  const input = folder(name)
  return { input, peerKind, request: () => read(input) }
}

export const BENCH_PROOFS: Readonly<Partial<Record<CircuitId, BenchProof>>> = {
  'winning-32g': proof('winning-32g', 'winning', winning),
  'porep-2k': proof('porep-2k', 'porep', porep),
  'snap-2k': proof('snap-2k', 'update', snap),
}
