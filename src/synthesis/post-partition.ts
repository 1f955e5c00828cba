/**
 * What a synthesis worker is given for one PoSt partition. Survives structured clone; the big arrays are shared, not
 * copied.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { type ChallengeRule, deriveChallenges } from './post-challenges.ts'
import { type PostGeometry, postGeometry } from './post-geometry.ts'
import { sectorNumberOf, type VanillaLayout, type VanillaProofView, vanillaLayout } from './vanilla-post.ts'

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
  /** One vanilla proof per real sector, by ascending sector number, one after another, on a SharedArrayBuffer. */
  readonly vanillaProofs: Uint8Array
  /** Place of each vanilla proof in the caller's array, for errors. */
  readonly places: Uint32Array
  /**
   * The hashes are left to the device that gets the witness. Everything else was inspected when the partition was taken
   * over.
   */
  readonly unchecked?: boolean | undefined
}

/** A partition together with what follows from it; made anew on each side of the thread. */
export interface OpenPartition {
  readonly input: PostPartition
  readonly geometry: PostGeometry
  readonly layout: VanillaLayout
  /** Real sectors, without padding. */
  readonly sectors: number
}

export function openPartition(input: PostPartition): OpenPartition {
  const geometry = postGeometry(input.circuitId)
  const layout = vanillaLayout(geometry)
  const sectors = input.places.length
  if (sectors < 1 || sectors > geometry.sectorsPerPartition) {
    throw new Error(`a partition of ${input.circuitId} can't hold ${sectors} sectors`)
  }
  if (input.vanillaProofs.length !== sectors * layout.totalBytes) {
    throw new Error(`${sectors} vanilla proofs of ${input.circuitId} are not ${input.vanillaProofs.length} bytes`)
  }
  return { input, geometry, layout, sectors }
}

/** The vanilla proof of sector `index` of the partition, with the challenges derived for it. */
export function vanillaProofView({ input, geometry, layout }: OpenPartition, index: number): VanillaProofView {
  const bytes = input.vanillaProofs
  const offset = index * layout.totalBytes
  const challenges = new Uint32Array(geometry.proofChallenges)
  deriveChallenges(
    geometry,
    input.challengeRule,
    input.randomness,
    sectorNumberOf(bytes, offset),
    input.firstPosition + index,
    challenges,
  )
  return { bytes, offset, place: input.places[index] as number, challenges }
}
