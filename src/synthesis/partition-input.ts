/** What a synthesis worker is given for a partition of any kind. */
import type { PorepPartition } from './porep/porep-partition.ts'
import type { PostPartition } from './post-partition.ts'

/** Told apart by `kind`. */
export type PartitionInput = PostPartition | PorepPartition
