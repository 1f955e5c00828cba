/** What a synthesis worker does with a SnapDeals partition before a device sees it. */
import type { CircuitId } from '../../circuit/circuit-id.ts'
import type { CompactWitness } from '../../circuit/shape.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { inSlices } from '../in-slices.ts'
import type { PoseidonHasher } from '../poseidon-hasher.ts'
import { SnapChecker } from './check-snap.ts'
import { snapChallenges } from './snap-challenges.ts'
import { snapGeometry } from './snap-geometry.ts'
import type { SnapPartition } from './snap-partition.ts'
import { SnapWitnessWriter } from './snap-witness.ts'

/** What checks take of the whole; the rest is writing. */
const CHECKING_SHARE = 0.6

/** One a circuit and thread. */
const writers = new Map<CircuitId, SnapWitnessWriter>()

/**
 * Checks a partition's vanilla proof completely and fills the compact witness: less than a second for a 32 GiB
 * partition.
 * @returns the witness, on SharedArrayBuffers; its public inputs are those that a verifier derives
 * @throws {InvalidRequestError} with partition, challenge and field at fault
 * @throws `run.signal.reason` once aborted
 */
export async function checkAndSynthesizeSnap(
  partition: SnapPartition,
  hasher: PoseidonHasher,
  run: Run,
): Promise<CompactWitness> {
  const geometry = snapGeometry(partition.circuitId)
  const challenges = snapChallenges(geometry.parameters, partition.commitments.commRNew, partition.partition, hasher)
  const checker = new SnapChecker(geometry, partition, challenges, hasher)
  checker.checkCommitments()
  // What costs no hash first, for all challenges.
  for (let c = 0; c < geometry.challenges; c++) checker.checkNode(c)
  await inSlices(geometry.challenges, run, CHECKING_SHARE, (challenge) => checker.checkHashes(challenge))
  let writer = writers.get(partition.circuitId)
  if (writer === undefined) {
    writer = new SnapWitnessWriter(geometry)
    writers.set(partition.circuitId, writer)
  }
  const witness = writer.begin(partition, challenges)
  await inSlices(geometry.challenges, run, 1, (challenge) => witness.write(challenge), CHECKING_SHARE)
  run.unit(1)
  return witness.finish()
}
