/** What a synthesis worker is given for a partition of any kind. */
import type { PorepPartition } from './porep/porep-partition.ts'
import type { PostPartition } from './post-partition.ts'
import type { SnapPartition } from './snap/snap-partition.ts'

/** Told apart by `kind`. */
export type PartitionInput = PostPartition | PorepPartition | SnapPartition
