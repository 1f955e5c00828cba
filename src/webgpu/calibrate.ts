/**
 * Finds an adapter's tuning: what is done in a proof, with other values in turn, on a second or two of its time. A
 * value takes the place of a default only if it was faster by {@link GAIN} twice, so that noise changes nothing.
 *
 * Nothing may wait for it: a signal ends it within a unit, and while kernels are compiled, which can't be ended, it
 * holds no memory.
 */
import { randomFillSync } from 'node:crypto'
import { FR_BYTES } from '../field/fr.ts'
import type { Run } from '../groth16/proving-device.ts'
import { orAborted } from '../params/waiting.ts'
import { ROUNDED } from './allocation.ts'
import { BufferSet } from './buffer-set.ts'
import { MOST_POINTS_LOG2, PairSums, SMALL_LOG2 } from './calibration-pairs.ts'
import { batchAffineKernels, POINT_BYTES } from './curve/batch-affine.ts'
import { importKernels } from './curve/import-points.ts'
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
/** Times that each value is measured, in turn with the others. */
const ROUNDS = 5
/** A sum takes about so long. */
const SUM_MS = 30
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
/** More pairs would take longer, and tell the same. */
const LARGE_LOG2 = 21

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
