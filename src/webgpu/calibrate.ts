/**
 * Finds an adapter's tuning: what is done in a proof, with other values in turn, on a second or two of its time. A
 * value takes the place of a default only if it was faster by {@link GAIN} twice, so that noise changes nothing.
 *
 * Nothing may wait for it: a signal ends it within a unit, and while kernels are compiled, which can't be ended, it
 * holds no memory.
 */
import { randomFillSync } from 'node:crypto'
import { encodeG1 } from '../curve/encoding.ts'
import { G1 } from '../curve/points.ts'
import { FR_BYTES } from '../field/fr.ts'
import type { Run } from '../groth16/proving-device.ts'
import { orAborted } from '../params/waiting.ts'
import { ROUNDED } from './allocation.ts'
import { BufferSet } from './buffer-set.ts'
import { BatchAffine, batchAffineKernels, POINT_BYTES } from './curve/batch-affine.ts'
import { importKernels, importPoints } from './curve/import-points.ts'
import type { Gpu } from './gpu.ts'
import { multiexp, multiexpKernels } from './msm/multiexp.ts'
import { mostPoints, windowBits } from './msm/plan.ts'
import {
  BUCKET_COSTS,
  DEFAULT_TUNING,
  firstUnitOf,
  INVERSION_BATCHES,
  type Trial,
  type Tuning,
  WORKGROUP_SIZES,
} from './tuning.ts'

/** What a calibration finds, and what it took. */
export interface Calibration {
  readonly tuning: Tuning
  /** In G1, of pairs from anywhere in memory. */
  readonly additionsPerMs: number
  readonly trials: readonly Trial[]
  /** Compiling kernels for other sizes of workgroups. */
  readonly compileMs: number
  /** All the rest, in which the device is busy. */
  readonly deviceMs: number
}

/** A value that is this much faster is worth it. */
const GAIN = 0.03
/** A measurement takes so long: less would be the latency of a submission. */
const UNIT_MS = 8
/** Times that each value is measured, in turn with the others. */
const ROUNDS = 5
/** A sum takes about so long. */
const SUM_MS = 30
/** An idle card takes this long to raise its clocks. */
const WARM_UP_MS = 500
/** A driver that takes longer is spared the rest of the sizes. */
const COMPILE_MS = 10_000
/** Of the device's memory. */
const MEMORY_SHARE = 1 / 8
/** Where nobody says how much that is. */
const ASSUMED_MEMORY_BYTES = 4 * 2 ** 30
/** Of one pair: its place in the list, its sum and the work buffers of additions, some 270, rounded up. */
const BYTES_PER_PAIR = 320
/** Of a sum, a point: the pairs of all its windows, with what their sums take. */
const BYTES_PER_POINT = 3_200
/** What a software adapter does in some milliseconds. */
const SMALL_LOG2 = 9
const LARGE_LOG2 = 21
/** Points are fewer than pairs: 24 MiB. */
const MOST_POINTS_LOG2 = 18
/** The lists whose pairs of sums the points are. */
const SIDE = 32

/**
 * Measures; the tuning that the device has meanwhile is put back.
 * @throws `run.signal.reason` once the signal aborts, and what the device fails with
 */
export async function calibrate(gpu: Gpu, run: Run): Promise<Calibration> {
  const before = gpu.tuning
  const { limit } = gpu.pace
  try {
    const from = performance.now()
    const sizes = await compiledSizes(gpu, run)
    const compiled = performance.now()
    const found = await measure(gpu, sizes, run)
    return { ...found, compileMs: compiled - from, deviceMs: performance.now() - compiled }
  } finally {
    // Its buffers are of no use to proofs.
    gpu.trim()
    gpu.tune(before)
    gpu.pace.start(limit)
  }
}

/** The sizes of workgroups to try: the default, and those that the driver compiles in time. */
async function compiledSizes(gpu: Gpu, run: Run): Promise<number[]> {
  const prepare = async (kernels: Parameters<Gpu['prepare']>[0], tuning: Tuning): Promise<void> => {
    for (const kernel of kernels) {
      run.signal.throwIfAborted()
      gpu.tune(tuning)
      // One after another: what is in flight when the signal aborts goes on beside the proof that comes.
      await orAborted(gpu.prepare([kernel]), run.signal)
    }
  }
  await prepare([...importKernels('g1'), ...multiexpKernels('g1')], DEFAULT_TUNING)
  const sizes: number[] = [DEFAULT_TUNING.workgroupSize]
  // A software adapter runs the invocations of a workgroup one after another.
  if (gpu.info.software) return sizes
  const from = performance.now()
  for (const workgroupSize of WORKGROUP_SIZES.slice(1)) {
    if (performance.now() - from > COMPILE_MS) break
    await prepare(batchAffineKernels('g1'), { ...DEFAULT_TUNING, workgroupSize })
    sizes.push(workgroupSize)
  }
  return sizes
}

