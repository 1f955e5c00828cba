/**
 * A set-up on the device: columns at τ, then points of any range of any query, which stay where they are made. What
 * leaves the device is the verifying key, and points for a file where one is written.
 */
import type { CircuitShape } from '../../circuit/shape.ts'
import { FR_BYTES, frWriteBytes } from '../../field/fr.ts'
import type { DevicePoints, DeviceSetup, Run, TakePoints } from '../../groth16/proving-device.ts'
import { silent } from '../../groth16/run-portion.ts'
import { type PointRange, paramsLayout, QUERIES, QUERY_GROUP } from '../../params/layout.ts'
import type { ToxicWaste } from '../../params/toxic-waste.ts'
import { joinVerifyingKey } from '../../params/verifying-key.ts'
import { BufferSet } from '../buffer-set.ts'
import { type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import { recordExport } from '../curve/export-points.ts'
import { exportPoints, FIXED_BASE_KERNELS, FixedBase } from '../curve/fixed-base.ts'
import { forget } from '../forget.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { ReadBackRing } from '../read-back.ts'
import { UnitStream } from '../unit-stream.ts'
import { COLUMN_KERNELS, computeColumns } from './columns.ts'
import { QUERY_SCALAR_KERNELS, QueryScalars, scalarBytes } from './query-scalars.ts'
import { fixedBaseScalars } from './setup-bytes.ts'

/** Everything that a set-up dispatches besides additions of points. */
export const SETUP_KERNELS: readonly Kernel[] = [...COLUMN_KERNELS, ...QUERY_SCALAR_KERNELS, ...FIXED_BASE_KERNELS]

/** What of {@link GpuSetup.create} is done when the columns are there, and the tables of either group. */
const COLUMNS_SHARE = 0.6
const G1_SHARE = 0.75
const G2_SHARE = 0.9

/** Makes a device's handle of a buffer of packed points. */
export type WrapPoints = (group: Group, count: number, buffer: GPUBuffer) => DevicePoints

/** A set-up in the memory of one GPU. */
export class GpuSetup implements DeviceSetup {
  readonly verifyingKey: Uint8Array
  readonly #gpu: Gpu
  readonly #set: BufferSet
  readonly #scalars: QueryScalars
  readonly #bases: Readonly<Record<Group, FixedBase>>
  readonly #wrap: WrapPoints
  readonly #readBack: ReadBackRing
  #last: Promise<unknown> = Promise.resolve()
  #released: Promise<void> | undefined

  private constructor(
    gpu: Gpu,
    set: BufferSet,
    scalars: QueryScalars,
    bases: Readonly<Record<Group, FixedBase>>,
    wrap: WrapPoints,
    verifyingKey: Uint8Array,
  ) {
    this.#gpu = gpu
    this.#set = set
    this.#scalars = scalars
    this.#bases = bases
    this.#wrap = wrap
    this.#readBack = new ReadBackRing(gpu)
    this.verifyingKey = verifyingKey
  }

  /**
   * @param atOnce most points of a group that will be asked for at once
   * @param wrap makes a device's handle of a buffer of packed points
   */
  static async create(
    gpu: Gpu,
    shape: CircuitShape,
    toxic: ToxicWaste,
    atOnce: Readonly<Record<Group, number>>,
    wrap: WrapPoints,
    run: Run,
  ): Promise<GpuSetup> {
    await gpu.prepare(SETUP_KERNELS)
    const set = new BufferSet(gpu)
    try {
      const columns = set.own(
        await computeColumns(gpu, shape, toxic, {
          ...run,
          unit: (share) => run.unit(COLUMNS_SHARE * share),
        }),
      )
      const scalars = set.own(await QueryScalars.create(gpu, shape, toxic, columns))
      const { queries } = paramsLayout(shape)
      const quiet = silent(run)
      const base = async (group: Group): Promise<FixedBase> => {
        const counts = QUERIES.filter((query) => QUERY_GROUP[query] === group).map((query) => queries[query].points)
        const numbers = fixedBaseScalars(counts, atOnce[group])
        return set.own(await FixedBase.create(gpu, group, toxic[group], numbers, quiet))
      }
      const g1 = await base('g1')
      run.unit(G1_SHARE)
      const g2 = await base('g2')
      run.unit(G2_SHARE)
      const bases = { g1, g2 }
      const verifyingKey = await makeVerifyingKey(gpu, shape, toxic, scalars, bases, quiet)
      run.unit(1)
      return new GpuSetup(gpu, set, scalars, bases, wrap, verifyingKey)
    } catch (error) {
      set.release()
      throw error
    }
  }

  async points(range: PointRange, run: Run): Promise<DevicePoints> {
    const points = await this.#inTurn(() => this.#make(range, run))
    return this.#wrap(QUERY_GROUP[range.query], range.count, points)
  }

  async encode(range: PointRange, take: TakePoints, run: Run): Promise<void> {
    const encoded = await this.#inTurn(() => this.#encoded(range, run))
    const bytes = range.count * POINT_BYTES[QUERY_GROUP[range.query]]
    await this.#readBack.read(encoded, bytes, take, () => this.#gpu.release(encoded))
  }

  /** One range after the other: they share work buffers. */
  async #inTurn<T>(make: () => Promise<T>): Promise<T> {
    if (this.#released !== undefined) throw new Error('the set-up was released')
    const made = this.#last.then(make)
    this.#last = made.catch(() => {})
    return await made
  }

  async #make({ query, first, count }: PointRange, run: Run): Promise<GPUBuffer> {
    const group = QUERY_GROUP[query]
    const scalars = await this.#gpu.allocate(scalarBytes(count), `scalars of ${query}`)
    try {
      await this.#scalars.fill(query, first, count, scalars, silent(run))
      const points = await this.#gpu.allocate(Math.max(1, count) * POINT_BYTES[group], `points of ${query}`)
      try {
        await this.#bases[group].multiples(scalars, count, points, run)
        return points
      } catch (error) {
        this.#gpu.release(points)
        throw error
      }
    } finally {
      forget(this.#gpu, scalars)
    }
  }

  async #encoded(range: PointRange, run: Run): Promise<GPUBuffer> {
    const group = QUERY_GROUP[range.query]
    const points = await this.#make(range, run)
    try {
      const encoded = await this.#gpu.allocate(range.count * POINT_BYTES[group], 'encoded points')
      try {
        const stream = new UnitStream(this.#gpu, 'export points', silent(run), range.count)
        recordExport(stream.commands, group, points, encoded, range.count)
        await stream.recorded(range.count)
        await stream.finish()
        return encoded
      } catch (error) {
        this.#gpu.release(encoded)
        throw error
      }
    } finally {
      this.#gpu.release(points)
    }
  }

  release(): Promise<void> {
    this.#released ??= this.#last.then(async () => {
      await this.#readBack.release()
      this.#set.release()
      // Columns and tables are of no size that proofs use again.
      this.#gpu.trim()
    })
    return this.#released
  }
}

