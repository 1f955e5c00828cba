/** What a synthesis worker does with a PoRep partition before a device sees it. */
import type { CircuitId } from '../../circuit/circuit-id.ts'
import type { CompactWitness } from '../../circuit/shape.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { inSlices } from '../in-slices.ts'
import type { PoseidonHasher } from '../poseidon-hasher.ts'
import { PorepChecker } from './check-porep.ts'
import { porepGeometry } from './porep-geometry.ts'
import type { PorepPartition } from './porep-partition.ts'
import { PorepWitnessWriter } from './porep-witness.ts'

/** One a circuit and thread. */
const writers = new Map<CircuitId, PorepWitnessWriter>()

/**
 * Checks a partition's vanilla proofs completely and fills the compact witness: less than a second for a 32 GiB
 * partition.
 * @returns the witness, on SharedArrayBuffers; its public inputs are those that a verifier derives
 * @throws {InvalidRequestError} with partition, challenge and field at fault
 * @throws `run.signal.reason` once aborted
 */
export async function checkAndSynthesizePorep(
  partition: PorepPartition,
  hasher: PoseidonHasher,
  run: Run,
): Promise<CompactWitness> {
  const geometry = porepGeometry(partition.circuitId)
  const { challenges } = geometry
  const checker = new PorepChecker(geometry, partition, hasher)
  // What costs no hash first, for all challenges.
  for (let c = 0; c < challenges; c++) checker.checkNodes(c)
  let writer = writers.get(partition.circuitId)
  if (writer === undefined) {
    writer = new PorepWitnessWriter(geometry)
    writers.set(partition.circuitId, writer)
  }
  const witness = writer.begin(partition)
  await inSlices(challenges, run, 1, (challenge) => {
    checker.checkHashes(challenge)
    witness.write(challenge)
  })
  run.unit(1)
  return witness.finish()
}
