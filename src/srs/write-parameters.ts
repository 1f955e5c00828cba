/**
 * Makes the points of an SRS and writes them as bellperson does, query after query, without holding more than some
 * chunks.
 */
import type { FileHandle } from 'node:fs/promises'
import type { CircuitShape } from '../circuit/shape.ts'
import type { DeviceSetup, ProvingDevice, Run } from '../groth16/proving-device.ts'
import { type PointRange, paramsLayout, QUERIES, QUERY_GROUP } from '../params/layout.ts'
import { HashedFile } from './hashed-file.ts'

/** What a set-up gives, wherever its points are made. */
export type SetupPoints = Pick<DeviceSetup, 'verifyingKey' | 'encode'>

/** What was written, for the other files of a set-up. */
export interface WrittenParameters {
  readonly verifyingKey: Uint8Array
  readonly paramsBytes: number
  /** First 16 bytes of BLAKE2b-512, in hex. */
  readonly paramsDigest: string
}

/** Bytes of points made at once. */
export const CHUNK_BYTES: Readonly<Record<ProvingDevice['kind'], number>> = { cpu: 24 * 2 ** 20, webgpu: 96 * 2 ** 20 }

/** While chunks are written the next one is made. */
export const CHUNKS_IN_HAND = 3

/** A multiple in G2 takes about three times as long. */
const COST = { g1: 1, g2: 3 } as const

/**
 * @param kind of the device that makes the points
 * @param path of an empty file
 * @param handle the same file, open for writing; the caller closes it
 * @throws `run.signal.reason` once the signal aborts
 */
export async function writeParameters(
  setup: SetupPoints,
  kind: ProvingDevice['kind'],
  shape: CircuitShape,
  { path, handle }: { readonly path: string; readonly handle: FileHandle },
  run: Run,
): Promise<WrittenParameters> {
  const { queries, fileBytes } = paramsLayout(shape)
  const output = new HashedFile(path, handle)
  const stop = new AbortController()
  const progress = new Progress(
    run,
    QUERIES.reduce((sum, query) => sum + queries[query].points * COST[QUERY_GROUP[query]], 0),
  )
  const signal = AbortSignal.any([run.signal, stop.signal])
  const inHand = new Set<Promise<void>>()
  const write = async (range: PointRange): Promise<void> => {
    const { query, first, count } = range
    const { offset, pointBytes } = queries[query]
    const position = offset + first * pointBytes
    const unit = progress.part(count * COST[QUERY_GROUP[query]])
    await setup.encode(range, (at, bytes) => output.write(position + at, bytes), { ...run, signal, unit })
  }
  try {
    await output.write(0, setup.verifyingKey)
    for (const query of QUERIES) {
      const { points, pointBytes, offset } = queries[query]
      await output.write(offset - LENGTH_BYTES, uint32(points))
      const most = Math.floor(CHUNK_BYTES[kind] / pointBytes)
      for (let first = 0; first < points; first += most) {
        run.signal.throwIfAborted()
        const writing = write({ query, first, count: Math.min(most, points - first) })
        const done = writing.finally(() => inHand.delete(done))
        // Awaited in a later round; a failure before that must not count as unhandled.
        done.catch(() => {})
        inHand.add(done)
        if (inHand.size === CHUNKS_IN_HAND) await Promise.race(inHand)
        await output.room()
      }
    }
    await Promise.all(inHand)
    if (output.bytes !== fileBytes) throw new Error(`wrote ${output.bytes} bytes instead of ${fileBytes}`)
    return { verifyingKey: setup.verifyingKey, paramsBytes: fileBytes, paramsDigest: await output.digest() }
  } catch (error) {
    stop.abort(error)
    throw error
  } finally {
    await Promise.allSettled(inHand)
    await output.release()
  }
}

/** Of a section: how many points it has. */
const LENGTH_BYTES = 4

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(LENGTH_BYTES)
  new DataView(bytes.buffer).setUint32(0, value, false)
  return bytes
}

/** The share of a whole that parts have done which overlap. */
class Progress {
  readonly #run: Run
  readonly #total: number
  #done = 0

  constructor(run: Run, total: number) {
    this.#run = run
    this.#total = total
  }

  /** @returns to be told the share of a part of this cost that is done */
  part(cost: number): (share: number) => void {
    let told = 0
    return (share) => {
      this.#done += cost * Math.max(0, share - told)
      told = Math.max(told, share)
      this.#run.unit(Math.min(1, this.#done / this.#total))
    }
  }
}
