/**
 * Sums of queries range by range. How a query is summed follows from its scalars and from whether one range is all of
 * it; what is kept of a range for a later one belongs to the assignment, and goes with it.
 */
import type { Run } from '../groth16/proving-device.ts'
import { portion } from '../groth16/run-portion.ts'
import { paramsLayout, type Query } from '../params/layout.ts'
import type { GpuAssignment } from './assignment/gpu-assignment.ts'
import type { Group } from './curve/batch-affine.ts'
import type { Gpu } from './gpu.ts'
import { CarriedSum } from './msm/carried-sum.ts'
import { addSums } from './msm/combine.ts'
import { multiexp } from './msm/multiexp.ts'
import { mostlyBits, QuerySum } from './msm/query-sum.ts'
import type { Scalars } from './msm/sort-entries.ts'

/** Share of a query's last range that is summing it, for progress; the rest is finishing the sum. */
const FINISH_AT = 0.7

/** A sum over the ranges of a query. */
type RangeSum = CarriedSum | QuerySum

/** A range of a query with its scalars. */
export interface QueryRange {
  readonly query: Query
  readonly group: Group
  /** Packed points. */
  readonly points: GPUBuffer
  readonly scalars: Scalars
  /** Number of its first point in the query. */
  readonly first: number
  readonly count: number
}

/** The sums of one device whose last range has not come yet. */
export class RangedQueries {
  readonly #gpu: Gpu
  readonly #begun = new WeakMap<GpuAssignment, Map<Query, RangeSum>>()

  constructor(gpu: Gpu) {
    this.#gpu = gpu
  }

  /**
   * @param memoryBytes for work buffers, where there is a limit
   * @returns the sum of a range, uncompressed big-endian; infinity where terms are kept for that of the query's last
   * one
   */
  async sum(
    assignment: GpuAssignment,
    { query, group, points, scalars, first, count }: QueryRange,
    memoryBytes: number | undefined,
    run: Run,
  ): Promise<Uint8Array> {
    const { shape } = assignment.shape
    const last = first + count === paramsLayout(shape).queries[query].points
    const begun = this.#begun.get(assignment) ?? new Map<Query, RangeSum>()
    this.#begun.set(assignment, begun)
    let sum = begun.get(query)
    if (sum === undefined) {
      const ofBits = query !== 'h' && mostlyBits({ aux: shape.aux, bits: shape.root.totals.bits })
      const whole = first === 0 && last
      if (ofBits) sum = new QuerySum(this.#gpu, group, { memoryBytes })
      else if (!whole) sum = CarriedSum.create(this.#gpu, group, count, { memoryBytes })
      if (sum === undefined)
        return await multiexp(this.#gpu, group, points, scalars.buffer, scalars.first, count, run, { memoryBytes })
      begun.set(query, assignment.own(sum))
    }
    await sum.add(points, scalars, count, last ? portion(run, 0, FINISH_AT) : run)
    if (!last) return addSums(group, [])
    const bytes = await sum.finish(portion(run, FINISH_AT, 1))
    sum.release()
    begun.delete(query)
    return bytes
  }
}
