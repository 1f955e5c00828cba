/** The proofs that `npm run bench` can measure: requests of the examples' data. */
import { fileURLToPath } from 'node:url'
import type { CircuitId, ProofRequest } from 'wgzk'
import { peerRequest } from '../support/peer-request.ts'

export interface BenchProof {
  /** Folder with the `request.json` and the vanilla proofs, which the peer reads too. */
  readonly input: string
  /** The peer's name of the kind. */
  readonly peerKind: string
  readonly request: () => ProofRequest
}

const proof = (name: string, peerKind: string): BenchProof => {
  const input = fileURLToPath(new URL(`../../examples/data/${name}/`, import.meta.url))
  return { input, peerKind, request: () => peerRequest(input) }
}

export const BENCH_PROOFS: Readonly<Partial<Record<CircuitId, BenchProof>>> = {
  'winning-32g': proof('winning-32g', 'winning'),
  'porep-2k': proof('porep-2k', 'porep'),
  'snap-2k': proof('snap-2k', 'update'),
}
