/**
 * What is best found out by measuring, since no arithmetic tells it of an adapter. Whatever the values, a sum is the
 * same bytes; they decide how long it takes. `calibrate.ts` measures them.
 */
import { START } from './unit-pace.ts'

/** What a GPU's kernels and plans are set to. */
export interface Tuning {
  /** Invocations of a workgroup in the kernels of additions in G1 and of inversions. */
  readonly workgroupSize: number
  /** Elements that a thread multiplies together before their product is inverted. */
  readonly inversionBatch: number
  /**
   * What the reduction of a bucket costs, in additions of an entry to its bucket: the dearer, the fewer buckets a
   * window gets.
   */
  readonly bucketCost: number
  /** Work of the first unit, in additions in G1. */
  readonly firstUnit: number
}

/** What a calibration tried: the least time of each value. */
export interface Trial {
  readonly what: 'workgroupSize' | 'inversionBatch' | 'window'
  /** The first is the default. */
  readonly tried: readonly { readonly value: number; readonly ms: number }[]
  readonly chosen: number
}

/**
 * The first is the default. Larger ones have fewer registers for an invocation than a multiplication needs: a third
 * slower on an H200.
 */
export const WORKGROUP_SIZES: readonly number[] = [64, 32, 128]
/** The first is the default. Budgets count the memory of the smallest, which takes most. */
export const INVERSION_BATCHES: readonly number[] = [16, 32, 64]
const LEAST_BUCKET_COST = 1 / 2
const MOST_BUCKET_COST = 8
/** The default first, then others in both directions, the nearest first. */
export const BUCKET_COSTS: readonly number[] = [2, 1.5, 3, 1, 4, 0.75, 6, LEAST_BUCKET_COST, MOST_BUCKET_COST]
/** Of a first unit: slower adapters than have some 100 additions a millisecond, and faster ones than there are. */
const LEAST_FIRST_UNIT = 2 ** 12
const MOST_FIRST_UNIT = 2 ** 24
/** Of what an adapter does at its best, in milliseconds: clocks of a card that was idle are several times lower. */
const FIRST_UNIT_MS = 16

/** Of an adapter that nobody has measured. */
export const DEFAULT_TUNING: Tuning = {
  workgroupSize: WORKGROUP_SIZES[0] as number,
  inversionBatch: INVERSION_BATCHES[0] as number,
  bucketCost: BUCKET_COSTS[0] as number,
  firstUnit: START,
}

/** Work of the first unit on an adapter of so many additions a millisecond. */
export const firstUnitOf = (additionsPerMs: number): number =>
  2 ** Math.floor(Math.log2(Math.min(MOST_FIRST_UNIT, Math.max(LEAST_FIRST_UNIT, additionsPerMs * FIRST_UNIT_MS))))

/** @returns the tuning that a value from elsewhere is, or nothing if it is none, or one that no calibration finds */
export function asTuning(value: unknown): Tuning | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { workgroupSize, inversionBatch, bucketCost, firstUnit } = value as Readonly<Record<string, unknown>>
  const known =
    WORKGROUP_SIZES.includes(workgroupSize as number) && INVERSION_BATCHES.includes(inversionBatch as number)
  if (!known || !within(bucketCost, LEAST_BUCKET_COST, MOST_BUCKET_COST)) return undefined
  if (!Number.isSafeInteger(firstUnit) || !within(firstUnit, LEAST_FIRST_UNIT, MOST_FIRST_UNIT)) return undefined
  return { workgroupSize, inversionBatch, bucketCost, firstUnit } as Tuning
}

const within = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'number' && value >= least && value <= most
