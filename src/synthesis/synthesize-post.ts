/**
 * What is done with a PoSt partition before a device sees it: {@link inspectPartition} on the caller's thread before a
 * request is queued, {@link checkAndSynthesizePost} in a synthesis worker when it is its turn. Both let the event loop
 * turn between slices of work, so they stop soon after an abort, report how far they are, and hold nobody up.
 */
import type { CompactWitness } from '../circuit/shape.ts'
import type { Run } from '../groth16/proving-device.ts'
import { portion } from '../groth16/run-portion.ts'
import { checkVanillaHashes } from './check-paths.ts'
import { inSlices } from './in-slices.ts'
import type { PoseidonHasher } from './poseidon-hasher.ts'
import { openPartition, type PostPartition, vanillaProofView } from './post-partition.ts'
import { fillPostWitness } from './post-witness.ts'
import { inspectVanillaProof } from './vanilla-post.ts'

/** Share of the time of {@link checkAndSynthesizePost} that hashing takes: the rest copies and compares. */
const HASHING_SHARE = 0.95

/**
 * Checks everything about the partition's vanilla proofs that needs no hash: about 0.1 s for a full wpost-32g
 * partition.
 * @throws {InvalidRequestError} with the sector, challenge and field at fault
 * @throws `run.signal.reason` once aborted
 */
export async function inspectPartition(input: PostPartition, run: Run): Promise<void> {
  const partition = openPartition(input)
  await inSlices(partition.sectors, run, 1, (s) =>
    inspectVanillaProof(partition.geometry, partition.layout, vanillaProofView(partition, s)),
  )
}

/**
 * Checks a partition's vanilla proofs completely, up to every root, and fills the compact witness. Of one that is
 * `unchecked` the witness is only filled: it satisfies the circuit if the hashes are right.
 * @returns the witness, on SharedArrayBuffers; its public inputs are those that a verifier derives
 * @throws {InvalidRequestError} with the sector, challenge and field at fault
 * @throws `run.signal.reason` once aborted
 */
export async function checkAndSynthesizePost(
  input: PostPartition,
  hasher: PoseidonHasher,
  run: Run,
): Promise<CompactWitness> {
  if (input.unchecked) return { ...(await fillPostWitness(openPartition(input), run)), unchecked: true }
  // Form first, for all sectors: hashing takes a hundred times as long.
  await inspectPartition(input, { signal: run.signal, unit: () => {} })
  const partition = openPartition(input)
  await inSlices(partition.sectors, run, HASHING_SHARE, (s) =>
    checkVanillaHashes(partition.geometry, partition.layout, vanillaProofView(partition, s), hasher),
  )
  return await fillPostWitness(partition, portion(run, HASHING_SHARE, 1))
}
