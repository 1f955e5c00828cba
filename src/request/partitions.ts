/** From a validated request to what the synthesis workers get. */
import type { Run } from '../groth16/proving-device.ts'
import { inSlices } from '../synthesis/in-slices.ts'
import type { PartitionInput } from '../synthesis/partition-input.ts'
import type { PorepPartition } from '../synthesis/porep/porep-partition.ts'
import { postGeometry } from '../synthesis/post-geometry.ts'
import { challengesOf, type PostPartition } from '../synthesis/post-partition.ts'
import { equalScalars } from '../synthesis/scalar-bytes.ts'
import { keepScalars, sectorLayout } from '../synthesis/sector-scalars.ts'
import type { SnapPartition } from '../synthesis/snap/snap-partition.ts'
import { COMM_R_OFFSET, inspectVanillaProof, sectorNumberOf, vanillaLayout } from '../synthesis/vanilla-post.ts'
import { changedMeanwhile } from './fields.ts'
import { type SealReader, takeOverPorep, type ValidatedPorepRequest } from './porep/validate-porep.ts'
import { takeOverSnap, type ValidatedSnapRequest } from './snap/validate-snap.ts'
import type { ValidatedPostRequest, ValidatedRequest } from './validate.ts'
import type { ValidatedSector } from './validate-sectors.ts'

export interface TakeOverOptions {
  readonly signal?: AbortSignal | undefined
  /** Reads a PoRep's vanilla proof off the calling thread. @default on it */
  readonly readSeal?: SealReader | undefined
}

/** Bytes that {@link takeOver} of a PoSt allocates, and the partitions hold. */
export function keptBytes(request: ValidatedPostRequest): number {
  return request.sectors.length * sectorLayout(postGeometry(request.circuitId)).totalBytes
}

/**
 * The second step of validation, before a job is queued: checks everything in the vanilla proofs that needs no hash,
 * and takes them over, those of a PoSt without what follows from the request; workers read them in place. Works in
 * slices of about 10 ms between which the event loop turns (copy and check of a full WindowPoSt partition of 32 GiB
 * sectors take about 0.1 s in all). Afterwards the caller's buffers are free.
 * @throws {InvalidRequestError} with sector, challenge and field at fault, or for a buffer that changed since
 * `validateRequest`
 * @throws `signal.reason` once aborted
 */
export function takeOver(request: ValidatedPostRequest, options?: TakeOverOptions): Promise<PostPartition[]>
export function takeOver(request: ValidatedPorepRequest, options?: TakeOverOptions): Promise<PorepPartition[]>
export function takeOver(request: ValidatedSnapRequest, options?: TakeOverOptions): Promise<SnapPartition[]>
export function takeOver(request: ValidatedRequest, options?: TakeOverOptions): Promise<PartitionInput[]>
export async function takeOver(request: ValidatedRequest, options: TakeOverOptions = {}): Promise<PartitionInput[]> {
  if (request.kind === 'porep-c2') return takeOverPorep(request, options)
  if (request.kind === 'snap-update') return takeOverSnap(request, options)
  return await takeOverPost(request, { signal: options.signal ?? new AbortController().signal, unit: () => {} })
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

async function takeOverPost(request: ValidatedPostRequest, run: Run): Promise<PostPartition[]> {
  const geometry = postGeometry(request.circuitId)
  const perPartition = geometry.sectorsPerPartition
  const vanilla = vanillaLayout(geometry)
  const layout = sectorLayout(geometry)
  // Each proof is copied before it is looked at: what changes afterwards changes nothing here.
  const bytes = new Uint8Array(vanilla.totalBytes)
  const partitions: PostPartition[] = []
  for (let first = 0; first < request.sectors.length; first += perPartition) {
    const sectors = request.sectors.slice(first, first + perPartition)
    const partition: PostPartition = {
      kind: request.kind,
      circuitId: request.circuitId,
      partition: partitions.length,
      firstPosition: (request.partitionIndex + partitions.length) * perPartition,
      challengeRule: request.registered.challengeRule,
      randomness: request.randomness,
      sectorNumbers: BigUint64Array.from(sectors, ({ sectorNumber }) => sectorNumber),
      scalars: new Uint8Array(sectors.length * layout.totalBytes),
      places: Uint32Array.from(sectors, ({ place }) => place),
    }
    run.signal.throwIfAborted()
    await inSlices(sectors.length, run, 1, (i) => {
      const { vanillaProof, place, sectorNumber, commR } = sectors[i] as ValidatedSector
      if (vanillaProof.length !== bytes.length) throw changedMeanwhile(place, sectorNumber)
      bytes.set(vanillaProof)
      const same = sectorNumberOf(bytes) === sectorNumber && equalScalars(bytes, COMM_R_OFFSET, commR, 0)
      if (!same) throw changedMeanwhile(place, sectorNumber)
      const challenges = challengesOf(geometry, partition, sectorNumber, i)
      inspectVanillaProof(geometry, vanilla, { bytes, sector: sectorNumber, place, challenges })
      keepScalars(vanilla, geometry, bytes, partition.scalars, i * layout.totalBytes)
    })
    partitions.push(partition)
  }
  return partitions
}
