/** From a validated request to what the synthesis workers get. */
import { setImmediate } from 'node:timers/promises'
import type { Run } from '../groth16/proving-device.ts'
import type { PartitionInput } from '../synthesis/partition-input.ts'
import type { PorepPartition } from '../synthesis/porep/porep-partition.ts'
import { postGeometry } from '../synthesis/post-geometry.ts'
import type { PostPartition } from '../synthesis/post-partition.ts'
import { equalScalars } from '../synthesis/scalar-bytes.ts'
import type { SnapPartition } from '../synthesis/snap/snap-partition.ts'
import { inspectPartition } from '../synthesis/synthesize-post.ts'
import { COMM_R_OFFSET, sectorNumberOf, vanillaLayout } from '../synthesis/vanilla-post.ts'
import { changedMeanwhile } from './fields.ts'
import { type SealReader, takeOverPorep, type ValidatedPorepRequest } from './porep/validate-porep.ts'
import { takeOverSnap, type ValidatedSnapRequest } from './snap/validate-snap.ts'
import type { ValidatedPostRequest, ValidatedRequest } from './validate.ts'

/** Copied between two turns of the event loop: at 2 GB/s and slower, into fresh memory, about 4 ms. */
const SLICE_BYTES = 8 * 2 ** 20

export interface TakeOverOptions {
  readonly signal?: AbortSignal | undefined
  /** Reads a PoRep's vanilla proof off the calling thread. @default on it */
  readonly readSeal?: SealReader | undefined
}

/** Bytes that {@link takeOver} of a PoSt allocates and that the partitions hold until they are synthesized. */
export function vanillaBytes(request: ValidatedPostRequest): number {
  return request.sectors.length * vanillaLayout(postGeometry(request.circuitId)).totalBytes
}

/**
 * The second step of validation, before a job is queued: takes the vanilla proofs over, one SharedArrayBuffer a
 * partition, which workers read in place, and checks everything in them that needs no hash. Works in slices of about 10
 * ms between which the event loop turns (copy and check of a full 32 GiB partition take about 0.1 s in all). Afterwards
 * the caller's buffers are free.
 * @throws {InvalidRequestError} with sector, challenge and field at fault, or for a buffer that changed since
 *   `validateRequest`
 * @throws `signal.reason` once aborted
 */
export function takeOver(request: ValidatedPostRequest, options?: TakeOverOptions): Promise<PostPartition[]>
export function takeOver(request: ValidatedPorepRequest, options?: TakeOverOptions): Promise<PorepPartition[]>
export function takeOver(request: ValidatedSnapRequest, options?: TakeOverOptions): Promise<SnapPartition[]>
export function takeOver(request: ValidatedRequest, options?: TakeOverOptions): Promise<PartitionInput[]>
export async function takeOver(request: ValidatedRequest, options: TakeOverOptions = {}): Promise<PartitionInput[]> {
  if (request.kind === 'porep-c2') return takeOverPorep(request, options)
  if (request.kind === 'snap-update') return takeOverSnap(request, options)
  const partitions = await copyPartitions(request, options)
  const run: Run = { signal: options.signal ?? new AbortController().signal, unit: () => {} }
  for (const partition of partitions) await inspectPartition(partition, run)
  return partitions
}

/**
 * A request whose vanilla proofs were taken over, for what is done with it later: the caller's buffers are nobody's
 * concern any more, and are not kept from being collected.
 */
export function withoutVanillaProofs(request: ValidatedRequest): ValidatedRequest {
  if (request.kind === 'porep-c2') return { ...request, vanillaProof: EMPTY }
  if (request.kind === 'snap-update') return { ...request, vanillaProofs: [] }
  return { ...request, sectors: request.sectors.map((sector) => ({ ...sector, vanillaProof: EMPTY })) }
}

const EMPTY = new Uint8Array(0)

async function copyPartitions(
  request: ValidatedPostRequest,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<PostPartition[]> {
  const geometry = postGeometry(request.circuitId)
  const { totalBytes } = vanillaLayout(geometry)
  const perPartition = geometry.sectorsPerPartition
  const partitions: PostPartition[] = []
  let sliceBytes = 0
  for (let first = 0; first < request.sectors.length; first += perPartition) {
    const sectors = request.sectors.slice(first, first + perPartition)
    const vanillaProofs = new Uint8Array(new SharedArrayBuffer(sectors.length * totalBytes))
    for (const [i, sector] of sectors.entries()) {
      const { vanillaProof, place, sectorNumber, commR } = sector
      const at = i * totalBytes
      if (vanillaProof.length !== totalBytes) throw changedMeanwhile(place, sectorNumber)
      vanillaProofs.set(vanillaProof, at)
      const same =
        sectorNumberOf(vanillaProofs, at) === sectorNumber && equalScalars(vanillaProofs, at + COMM_R_OFFSET, commR, 0)
      if (!same) throw changedMeanwhile(place, sectorNumber)
      sliceBytes += totalBytes
      if (sliceBytes < SLICE_BYTES) continue
      sliceBytes = 0
      await setImmediate()
      options.signal?.throwIfAborted()
    }
    partitions.push({
      kind: request.kind,
      circuitId: request.circuitId,
      partition: partitions.length,
      firstPosition: (request.partitionIndex + partitions.length) * perPartition,
      challengeRule: request.registered.challengeRule,
      randomness: request.randomness,
      vanillaProofs,
      places: Uint32Array.from(sectors, (sector) => sector.place),
    })
  }
  return partitions
}
