/** What synthesis is given for one PoSt partition. Survives structured clone. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { type ChallengeRule, deriveChallenges } from './post-challenges.ts'
import { type PostGeometry, postGeometry } from './post-geometry.ts'
import { type SectorLayout, sectorLayout } from './sector-scalars.ts'

/** A partition of a PoSt, with the vanilla proofs of its sectors. */
export interface PostPartition {
  readonly kind: 'window-post' | 'winning-post'
  readonly circuitId: CircuitId
  /** Number of the partition within its job, from 0. */
  readonly partition: number
  /** Position of the first sector among all sectors, for rules that number challenges through. */
  readonly firstPosition: number
  readonly challengeRule: ChallengeRule
  /** 32 bytes, canonical. */
  readonly randomness: Uint8Array
  /** Of each real sector, ascending. */
  readonly sectorNumbers: BigUint64Array
  /**
   * What is kept of the vanilla proof of each (`sector-scalars.ts`), one after another. Not shared memory: of that the
   * garbage collectors of all threads that have seen it keep whole partitions for long, since it counts as nothing to
   * them.
   */
  readonly scalars: Uint8Array
  /** Place of each vanilla proof in the caller's array, for errors. */
  readonly places: Uint32Array
  /**
   * The hashes are left to the device that gets the witness. Everything else was inspected when the partition was taken
   * over.
   */
  readonly unchecked?: boolean | undefined
}

/** A partition whose witness is made without hashes. */
export type UncheckedPartition = PostPartition & { readonly unchecked: true }

/** A partition together with what follows from it; made anew on each side of the thread. */
export interface OpenPartition {
  readonly input: PostPartition
  readonly geometry: PostGeometry
  readonly layout: SectorLayout
  /** Real sectors, without padding. */
  readonly sectors: number
}

/** A sector of a partition, with what the chain's randomness asks to open of it. */
export interface SectorView {
  readonly scalars: Uint8Array
  /** Of its first scalar. */
  readonly offset: number
  readonly sector: bigint
  /** Of its vanilla proof in the caller's array. */
  readonly place: number
  readonly challenges: Uint32Array
}

export function openPartition(input: PostPartition): OpenPartition {
  const geometry = postGeometry(input.circuitId)
  const layout = sectorLayout(geometry)
  const sectors = input.places.length
  if (sectors < 1 || sectors > geometry.sectorsPerPartition) {
    throw new Error(`a partition of ${input.circuitId} can't hold ${sectors} sectors`)
  }
  if (input.scalars.length !== sectors * layout.totalBytes || input.sectorNumbers.length !== sectors) {
    throw new Error(`scalars of ${sectors} sectors of ${input.circuitId} are not ${input.scalars.length} bytes`)
  }
  return { input, geometry, layout, sectors }
}

/** Sector `index` of the partition. */
export function sectorView({ input, geometry, layout }: OpenPartition, index: number): SectorView {
  const sector = input.sectorNumbers[index] as bigint
  return {
    scalars: input.scalars,
    offset: index * layout.totalBytes,
    sector,
    place: input.places[index] as number,
    challenges: challengesOf(geometry, input, sector, index),
  }
}

/** What is to be opened of sector `index` of a partition. */
export function challengesOf(
  geometry: PostGeometry,
  { challengeRule, randomness, firstPosition }: Pick<PostPartition, 'challengeRule' | 'randomness' | 'firstPosition'>,
  sector: bigint,
  index: number,
): Uint32Array {
  const challenges = new Uint32Array(geometry.proofChallenges)
  deriveChallenges(geometry, challengeRule, randomness, sector, firstPosition + index, challenges)
  return challenges
}
