/** Points of the SRS in the pool's memory: imported from the file's encoding and checked on the way. */
import { SrsUnavailableError } from '../errors.ts'
import type { DevicePoints, ReadPoints, Run } from '../groth16/proving-device.ts'
import { portion } from '../groth16/run-portion.ts'
import { ENCODED_BYTES, type Group, groupKernels, POINT_BYTES } from './msm/group-kernels.ts'
import type { ThreadPool, ThreadTask } from './thread-context.ts'

/** Points that one task imports: a few milliseconds. */
const UNIT_POINTS = 4_096
/** Encoded points that are imported together, in units a thread. */
const STAGED_UNITS_PER_THREAD = 8

/**
 * Encoded points of a range that are in memory at once: a part that is being imported, and the next one that is being
 * read.
 */
export function stagedPoints(count: number, threads: number): number {
  return Math.min(count, 2 * STAGED_UNITS_PER_THREAD * threads * UNIT_POINTS)
}

interface ImportArgs {
  readonly group: Group
  /** Addresses. */
  readonly encoded: number
  readonly points: number
  readonly count: number
}

/** Why a point was refused. */
type Fault = 'coordinate' | 'curve'

interface ImportResult {
  /** The first point that was refused, or `count`. */
  readonly index: number
  readonly fault: Fault | undefined
}

const importPoints: ThreadTask<ImportArgs, ImportResult> = (thread, { group, encoded, points, count }) => {
  const { lanes, pointBytes, encodedBytes, importPoints: kernel } = groupKernels(thread, group)
  for (let i = 0; i < count; i += lanes) {
    const from = encoded + i * encodedBytes
    const to = points + i * pointBytes
    // The second lane of an odd last point works on the same one.
    const second = i + 1 < count ? 1 : 0
    const bits =
      lanes === 2 ? kernel(from, from + second * encodedBytes, to, to + second * pointBytes) : kernel(from, to)
    for (let lane = 0; bits !== 0 && lane < lanes; lane++) {
      // Bit j: a coordinate of lane j is not below p; bit 2 + j: the point is not on the curve.
      if ((bits >> lane) & 1) return { index: i + lane * second, fault: 'coordinate' }
      if ((bits >> (2 + lane)) & 1) return { index: i + lane * second, fault: 'curve' }
    }
  }
  return { index: count, fault: undefined }
}

/** Tasks of this file, for the registry. */
export const POINT_TASKS: Readonly<{ 'points-import': ThreadTask<ImportArgs, ImportResult> }> = {
  'points-import': importPoints,
}

/** Imported points; see {@link loadDevicePoints}. */
export class CpuPoints implements DevicePoints {
  readonly group: Group
  readonly count: number
  readonly #pool: ThreadPool
  #address: number | undefined

  constructor(pool: ThreadPool, group: Group, count: number) {
    this.#pool = pool
    this.group = group
    this.count = count
    this.#address = pool.arena.allocate(count * POINT_BYTES[group])
  }

  /** @throws {Error} after {@link release} */
  get address(): number {
    if (this.#address === undefined) throw new Error('The points were released')
    return this.#address
  }

  release(): void {
    if (this.#address !== undefined) this.#pool.arena.free(this.#address)
    this.#address = undefined
  }
}

/**
 * Imports points from bellperson's uncompressed encoding, over all threads. A part is read while the one before it is
 * imported.
 * @throws {SrsUnavailableError} a coordinate is not below p, a point is off the curve or infinity; `details.received`
 * has its index
 * @throws {RangeError} memory does not suffice
 * @throws what `read` rejects with
 */
export async function loadDevicePoints(
  pool: ThreadPool,
  group: Group,
  count: number,
  read: ReadPoints,
  run: Run,
): Promise<CpuPoints> {
  const encodedBytes = ENCODED_BYTES[group]
  const pointBytes = POINT_BYTES[group]
  const part = STAGED_UNITS_PER_THREAD * pool.threads * UNIT_POINTS
  const points = new CpuPoints(pool, group, count)
  let staging: number | undefined
  let reading: Promise<void> | undefined
  try {
    staging = pool.arena.allocate(stagedPoints(count, pool.threads) * encodedBytes)
    /** Where the part that begins with this point is staged: in one half, then in the other. */
    const place = (first: number): number => (staging as number) + ((first / part) % 2) * part * encodedBytes
    const readPart = (first: number): Promise<void> => {
      const bytes = Math.min(part, count - first) * encodedBytes
      return read(first, new Uint8Array(pool.memory.buffer, place(first), bytes))
    }
    if (count > 0) reading = readPart(0)
    for (let first = 0; first < count; first += part) {
      await reading
      run.signal.throwIfAborted()
      const end = Math.min(first + part, count)
      reading = end < count ? readPart(end) : undefined
      // Awaited in the next round; a failure before that must not count as unhandled.
      reading?.catch(() => {})
      const units: ImportArgs[] = []
      for (let i = first; i < end; i += UNIT_POINTS) {
        const encoded = place(first) + (i - first) * encodedBytes
        units.push({ group, encoded, points: points.address + i * pointBytes, count: Math.min(UNIT_POINTS, end - i) })
      }
      const results = await pool.run<ImportArgs, ImportResult>(
        'points-import',
        units,
        portion(run, first / count, end / count),
      )
      for (const [u, { index, fault }] of results.entries()) {
        if (fault === undefined) continue
        const encoded = (units[u] as ImportArgs).encoded + index * encodedBytes
        const head = new Uint8Array(pool.memory.buffer)[encoded] as number
        throw refusal(head, first + u * UNIT_POINTS + index, fault)
      }
    }
    return points
  } catch (error) {
    // What is being read is written to memory that is freed here.
    await reading?.catch(() => {})
    points.release()
    throw error
  } finally {
    if (staging !== undefined) pool.arena.free(staging)
  }
}

/** @param head the encoding's first byte, which holds its flags */
function refusal(head: number, index: number, fault: Fault): SrsUnavailableError {
  const isInfinity = (head & 0x40) !== 0
  const what =
    fault === 'curve' ? 'off the curve' : isInfinity ? 'infinity' : 'not canonical (a coordinate is not below p)'
  return new SrsUnavailableError(`Point ${index} is ${what}`, {
    details: { expected: 'a point of the curve other than infinity', received: String(index) },
  })
}