async function measure(
  gpu: Gpu,
  sizes: readonly number[],
  run: Run,
): Promise<Pick<Calibration, 'tuning' | 'additionsPerMs' | 'trials'>> {
  const set = new BufferSet(gpu)
  try {
    const room = roomFor(gpu)
    const bound = gpu.bindingBytes / (ROUNDED * POINT_BYTES.g1)
    const useful = 2 ** (gpu.info.software ? SMALL_LOG2 : LARGE_LOG2)
    const pairs = await PairSums.create(
      gpu,
      set,
      powerOfTwo(Math.min(useful, bound, room / BYTES_PER_PAIR), SMALL_LOG2),
    )
    const additionsPerMs = await pairs.warmUp(run)
    let tuning: Tuning = { ...DEFAULT_TUNING, firstUnit: firstUnitOf(additionsPerMs) }
    const trials: Trial[] = []
    const take = (trial: Trial, changed: Partial<Tuning>): void => {
      trials.push(trial)
      tuning = { ...tuning, ...changed }
      run.unit(trials.length / 3)
    }
    const ofSizes = await race('workgroupSize', sizes, (value) => pairs.time({ ...tuning, workgroupSize: value }, run))
    take(ofSizes, { workgroupSize: ofSizes.chosen })
    const ofBatches = await race('inversionBatch', INVERSION_BATCHES, (value) =>
      pairs.time({ ...tuning, inversionBatch: value }, run),
    )
    take(ofBatches, { inversionBatch: ofBatches.chosen })
    const ofWindows = await windows(
      gpu,
      set,
      { points: pairs.points, most: pairs.count, room, additionsPerMs, tuning },
      run,
    )
    take(ofWindows.trial, { bucketCost: ofWindows.bucketCost })
    return { tuning, additionsPerMs, trials }
  } finally {
    set.release()
  }
}

/** Memory for the pairs and as much for a sum. */
function roomFor({ plannedBytes, allocatedBytes }: Gpu): number {
  const known = plannedBytes < Number.POSITIVE_INFINITY
  const share = MEMORY_SHARE * (known ? plannedBytes : ASSUMED_MEMORY_BYTES)
  return Math.max(0, (known ? Math.min(share, plannedBytes - allocatedBytes) : share) / 2)
}

/** The largest power of two that is no more, but at least this one. */
const powerOfTwo = (most: number, leastLog2: number): number =>
  2 ** Math.max(leastLog2, Math.floor(Math.log2(Math.max(1, most))))

/**
 * Values that take turns, so that what the machine does besides is in all of them.
 * @param values the default first
 */
export async function race(
  what: Trial['what'],
  values: readonly number[],
  measure: (value: number) => Promise<number>,
): Promise<Trial> {
  const least = async (some: readonly number[]): Promise<number[]> => {
    const times = some.map(() => Number.POSITIVE_INFINITY)
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, value] of some.entries()) times[i] = Math.min(times[i] as number, await measure(value))
    }
    return times
  }
  const times = await least(values)
  const tried = values.map((value, i) => ({ value, ms: times[i] as number }))
  const [usual] = tried as [(typeof tried)[number]]
  const best = tried.reduce((a, b) => (b.ms < a.ms ? b : a))
  if (best.ms > (1 - GAIN) * usual.ms) return { what, tried, chosen: usual.value }
  const [usualAgain, bestAgain] = (await least([usual.value, best.value])) as [number, number]
  usual.ms = Math.min(usual.ms, usualAgain)
  best.ms = Math.min(best.ms, bestAgain)
  return { what, tried, chosen: bestAgain > (1 - GAIN) * usualAgain ? usual.value : best.value }
}

/** A round of sums of pairs, as most of a sum is. */
class PairSums {
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

interface WindowTrial {
  readonly points: GPUBuffer
  /** Points at most. */
  readonly most: number
  /** Device memory for the sum. */
  readonly room: number
  readonly additionsPerMs: number
  readonly tuning: Tuning
}

/**
 * Whole sums with the default window, and with its neighbours. The cost of a bucket is then that for which the fastest
 * is chosen.
 */
async function windows(
  gpu: Gpu,
  set: BufferSet,
  { points, most, room, additionsPerMs, tuning }: WindowTrial,
  run: Run,
): Promise<{ readonly trial: Trial; readonly bucketCost: number }> {
  // A sum has some twenty entries a point.
  const fitting = Math.min((additionsPerMs * SUM_MS) / 20, room / BYTES_PER_POINT)
  const count = Math.min(
    powerOfTwo(fitting, SMALL_LOG2 - 3),
    most,
    2 ** MOST_POINTS_LOG2,
    mostPoints('g1', gpu.bindingBytes),
  )
  const chosen = (bucketCost: number): number | undefined =>
    windowBits({ group: 'g1', count, bindingBytes: gpu.bindingBytes, bucketCost })
  const scalars = new Uint8Array(count * FR_BYTES)
  randomFillSync(scalars)
  // Below 2^254, which is below r.
  for (let top = FR_BYTES - 1; top < scalars.length; top += FR_BYTES) scalars[top] = (scalars[top] as number) & 0x3f
  const buffer = await set.allocate(scalars.byteLength, 'calibration: scalars')
  await gpu.upload(buffer, 0, scalars)
  const costs = new Map<number, number>()
  for (const cost of BUCKET_COSTS) {
    const window = chosen(cost)
    if (window !== undefined && !costs.has(window)) costs.set(window, cost)
  }
  const usual = chosen(DEFAULT_TUNING.bucketCost) as number
  const near = [...costs.keys()].filter((window) => Math.abs(window - usual) <= 2)
  gpu.tune(tuning)
  const quiet: Run = { signal: run.signal, unit: () => {} }
  const trial = await race('window', near, async (window) => {
    const from = performance.now()
    await multiexp(gpu, 'g1', points, buffer, 0, count, quiet, { window, memoryBytes: Math.max(1, room) })
    return performance.now() - from
  })
  return { trial, bucketCost: costs.get(trial.chosen) ?? DEFAULT_TUNING.bucketCost }
}
