/**
 * What a synthesis worker does for a PoSt partition: {@link inspectPartition} before a request is queued, then
 * {@link checkAndSynthesize} when it is its turn. Both are pure but for the shared {@link SynthesisControl}.
 */
import type { CompactWitness } from '../circuit/shape.ts'
import { checkVanillaHashes } from './check-paths.ts'
import type { PoseidonHasher } from './poseidon-hasher.ts'
import { type OpenPartition, openPartition, type PostPartition, vanillaProofView } from './post-partition.ts'
import { fillPostWitness } from './post-witness.ts'
import { inspectVanillaProof } from './vanilla-post.ts'

/**
 * Two words of shared memory between the thread that waits and the one that works: a synthesis is one synchronous call, so
 * messages can't reach it.
 */
export class SynthesisControl {
  /** Word 0: 1 once cancelled. Word 1: sectors done. */
  readonly words: Int32Array

  constructor(words: Int32Array = new Int32Array(new SharedArrayBuffer(8))) {
    this.words = words
  }

  /** Makes the running call stop after the sector it is at. */
  cancel(): void {
    Atomics.store(this.words, 0, 1)
  }

  /** Sectors whose checks are done, of those of the partition (without padding). */
  get sectorsDone(): number {
    return Atomics.load(this.words, 1)
  }

  /** Called by the worker after each sector. */
  advance(sectors: number): void {
    if (Atomics.load(this.words, 0) === 1) throw new SynthesisCancelled()
    Atomics.store(this.words, 1, sectors)
  }
}

/** Ends a cancelled call in the worker. The waiting side rejects with its own signal's reason. */
export class SynthesisCancelled extends Error {
  constructor() {
    super('the synthesis was cancelled')
    this.name = 'SynthesisCancelled'
  }
}

/**
 * Checks everything about the partition's vanilla proofs that needs no hash: about 0.1 s for a full wpost-32g partition.
 * @throws {InvalidRequestError} with the sector, challenge and field at fault
 */
export function inspectPartition(input: PostPartition, control?: SynthesisControl): void {
  inspect(openPartition(input), control)
}

/**
 * Checks a partition's vanilla proofs completely, up to every root, and fills the compact witness.
 * @returns the witness, on SharedArrayBuffers; its public inputs are those that a verifier derives
 * @throws {InvalidRequestError} with the sector, challenge and field at fault
 * @throws {SynthesisCancelled}
 */
export function checkAndSynthesize(
  input: PostPartition,
  hasher: PoseidonHasher,
  control?: SynthesisControl,
): CompactWitness {
  const partition = openPartition(input)
  // Form first, for all sectors: hashing takes a hundred times as long.
  inspect(partition)
  for (let s = 0; s < partition.sectors; s++) {
    checkVanillaHashes(partition.geometry, partition.layout, vanillaProofView(partition, s), hasher)
    control?.advance(s + 1)
  }
  return fillPostWitness(partition)
}

function inspect(partition: OpenPartition, control?: SynthesisControl): void {
  for (let s = 0; s < partition.sectors; s++) {
    inspectVanillaProof(partition.geometry, partition.layout, vanillaProofView(partition, s))
    control?.advance(s + 1)
  }
}
