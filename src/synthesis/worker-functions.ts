/** What a synthesis worker offers to `WorkerLink<SynthesisFunctions>`. */
import type { CompactWitness } from '../circuit/shape.ts'
import { WasmPoseidonHasher } from '../cpu/poseidon.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { PostPartition } from './post-partition.ts'
import { checkAndSynthesize } from './synthesize-post.ts'

export interface SynthesisFunctions {
  /** @see checkAndSynthesize */
  readonly checkAndSynthesize: (partition: PostPartition, run: Run) => Promise<CompactWitness>
  readonly [name: string]: (args: never, run: Run) => unknown
}

let hasher: WasmPoseidonHasher | undefined

export const synthesisFunctions: SynthesisFunctions = {
  checkAndSynthesize(partition, run) {
    hasher ??= new WasmPoseidonHasher()
    return checkAndSynthesize(partition, hasher, run)
  },
}
