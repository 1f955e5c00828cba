/** From a partition of any kind to its witness. */
import type { CompactWitness } from '../circuit/shape.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { PartitionInput } from './partition-input.ts'
import { checkAndSynthesizePorep } from './porep/synthesize-porep.ts'
import type { PoseidonHasher } from './poseidon-hasher.ts'
import { checkAndSynthesizeSnap } from './snap/synthesize-snap.ts'
import { checkAndSynthesizePost } from './synthesize-post.ts'

/**
 * Checks a partition's vanilla proofs completely, up to every root, and fills the compact witness.
 * @returns the witness, on SharedArrayBuffers; its public inputs are those that a verifier derives
 * @throws {InvalidRequestError} with the place at fault: sector, partition, challenge and field
 * @throws `run.signal.reason` once aborted
 */
export function checkAndSynthesize(input: PartitionInput, hasher: PoseidonHasher, run: Run): Promise<CompactWitness> {
  switch (input.kind) {
    case 'window-post':
    case 'winning-post':
      return checkAndSynthesizePost(input, hasher, run)
    case 'porep-c2':
      return checkAndSynthesizePorep(input, hasher, run)
    case 'snap-update':
      return checkAndSynthesizeSnap(input, hasher, run)
  }
}
