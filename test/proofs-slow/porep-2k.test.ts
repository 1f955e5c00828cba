/** PoRep of a really sealed 2 KiB sector: 2.7 million constraints, nearly all of SHA-256. */
import { describe } from 'vitest'
import { porepRequest } from '../support/porep.ts'
import { testSectorProof } from '../support/seal-proof-tests.ts'

describe('PoRep 2 KiB', () => {
  // A minute or two on an idle machine, the set-up the longest.
  const circuit = { circuitId: 'porep-2k', name: 'porep', request: porepRequest, timeoutMs: 600_000 } as const
  testSectorProof(circuit, 'prove-porep.ts')
})
