/**
 * Σ s_i P_i over the ranges of a query with full scalars: the sums of the buckets are carried from range to range, and
 * reduced once.
 *
 * By arithmetic, at a billion additions a second: ranges of 2^24 points of G1 have windows of 20 bits, 13 of them,
 * hence 6.8 M buckets. A reduction is 13.6 M additions in 19 rounds, ten of which are mere latency of 0.2 ms, and a
 * wait for the host of 2 ms: 18 ms. Adding a range's buckets to those carried is 6.8 M additions in four rounds and
 * copies of 1.3 GB: 8 ms. Each range after the first saves the difference, 10 of some 200 ms; in G2, where an addition
 * costs two and a half times as much and a range has half as many points, 25 of some 260.
 */
import type { Run } from '../../groth16/proving-device.ts'
import { ROUNDED } from '../allocation.ts'
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { ADDITION_COST, BatchAffine, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import type { Gpu } from '../gpu.ts'
import { UnitStream } from '../unit-stream.ts'
import { addSums } from './combine.ts'
import { finishSum, type MultiexpOptions, multiexpKernels, reductionWork } from './multiexp.ts'
import {
  bucketsOfWindow,
  type MultiexpPlan,
  multiexpBytes,
  type PlanInput,
  type PlanOptions,
  planMultiexp,
  workBuffers,
} from './plan.ts'
import type { Scalars } from './sort-entries.ts'
import { mostTileWork, recordTile } from './tile-sums.ts'

/** Of the memory allowed, what carried sums may take: less would be left for rounds than they save. */
const CARRIED_SHARE = 1 / 4
/** Parts in which a range's sums are added to those carried: both lie side by side then, in one binding. */
const PARTS = 4
/** A part begins where a binding may: at a multiple of 256 bytes. */
const PART_STEP = 8

const bucketsOf = ({ windows, window }: MultiexpPlan): number => windows * bucketsOfWindow(window)
/** Buckets of the largest part. */
const partBuckets = (plan: MultiexpPlan): number => Math.ceil(bucketsOf(plan) / PARTS / PART_STEP) * PART_STEP

/** What a carried sum takes beside the work buffers of a range: the sums carried, and a part's with a range's. */
const carriedBytes = (plan: MultiexpPlan): number =>
  Math.ceil(ROUNDED * (bucketsOf(plan) + 2 * partBuckets(plan)) * POINT_BYTES[plan.group])

/**
 * @param input the longest range; memory for everything
 * @returns how each range is summed, or undefined where the memory has no room for the sums of two ranges
 */
function planCarried(input: PlanInput, options: PlanOptions = {}): MultiexpPlan | undefined {
  const { memoryBytes = Number.POSITIVE_INFINITY } = input
  const whole = planMultiexp(input, options)
  const carried = carriedBytes(whole)
  if (carried > CARRIED_SHARE * memoryBytes) return undefined
  return planMultiexp({ ...input, memoryBytes: memoryBytes - carried }, { ...options, window: whole.window })
}

/** Device memory that the sums of ranges of full scalars take at most, beside points and scalars. */
export function carriedSumBytes(input: PlanInput, options: PlanOptions = {}): number {
  const plan = planCarried(input, options)
  return plan === undefined ? multiexpBytes(planMultiexp(input, options)) : carriedBytes(plan) + multiexpBytes(plan)
}

/** The sum of one query, range by range. */
export class CarriedSum {
  readonly #gpu: Gpu
  readonly #plan: MultiexpPlan
  readonly #options: MultiexpOptions
  readonly #set: BufferSet
  #carried: GPUBuffer | undefined
  #begun = false

  private constructor(gpu: Gpu, plan: MultiexpPlan, options: MultiexpOptions) {
    this.#gpu = gpu
    this.#plan = plan
    this.#options = options
    this.#set = new BufferSet(gpu)
  }

  /**
   * @param count points of the longest range
   * @returns undefined where the memory allowed has no room for the buckets of two ranges
   */
  static create(gpu: Gpu, group: Group, count: number, options: MultiexpOptions = {}): CarriedSum | undefined {
    const { bindingBytes, tuning } = gpu
    const { memoryBytes = Number.POSITIVE_INFINITY } = options
    const plan = planCarried({ group, count, bindingBytes, memoryBytes, bucketCost: tuning.bucketCost }, options)
    if (plan === undefined) return undefined
    return new CarriedSum(gpu, plan, { ...options, memoryBytes: memoryBytes - carriedBytes(plan) })
  }

  /**
   * Adds a range, of no more points than were told.
   * @param points packed points
   * @param scalars 32 bytes little-endian each, canonical; those from `scalars.first` on belong to the points
   */
  async add(points: BufferRange, scalars: Scalars, count: number, run: Run): Promise<void> {
    if (count === 0) return
    const gpu = this.#gpu
    const { group, window } = this.#plan
    await gpu.prepare(multiexpKernels(group))
    const { bindingBytes } = gpu
    const { memoryBytes } = this.#options
    const plan = planMultiexp({ group, count, bindingBytes, memoryBytes }, { ...this.#options, window })
    const size = workBuffers(this.#plan).sums
    this.#carried ??= await this.#set.allocate(size, 'carried bucket sums')
    const set = new BufferSet(gpu)
    try {
      const adding = this.#begun ? bucketsOf(plan) * ADDITION_COST[group] : 0
      const stream = new UnitStream(gpu, 'multiexp', run, mostTileWork(plan, ADDITION_COST[group]) + adding)
      const sums = this.#begun ? await set.allocate(size, 'bucket sums') : this.#carried
      const tile = { points, scalars, sums: { buffer: sums, offset: 0, size } }
      const { adder } = await recordTile(gpu, set, stream, plan, tile, adding)
      if (this.#begun) await this.#recordCarry(stream, set, adder, this.#carried, sums)
      this.#begun = true
      await stream.finish()
    } finally {
      set.release()
    }
  }

  /** Adds a range's sums to those carried: each part of both is copied side by side, and its sums go back at once. */
  async #recordCarry(
    stream: UnitStream,
    set: BufferSet,
    adder: BatchAffine,
    carried: GPUBuffer,
    sums: GPUBuffer,
  ): Promise<void> {
    const pointBytes = POINT_BYTES[this.#plan.group]
    const [buckets, most] = [bucketsOf(this.#plan), partBuckets(this.#plan)]
    const both = await set.allocate(2 * most * pointBytes, 'part of the bucket sums')
    for (let from = 0; from < buckets; from += most) {
      const count = Math.min(most, buckets - from)
      const [offset, size] = [from * pointBytes, count * pointBytes]
      stream.commands.copy(carried, offset, both, 0, size)
      stream.commands.copy(sums, offset, both, size, size)
      const target = { buffer: carried, offset, size }
      await adder.recordRound(stream, { points: both, source: { kind: 'halves', half: count }, sums: target }, count)
    }
  }

  /** The sum over all ranges added, uncompressed big-endian. It begins anew then. */
  async finish(run: Run): Promise<Uint8Array> {
    const gpu = this.#gpu
    const plan = this.#plan
    if (this.#carried === undefined || !this.#begun) return addSums(plan.group, [])
    this.#begun = false
    const set = new BufferSet(gpu)
    try {
      const adder = set.own(await BatchAffine.create(gpu, plan.group, plan.slicePairs))
      const other = await set.allocate(workBuffers(plan).pairSums, 'reduced buckets')
      const stream = new UnitStream(gpu, 'multiexp', run, reductionWork(plan))
      const [sum] = await finishSum(gpu, set, stream, plan, adder, this.#carried, other)
      return sum as Uint8Array
    } finally {
      set.release()
    }
  }

  /** Frees what is carried. Idempotent. */
  release(): void {
    this.#set.release()
    this.#carried = undefined
  }
}
