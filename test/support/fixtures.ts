/** Requests of the recorded sectors, as a caller would make them. Each call gives fresh buffers. */
import { brotliDecompressSync } from 'node:zlib'
import type { SnapUpdateRequest, WindowPostRequest, WinningPostRequest } from '../../src/request/proof-request.ts'
import { fromHex, vectorFile, vectorJson } from './vectors.ts'

/** The `request.json` of the reference prover, as far as PoSt requests need it. */
interface RecordedRequest {
  readonly registered_proof: string
  readonly proof_id: number
  readonly miner_id: string
  readonly prover_id: string
  readonly randomness: string
  readonly sectors: readonly {
    readonly sector_id: string
    readonly comm_r: string
    readonly challenges: readonly number[]
    readonly vanilla: string
  }[]
}

export function recordedRequest(folder: string): RecordedRequest {
  return vectorJson(`${folder}/request.json`)
}

function recordedFields(folder: string) {
  const recorded = recordedRequest(folder)
  return {
    registeredProof: recorded.registered_proof,
    minerId: BigInt(recorded.miner_id),
    randomness: fromHex(recorded.randomness),
    sectors: recorded.sectors.map((sector) => ({
      sectorNumber: BigInt(sector.sector_id),
      commR: fromHex(sector.comm_r),
    })),
    vanillaProofs: recorded.sectors.map((sector) => vectorFile(`${folder}/${sector.vanilla}`)),
  }
}

/** Two really sealed 2 KiB sectors: one full WindowPoSt partition. */
export function windowRequest(): WindowPostRequest {
  return { kind: 'window-post', partitionIndex: 0, ...recordedFields('2KiB/a/window') } as WindowPostRequest
}

/** Three 2 KiB sectors: two partitions, the second one padded. */
export function window3Request(): WindowPostRequest {
  return { kind: 'window-post', partitionIndex: 0, ...recordedFields('2KiB/a/window-3') } as WindowPostRequest
}

/** A WinningPoSt of a really sealed 2 KiB sector. */
export function winningRequest(): WinningPostRequest {
  return { kind: 'winning-post', ...recordedFields('2KiB/a/winning') } as WinningPostRequest
}

/** A WinningPoSt of full size, over a sparse 32 GiB tree. */
export function winning32Request(): WinningPostRequest {
  return { kind: 'winning-post', ...recordedFields('32GiB/winning') } as WinningPostRequest
}

/** Five sectors over sparse 32 GiB trees: one WindowPoSt partition of 2,349, padded with the last of them. */
export function window32Request(): WindowPostRequest {
  return { kind: 'window-post', partitionIndex: 0, ...recordedFields('32GiB/window-5-sectors') } as WindowPostRequest
}

/** The fields of an update. The proof knows neither miner nor sector number. */
function recordedUpdate(folder: string, vanillaProofs: readonly Uint8Array[]): SnapUpdateRequest {
  const recorded = vectorJson(`${folder}/request.json`)
  return {
    kind: 'snap-update',
    registeredProof: recorded.registered_proof,
    minerId: 3_093_900n,
    sectorNumber: 168_229_961_122n,
    commROld: fromHex(recorded.comm_r_old),
    commRNew: fromHex(recorded.comm_r_new),
    commDNew: fromHex(recorded.comm_d_new),
    vanillaProofs,
  }
}

/** New data in the really sealed 2 KiB sector 0. */
export function snapRequest(): SnapUpdateRequest {
  return recordedUpdate('2KiB/a/update', [vectorFile('2KiB/a/update/partition-0.bin')])
}

/** An update of a patterned 32 GiB sector, with no vanilla proof but the last one: that stands in for all others. */
export function snap32Request(): SnapUpdateRequest {
  const last = new Uint8Array(brotliDecompressSync(vectorFile('32GiB/update/partition-15.bin.br')))
  return recordedUpdate('32GiB/update', new Array<Uint8Array>(16).fill(last))
}

/**
 * Public inputs as recorded by the reference prover: per partition, without ONE, 32 bytes little-endian each in hex.
 */
export function recordedPublicInputs(witnessFile: string): string[][] {
  return vectorJson(witnessFile).partitions.map((partition: { public_inputs: string[] }) => partition.public_inputs)
}
