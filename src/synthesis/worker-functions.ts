/** What a synthesis worker offers to `WorkerLink<SynthesisFunctions>`. */
import type { CompactWitness } from '../circuit/shape.ts'
import type { Run } from '../groth16/proving-device.ts'
import { bigintHasher } from './bigint-hasher.ts'
import type { PostPartition } from './post-partition.ts'
import { checkAndSynthesize } from './synthesize-post.ts'

export interface SynthesisFunctions {
  /** @see checkAndSynthesize */
  readonly checkAndSynthesize: (partition: PostPartition, run: Run) => Promise<CompactWitness>
  readonly [name: string]: (args: never, run: Run) => unknown
}

export const synthesisFunctions: SynthesisFunctions = {
  checkAndSynthesize: (partition, run) => checkAndSynthesize(partition, bigintHasher, run),
}