async function makeVerifyingKey(
  gpu: Gpu,
  { inputs }: CircuitShape,
  { alpha, beta, gamma, delta }: ToxicWaste,
  scalars: QueryScalars,
  bases: Readonly<Record<Group, FixedBase>>,
  run: Run,
): Promise<Uint8Array> {
  const multiples = async (group: Group, secrets: readonly bigint[], ic: number): Promise<Uint8Array> => {
    const count = secrets.length + ic
    const set = new BufferSet(gpu)
    const buffer = await gpu.allocate(scalarBytes(count), 'scalars of the key')
    try {
      const bytes = new Uint8Array(secrets.length * FR_BYTES)
      for (const [i, secret] of secrets.entries()) frWriteBytes(secret, bytes, i * FR_BYTES)
      await gpu.upload(buffer, 0, bytes)
      bytes.fill(0)
      if (ic > 0) await scalars.fillIc(buffer, secrets.length)
      const points = await set.allocate(count * POINT_BYTES[group], 'points of the key')
      await bases[group].multiples(buffer, count, points, run)
      return await exportPoints(gpu, group, points, count)
    } finally {
      forget(gpu, buffer)
      set.release()
    }
  }
  const g1 = await multiples('g1', [alpha, beta, delta], inputs)
  const g2 = await multiples('g2', [beta, gamma, delta], 0)
  return joinVerifyingKey(g1, g2)
}
