/** How much memory the vanilla proofs of a request take, once they are taken over. */
import { porepGeometry } from '../synthesis/porep/porep-geometry.ts'
import { NODES_PER_CHALLENGE } from '../synthesis/porep/porep-partition.ts'
import { snapGeometry } from '../synthesis/snap/snap-geometry.ts'
import { keptBytes } from './partitions.ts'
import type { ValidatedRequest } from './validate.ts'

/** Bytes of `held` from the copy on, as long as the job is in hand; of `reading` until `takeOver` has ended. */
export function inputBytes(request: ValidatedRequest): { readonly held: number; readonly reading: number } {
  switch (request.kind) {
    case 'porep-c2': {
      const { partitions, challenges, challenge } = porepGeometry(request.circuitId)
      const perChallenge = challenge.record.bytes + NODES_PER_CHALLENGE * Uint32Array.BYTES_PER_ELEMENT
      // The copy, and what it holds in base64: 3 bytes for 4.
      return { held: partitions * challenges * perChallenge, reading: Math.ceil(1.75 * request.vanillaProof.length) }
    }
    case 'snap-update':
      return { held: request.partitions * snapGeometry(request.circuitId).proof.record.bytes, reading: 0 }
    default:
      return { held: keptBytes(request), reading: 0 }
  }
}
