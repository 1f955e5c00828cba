/**
 * Σ s_i P_i over the ranges of a query with full scalars: the sums of the buckets are carried from range to range, and
 * reduced once.
 *
 * By arithmetic, at a billion additions a second: ranges of 2^24 points of G1 have windows of 20 bits, 13 of them,
 * hence 6.8 M buckets. A reduction is 13.6 M additions in 19 rounds, ten of which are mere latency of 0.2 ms, and a
 * wait for the host of 2 ms: 18 ms. Adding a range's buckets to those carried is 6.8 M additions in one round and a
 * copy of 0.65 GB: 7 ms. Each range after the first saves the difference, 11 of some 200 ms, for 1.3 GiB that are kept
 * over the query.
 */
import type { Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { ADDITION_COST, BatchAffine, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import type { Gpu } from '../gpu.ts'
import { UnitStream } from '../unit-stream.ts'
import { addSums } from './combine.ts'
import { finishSum, type MultiexpOptions, multiexpKernels, reductionWork } from './multiexp.ts'
import { bucketsOfWindow, type MultiexpPlan, planMultiexp, workBuffers } from './plan.ts'
import type { Scalars } from './sort-entries.ts'
import { mostTileWork, recordTile } from './tile-sums.ts'

/** Of the memory allowed, what carried sums may take: less would be left for rounds than they save. */
const CARRIED_SHARE = 1 / 4
/** Allocations are rounded up by an eighth at most. */
const ROUNDED = 9 / 8

/** The sum of one query, range by range. */
export class CarriedSum {
  readonly #gpu: Gpu
  readonly #plan: MultiexpPlan
  readonly #options: MultiexpOptions
  readonly #set: BufferSet
  /** The carried sums, then room for those of a range. */
  #sums: GPUBuffer | undefined
  #begun = false

  private constructor(gpu: Gpu, plan: MultiexpPlan, options: MultiexpOptions) {
    this.#gpu = gpu
    this.#plan = plan
    this.#options = options
    this.#set = new BufferSet(gpu)
  }

  /**
   * @param count points of the longest range
   * @returns undefined where memory or bindings have no room for the buckets of two ranges
   */
  static create(gpu: Gpu, group: Group, count: number, options: MultiexpOptions = {}): CarriedSum | undefined {
    const { bindingBytes, tuning } = gpu
    const { memoryBytes = Number.POSITIVE_INFINITY } = options
    const { bucketCost } = tuning
    const { window, windows } = planMultiexp({ group, count, bindingBytes, memoryBytes, bucketCost }, options)
    const carried = Math.ceil(ROUNDED * 2 * windows * bucketsOfWindow(window) * POINT_BYTES[group])
    if (carried > Math.min(bindingBytes, CARRIED_SHARE * memoryBytes)) return undefined
    const input = { group, count, bindingBytes, memoryBytes: memoryBytes - carried }
    const plan = planMultiexp(input, { ...options, window })
    return new CarriedSum(gpu, plan, { ...options, memoryBytes: input.memoryBytes })
  }

  /**
   * Adds a range, of no more points than were told.
   * @param points packed points
   * @param scalars 32 bytes little-endian each, canonical; those from `scalars.first` on belong to the points
   */
  async add(points: BufferRange, scalars: Scalars, count: number, run: Run): Promise<void> {
    if (count === 0) return
    const gpu = this.#gpu
    const { group, window, windows } = this.#plan
    await gpu.prepare(multiexpKernels(group))
    const { bindingBytes } = gpu
    const { memoryBytes } = this.#options
    const plan = planMultiexp({ group, count, bindingBytes, memoryBytes }, { ...this.#options, window })
    const size = workBuffers(this.#plan).sums
    this.#sums ??= await this.#set.allocate(2 * size, 'carried bucket sums')
    const carried = this.#sums
    const buckets = windows * bucketsOfWindow(window)
    const set = new BufferSet(gpu)
    try {
      const adding = this.#begun ? buckets * ADDITION_COST[group] : 0
      const stream = new UnitStream(gpu, 'multiexp', run, mostTileWork(plan, ADDITION_COST[group]) + adding)
      const sums = { buffer: carried, offset: this.#begun ? size : 0, size }
      const { adder, pairSums } = await recordTile(gpu, set, stream, plan, { points, scalars, sums }, adding)
      if (this.#begun) {
        // Only a range much shorter than was told has fewer pairs than buckets.
        const added = pairSums.size >= size ? pairSums : await set.allocate(size, 'added bucket sums')
        const round = { points: carried, source: { kind: 'halves', half: buckets }, sums: added } as const
        await adder.recordRound(stream, round, buckets)
        stream.commands.copy(added, 0, carried, 0, size)
      }
      this.#begun = true
      await stream.finish()
    } finally {
      set.release()
    }
  }

  /** The sum over all ranges added, uncompressed big-endian. It begins anew then. */
  async finish(run: Run): Promise<Uint8Array> {
    const gpu = this.#gpu
    const plan = this.#plan
    if (this.#sums === undefined || !this.#begun) return addSums(plan.group, [])
    this.#begun = false
    const set = new BufferSet(gpu)
    try {
      const adder = set.own(await BatchAffine.create(gpu, plan.group, plan.slicePairs))
      const other = await set.allocate(workBuffers(plan).pairSums, 'reduced buckets')
      const stream = new UnitStream(gpu, 'multiexp', run, reductionWork(plan))
      const [sum] = await finishSum(gpu, set, stream, plan, adder, this.#sums, other)
      return sum as Uint8Array
    } finally {
      set.release()
    }
  }

  /** Frees what is carried. Idempotent. */
  release(): void {
    this.#set.release()
    this.#sums = undefined
  }
}
