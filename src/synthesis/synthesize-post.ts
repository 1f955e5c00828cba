/**
 * What is done with a PoSt partition before a device sees it: in a synthesis worker, or on the engine's thread where
 * the hashes are left to the device. The event loop turns between slices of work, so it stops soon after an abort,
 * reports how far it is, and holds nobody up. The form of the vanilla proofs was inspected when they were taken over.
 */
import type { CompactWitness } from '../circuit/shape.ts'
import type { Run } from '../groth16/proving-device.ts'
import { portion } from '../groth16/run-portion.ts'
import { checkSectorHashes } from './check-paths.ts'
import { inSlices } from './in-slices.ts'
import type { PoseidonHasher } from './poseidon-hasher.ts'
import { openPartition, type PostPartition, sectorView, type UncheckedPartition } from './post-partition.ts'
import { fillPostWitness } from './post-witness.ts'

/** Share of the time of {@link checkAndSynthesizePost} that hashing takes: the rest copies and derives challenges. */
const HASHING_SHARE = 0.95

/**
 * Fills the compact witness alone: 20 to 40 ms for a full WindowPoSt of 32 GiB sectors. It satisfies the circuit if the
 * hashes are right.
 * @throws `run.signal.reason` once aborted
 */
export async function synthesizeUnchecked(input: UncheckedPartition, run: Run): Promise<CompactWitness> {
  return { ...(await fillPostWitness(openPartition(input), run)), unchecked: true }
}

/**
 * Checks the hashes of a partition's vanilla proofs, up to every root, and fills the compact witness.
 * @returns the witness, on SharedArrayBuffers; its public inputs are those that a verifier derives
 * @throws {InvalidRequestError} with the sector, challenge and field at fault
 * @throws `run.signal.reason` once aborted
 */
export async function checkAndSynthesizePost(
  input: PostPartition,
  hasher: PoseidonHasher,
  run: Run,
): Promise<CompactWitness> {
  const partition = openPartition(input)
  await inSlices(partition.sectors, run, HASHING_SHARE, (s) =>
    checkSectorHashes(partition.geometry, partition.layout, sectorView(partition, s), hasher),
  )
  return await fillPostWitness(partition, portion(run, HASHING_SHARE, 1))
}
