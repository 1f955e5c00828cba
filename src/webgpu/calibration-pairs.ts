/**
 * What a calibration measures most: rounds of sums of pairs of points from anywhere in memory, as most of a sum is.
 */
import { randomFillSync } from 'node:crypto'
import { encodeG1 } from '../curve/encoding.ts'
import { G1 } from '../curve/points.ts'
import type { Run } from '../groth16/proving-device.ts'
import { BufferSet } from './buffer-set.ts'
import { BatchAffine, POINT_BYTES } from './curve/batch-affine.ts'
import { importPoints } from './curve/import-points.ts'
import type { Gpu } from './gpu.ts'
import { DEFAULT_TUNING, type Tuning } from './tuning.ts'

/** A measurement takes so long: less would be the latency of a submission. */
const UNIT_MS = 8
/** An idle card takes this long to raise its clocks. */
const WARM_UP_MS = 500
/** What a software adapter does in some milliseconds. */
export const SMALL_LOG2 = 9
/** Points are fewer than pairs: 24 MiB. */
export const MOST_POINTS_LOG2 = 18
/** The lists whose pairs of sums the points are. */
const SIDE = 32

/** A list of pairs, their points, and room for their sums. */
export class PairSums {
  /** Distinct enough that equal ones rarely make a pair. */
  readonly points: GPUBuffer
  readonly count: number
  readonly #gpu: Gpu
  readonly #list: GPUBuffer
  readonly #sums: GPUBuffer
  /** Pairs of a measurement, and how often they are added in it. */
  #pairs = 2 ** SMALL_LOG2
  #times = 1

  private constructor(gpu: Gpu, count: number, points: GPUBuffer, list: GPUBuffer, sums: GPUBuffer) {
    this.#gpu = gpu
    this.count = count
    this.points = points
    this.#list = list
    this.#sums = sums
  }

  /** @param count pairs at most, a power of two */
  static async create(gpu: Gpu, set: BufferSet, count: number): Promise<PairSums> {
    const points = 2 ** Math.min(MOST_POINTS_LOG2, Math.log2(count))
    const sums = await set.allocate(count * POINT_BYTES.g1, 'calibration: sums')
    const list = await set.allocate(8 * count, 'calibration: pairs')
    const made = new PairSums(gpu, count, await calibrationPoints(gpu, set, points), list, sums)
    const operands = new Uint32Array(2 * count)
    randomFillSync(operands)
    for (let i = 0; i < operands.length; i++) operands[i] = (operands[i] as number) & (points - 1)
    await gpu.upload(list, 0, new Uint8Array(operands.buffer))
    return made
  }

  /** Has the clocks rise, and finds how many pairs are worth a measurement. @returns additions a millisecond */
  async warmUp(run: Run): Promise<number> {
    let perMs = 0
    for (const until = performance.now() + WARM_UP_MS; ; ) {
      const ms = await this.time(DEFAULT_TUNING, run)
      perMs = Math.max(perMs, (this.#pairs * this.#times) / ms)
      if (ms < UNIT_MS && this.#pairs < this.count) this.#pairs *= 2
      else if (ms < UNIT_MS) this.#times++
      else if (this.#gpu.info.software || performance.now() > until) break
    }
    // It took longer while the clocks were low.
    this.#times = Math.max(this.#times, Math.ceil((UNIT_MS * perMs) / this.#pairs))
    return perMs
  }

  /** Milliseconds of a measurement. */
  async time(tuning: Tuning, run: Run): Promise<number> {
    run.signal.throwIfAborted()
    this.#gpu.tune(tuning)
    const adder = await BatchAffine.create(this.#gpu, 'g1', this.#pairs)
    try {
      const commands = this.#gpu.commands('calibration')
      const round = { points: this.points, source: { kind: 'list', pairs: this.#list }, sums: this.#sums } as const
      for (let i = 0; i < this.#times; i++) adder.record(commands, round, 0, this.#pairs)
      return await commands.submit()
    } finally {
      adder.release()
    }
  }
}

/** Points of G1: sums of one of 32 and one of another 32, again and again. */
async function calibrationPoints(gpu: Gpu, set: BufferSet, count: number): Promise<GPUBuffer> {
  const step = G1.BASE.multiplyUnsafe(BigInt(SIDE))
  const encoded = new Uint8Array(2 * SIDE * POINT_BYTES.g1)
  for (let i = 0, low = G1.BASE, high = step; i < SIDE; i++, low = low.add(G1.BASE), high = high.add(step)) {
    encoded.set(encodeG1(low), i * POINT_BYTES.g1)
    encoded.set(encodeG1(high), (SIDE + i) * POINT_BYTES.g1)
  }
  const points = await set.allocate(count * POINT_BYTES.g1, 'calibration: points')
  const own = new BufferSet(gpu)
  try {
    const source = await own.allocate(encoded.byteLength, 'calibration: encoded points')
    const sides = await own.allocate(encoded.byteLength, 'calibration: points')
    await gpu.upload(source, 0, encoded)
    await importPoints(gpu, 'g1', source, sides, 2 * SIDE)
    const operands = new Uint32Array(2 * count)
    for (let i = 0; i < count; i++) {
      operands[2 * i] = i % SIDE
      operands[2 * i + 1] = SIDE + (Math.floor(i / SIDE) % SIDE)
    }
    const list = await own.allocate(operands.byteLength, 'calibration: pairs')
    await gpu.upload(list, 0, new Uint8Array(operands.buffer))
    const adder = own.own(await BatchAffine.create(gpu, 'g1', count))
    const commands = gpu.commands('calibration')
    adder.record(commands, { points: sides, source: { kind: 'list', pairs: list }, sums: points }, 0, count)
    await commands.submit()
    return points
  } finally {
    own.release()
  }
}
