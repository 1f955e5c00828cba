/** What a synthesis worker offers to `WorkerLink<SynthesisFunctions>`. */
import type { CompactWitness } from '../circuit/shape.ts'
import { WasmPoseidonHasher } from '../cpu/poseidon.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { PartitionInput } from './partition-input.ts'
import type { PorepPartition } from './porep/porep-partition.ts'
import { readSeal, type SealInput } from './porep/read-seal.ts'
import { checkAndSynthesize } from './synthesize.ts'

export interface SynthesisFunctions {
  /** @see checkAndSynthesize */
  readonly checkAndSynthesize: (partition: PartitionInput, run: Run) => Promise<CompactWitness>
  /** @see readSeal */
  readonly readSeal: (input: SealInput, run: Run) => PorepPartition[]
  readonly [name: string]: (args: never, run: Run) => unknown
}

let hasher: WasmPoseidonHasher | undefined

export const synthesisFunctions: SynthesisFunctions = {
  checkAndSynthesize(partition, run) {
    hasher ??= new WasmPoseidonHasher()
    return checkAndSynthesize(partition, hasher, run)
  },
  readSeal: (input) => readSeal(input),
}
