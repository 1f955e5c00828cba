/** SnapDeals update of a really sealed 2 KiB sector: 1.7 million constraints. */
import { describe } from 'vitest'
import { snapRequest } from '../support/fixtures.ts'
import { testSectorProof } from '../support/seal-proof-tests.ts'

describe('SnapDeals 2 KiB', () => {
  // A minute or two on an idle machine, the set-up the longest.
  const circuit = { circuitId: 'snap-2k', name: 'update', request: snapRequest, timeoutMs: 600_000 } as const
  testSectorProof(circuit, 'prove-snap.ts')
})
