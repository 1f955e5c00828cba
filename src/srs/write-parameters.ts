/** Makes the points of an SRS and writes them as bellperson does, query after query, without holding more than a chunk. */
import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { CircuitShape } from '../circuit/shape.ts'
import type { DeviceSetup, ProvingDevice, Run } from '../groth16/proving-device.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../params/layout.ts'

/** What a set-up gives, wherever its points are made. */
export type SetupPoints = Pick<DeviceSetup, 'verifyingKey' | 'encoded'>

export interface WrittenParameters {
  readonly verifyingKey: Uint8Array
  readonly paramsBytes: number
  /** First 16 bytes of BLAKE2b-512, in hex. */
  readonly paramsDigest: string
}

/** Bytes made and written at once. */
const CHUNK_BYTES: Readonly<Record<ProvingDevice['kind'], number>> = { cpu: 24 * 2 ** 20, webgpu: 96 * 2 ** 20 }

/** A multiple in G2 takes about three times as long. */
const COST = { g1: 1, g2: 3 } as const

/**
 * @param kind of the device that makes the points
 * @param handle an empty file, open for writing
 * @throws `run.signal.reason` once the signal aborts
 */
export async function writeParameters(
  setup: SetupPoints,
  kind: ProvingDevice['kind'],
  shape: CircuitShape,
  handle: FileHandle,
  run: Run,
): Promise<WrittenParameters> {
  const layout = paramsLayout(shape)
  const total = QUERIES.reduce((sum, query) => sum + layout.queries[query].points * COST[QUERY_GROUP[query]], 0)
  let done = 0
  const output = new HashingWriter(handle)
  // While a chunk is written, the next one is made.
  let written = output.write(setup.verifyingKey)
  const write = (bytes: Uint8Array): void => {
    written = written.then(() => output.write(bytes))
    // Awaited with the next chunk; a failure before that must not count as unhandled.
    written.catch(() => {})
  }
  try {
    for (const query of QUERIES) {
      const { points, pointBytes } = layout.queries[query]
      write(uint32(points))
      const most = Math.floor(CHUNK_BYTES[kind] / pointBytes)
      for (let first = 0; first < points; first += most) {
        run.signal.throwIfAborted()
        const count = Math.min(most, points - first)
        const cost = count * COST[QUERY_GROUP[query]]
        const unit = (share: number): void => run.unit(Math.min(1, (done + share * cost) / total))
        const chunk = await setup.encoded({ query, first, count }, { signal: run.signal, unit })
        done += cost
        await written
        write(chunk)
      }
    }
    await written
  } finally {
    // The caller closes the file.
    await written.catch(() => {})
  }
  if (output.bytes !== layout.fileBytes) throw new Error(`wrote ${output.bytes} bytes instead of ${layout.fileBytes}`)
  return { verifyingKey: setup.verifyingKey, paramsBytes: output.bytes, paramsDigest: output.digest() }
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, false)
  return bytes
}

/** Writes on and hashes what it writes. */
class HashingWriter {
  readonly #handle: FileHandle
  readonly #hash: Hash = createHash('blake2b512')
  bytes = 0

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async write(bytes: Uint8Array): Promise<void> {
    const writing = this.#writeFully(bytes)
    // Awaited below; a failure before that must not count as unhandled.
    writing.catch(() => {})
    // Meanwhile: it takes about as long as a disk.
    this.#hash.update(bytes)
    this.bytes += bytes.length
    await writing
  }

  async #writeFully(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += (await this.#handle.write(bytes, at)).bytesWritten
  }

  digest(): string {
    return this.#hash.digest('hex').slice(0, 32)
  }
}
