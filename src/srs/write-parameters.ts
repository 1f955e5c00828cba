/** Makes the points of an SRS and writes them as bellperson does, query after query, without holding more than a chunk. */
import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { CircuitShape } from '../circuit/shape.ts'
import { FR_BYTES, frToBytes } from '../field/fr.ts'
import type { ProvingDevice, Run } from '../groth16/proving-device.ts'
import { G1_BYTES, G2_BYTES, paramsLayout, QUERIES, QUERY_GROUP, type Query } from '../params/layout.ts'
import type { ToxicScalars, ToxicWaste } from '../params/toxic-waste.ts'

/** Scalars of every query, 32 bytes little-endian each. */
export interface SetupScalars {
  readonly ic: Uint8Array
  /** Those of the points `first` up to `first + count`. */
  query(query: Query, first: number, count: number): Uint8Array
}

export interface WrittenParameters {
  readonly verifyingKey: Uint8Array
  readonly paramsBytes: number
  /** First 16 bytes of BLAKE2b-512, in hex. */
  readonly paramsDigest: string
}

/** Points made and written at once: 25 MB of G1, 50 MB of G2. */
const CHUNK_POINTS = 2 ** 18

/** A multiple in G2 takes about three times as long. */
const COST = { g1: 1, g2: 3 } as const

/**
 * @param handle an empty file, open for writing
 * @throws `run.signal.reason` once the signal aborts
 */
export async function writeParameters(
  device: ProvingDevice,
  shape: CircuitShape,
  toxic: ToxicWaste,
  scalars: SetupScalars,
  handle: FileHandle,
  run: Run,
): Promise<WrittenParameters> {
  const layout = paramsLayout(shape)
  const keyCost = (3 + layout.icLength) * COST.g1 + 3 * COST.g2
  const total = QUERIES.reduce((sum, query) => sum + layout.queries[query].points * COST[QUERY_GROUP[query]], keyCost)
  let done = 0
  const output = new HashingWriter(handle)

  const multiples = async (group: 'g1' | 'g2', of: Uint8Array): Promise<Uint8Array> => {
    const count = of.length / FR_BYTES
    const out = new Uint8Array(count * (group === 'g1' ? G1_BYTES : G2_BYTES))
    const cost = count * COST[group]
    const unit = (share: number): void => run.unit(Math.min(1, (done + share * cost) / total))
    await device.fixedBaseMultiples(group, toxic[group], of, out, { signal: run.signal, unit })
    done += cost
    return out
  }

  const verifyingKey = await makeVerifyingKey(toxic, scalars.ic, multiples)
  await output.write(verifyingKey)
  for (const query of QUERIES) {
    const { points } = layout.queries[query]
    await output.write(uint32(points))
    for (let first = 0; first < points; first += CHUNK_POINTS) {
      run.signal.throwIfAborted()
      const count = Math.min(CHUNK_POINTS, points - first)
      await output.write(await multiples(QUERY_GROUP[query], scalars.query(query, first, count)))
    }
  }
  if (output.bytes !== layout.fileBytes) throw new Error(`wrote ${output.bytes} bytes instead of ${layout.fileBytes}`)
  return { verifyingKey, paramsBytes: output.bytes, paramsDigest: output.digest() }
}

/** alpha_g1 · beta_g1 · beta_g2 · gamma_g2 · delta_g1 · delta_g2 · count of ic · ic */
async function makeVerifyingKey(
  { alpha, beta, gamma, delta }: ToxicScalars,
  ic: Uint8Array,
  multiples: (group: 'g1' | 'g2', scalars: Uint8Array) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const joined = (...values: bigint[]): Uint8Array => Buffer.concat(values.map(frToBytes))
  const g1 = await multiples('g1', Buffer.concat([joined(alpha, beta, delta), ic]))
  const g2 = await multiples('g2', joined(beta, gamma, delta))
  return new Uint8Array(
    Buffer.concat([
      g1.subarray(0, 2 * G1_BYTES),
      g2.subarray(0, 2 * G2_BYTES),
      g1.subarray(2 * G1_BYTES, 3 * G1_BYTES),
      g2.subarray(2 * G2_BYTES),
      uint32(ic.length / FR_BYTES),
      g1.subarray(3 * G1_BYTES),
    ]),
  )
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
    this.#hash.update(bytes)
    this.bytes += bytes.length
    for (let at = 0; at < bytes.length; ) at += (await this.#handle.write(bytes, at)).bytesWritten
  }

  digest(): string {
    return this.#hash.digest('hex').slice(0, 32)
  }
}
