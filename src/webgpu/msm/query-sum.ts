/**
 * Σ s_i P_i over the ranges of a query whose scalars are mostly bits, one range after the other.
 *
 * Nothing is done for a scalar 0. Points whose scalar is 1 are summed by a tree of pairs, range by range, down to a
 * few. These, and the terms with wide scalars, one or two in a hundred, are gathered over all ranges and summed by
 * buckets once: a sum of 2^18 terms has the latency of all its rounds, 12 ms on a large card, and one of 2^21 takes
 * only twice that.
 *
 * A range with more wide scalars than an eighth is summed by buckets as it is: there the tree would save little.
 */
import type { Run } from '../../groth16/proving-device.ts'
import { portion } from '../../groth16/run-portion.ts'
import { ROUNDED } from '../allocation.ts'
import { BufferSet } from '../buffer-set.ts'
import type { BufferRange } from '../commands.ts'
import { BatchAffine, batchAffineBytes, type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import { ELEMENT_BYTES } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { UnitStream } from '../unit-stream.ts'
import { recordTree, treeBuffers, treeSlice, treeWork } from './bit-sum.ts'
import { addSums } from './combine.ts'
import { type MultiexpOptions, maxPoints, multiexp, multiexpKernels } from './multiexp.ts'
import { mostPoints, multiexpBytes, type PlanInput, planMultiexp } from './plan.ts'
import type { Scalars } from './sort-entries.ts'
import { type NumberList, SPLIT_KERNEL, splitBytes, splitScalars } from './split-scalars.ts'

const gatherKernel: Kernel = {
  name: 'gather terms',
  fields: [],
  parts: ['invocation.wgsl', 'msm/gather-terms.wgsl'],
  entry: 'gather_terms',
  bindings: ['read', 'read', 'read', 'read_write', 'read_write', 'uniform'],
}

/** Everything that such a sum dispatches. */
export const querySumKernels = (group: Group): readonly Kernel[] => [
  SPLIT_KERNEL,
  gatherKernel,
  ...multiexpKernels(group),
]

/** Largest share of wide scalars with which a range is taken apart. */
const WIDE_SHARE = 1 / 8
/** Whether the scalars of a circuit's assignment are worth being taken apart. */
export const mostlyBits = ({ bits, aux }: { readonly bits: number; readonly aux: number }): boolean =>
  aux > 0 && bits >= (1 - WIDE_SHARE) * aux

/** Sums that a tree leaves: the last rounds would have more latency than additions. */
const TREE_LEAVES = 2 ** 13
/** Share of a range's work that is looking at its scalars, for progress. */
const SPLIT_SHARE = 0.05

/** As for any sum, and overrides for tests. */
export interface QuerySumOptions extends MultiexpOptions {
  /** Terms that are gathered before they are summed. @default an eighth of the first range, and what two trees leave */
  readonly mostTerms?: number | undefined
  /** Sums that the tree of a range may leave. */
  readonly treeLeaves?: number | undefined
}

/** Terms to be summed by buckets. */
interface Terms {
  readonly points: GPUBuffer
  readonly scalars: GPUBuffer
  readonly most: number
  count: number
}

const defaultTerms = (count: number): number => Math.ceil(count * WIDE_SHARE) + 2 * TREE_LEAVES

/** Device memory of so many gathered terms, rounding of allocations included. */
const termsBytes = (group: Group, terms: number): number =>
  Math.ceil(ROUNDED * terms * (POINT_BYTES[group] + ELEMENT_BYTES))

/**
 * Device memory that the sum of a query takes at most beside its points and scalars, with ranges of up to `count`
 * points: gathered terms, which stay from range to range, and work buffers, for lists and trees or for buckets, which
 * are never there at once. `memoryBytes` of the options limits both together.
 */
export function querySumBytes(input: PlanInput): number {
  const { group, count, bindingBytes, memoryBytes = Number.POSITIVE_INFINITY } = input
  const terms = termsBytes(group, defaultTerms(count))
  const work = memoryBytes - terms
  const tree = treeBuffers(group, count).reduce((sum, bytes) => sum + bytes, 0)
  const range = splitBytes(count) + tree + batchAffineBytes(group, treeSlice(group, count, work))
  const most = Math.max(count, Math.min(defaultTerms(count), mostPoints(group, bindingBytes)))
  return terms + Math.max(ROUNDED * range, multiexpBytes(planMultiexp({ ...input, count: most, memoryBytes: work })))
}

/** The sum of one query, range by range. */
export class QuerySum {
  readonly group: Group
  readonly #gpu: Gpu
  readonly #options: QuerySumOptions
  readonly #set: BufferSet
  readonly #sums: Uint8Array[] = []
  #terms: Terms | undefined

  constructor(gpu: Gpu, group: Group, options: QuerySumOptions = {}) {
    this.group = group
    this.#gpu = gpu
    this.#options = options
    this.#set = new BufferSet(gpu)
  }

  /**
   * Adds a range.
   * @param points packed points
   * @param scalars 32 bytes little-endian each, canonical; those from `scalars.first` on belong to the points
   */
  async add(points: BufferRange, scalars: Scalars, count: number, run: Run): Promise<void> {
    if (count === 0) return
    await this.#gpu.prepare(querySumKernels(this.group))
    const terms = await this.#gathered(count)
    const leaves = this.#options.treeLeaves ?? TREE_LEAVES
    const set = new BufferSet(this.#gpu)
    try {
      const { ones, wides } = await splitScalars(this.#gpu, set, scalars, count, portion(run, 0, SPLIT_SHARE))
      const rest = portion(run, SPLIT_SHARE, 1)
      const more = wides.count + Math.min(ones.count, leaves)
      if (more > terms.most) {
        set.release()
        this.#sums.push(await this.#byBuckets(points, scalars, count, rest))
        return
      }
      if (terms.count + more > terms.most) await this.#flush(terms, portion(rest, 0, 0))
      await this.#take(set, terms, points, scalars, { ones, wides, leaves }, rest)
    } finally {
      set.release()
    }
  }

  /** Gathers wide terms, and what the tree of the ones leaves. */
  async #take(
    set: BufferSet,
    terms: Terms,
    points: BufferRange,
    scalars: Scalars,
    { ones, wides, leaves }: { readonly ones: NumberList; readonly wides: NumberList; readonly leaves: number },
    run: Run,
  ): Promise<void> {
    const gpu = this.#gpu
    const stream = new UnitStream(gpu, 'bit sums', run, treeWork(this.group, ones.count) + wides.count)
    this.#recordGather(stream, wides, points, scalars, terms)
    if (ones.count <= leaves) this.#recordGather(stream, ones, points, scalars, terms)
    else {
      const slice = this.#options.slicePairs ?? treeSlice(this.group, ones.count, this.#workBytes(terms))
      const adder = set.own(await BatchAffine.create(gpu, this.group, slice))
      const [first, second] = treeBuffers(this.group, ones.count)
      const buffers = [await set.allocate(first, 'sums of ones'), await set.allocate(second, 'sums of ones')] as const
      const left = await recordTree(stream, adder, points, ones, buffers, leaves)
      const pointBytes = POINT_BYTES[this.group]
      stream.commands.copy(left.buffer, 0, terms.points, terms.count * pointBytes, left.count * pointBytes)
      // Scalars 1. Nothing in flight uses that range.
      const scalarsOne = new Uint8Array(left.count * ELEMENT_BYTES)
      for (let at = 0; at < scalarsOne.length; at += ELEMENT_BYTES) scalarsOne[at] = 1
      await gpu.upload(terms.scalars, terms.count * ELEMENT_BYTES, scalarsOne)
      terms.count += left.count
    }
    await stream.finish()
  }

  #recordGather(
    stream: UnitStream,
    { numbers, count }: NumberList,
    points: BufferRange,
    scalars: Scalars,
    terms: Terms,
  ): void {
    const vectors = POINT_BYTES[this.group] / 16
    stream.commands.dispatch(gatherKernel, {
      buffers: [numbers, points, scalars.buffer, terms.points, terms.scalars],
      params: [count, scalars.first, terms.count, vectors],
      workgroups: Math.ceil((count * (vectors + 2)) / 64),
    })
    terms.count += count
  }

  /** Sums what was gathered. */
  async #flush(terms: Terms, run: Run): Promise<void> {
    const { points, scalars, count } = terms
    terms.count = 0
    if (count > 0) this.#sums.push(await this.#byBuckets(points, { buffer: scalars, first: 0 }, count, run))
  }

  #byBuckets(points: BufferRange, { buffer, first }: Scalars, count: number, run: Run): Promise<Uint8Array> {
    const memoryBytes = this.#terms === undefined ? this.#options.memoryBytes : this.#workBytes(this.#terms)
    return multiexp(this.#gpu, this.group, points, buffer, first, count, run, { ...this.#options, memoryBytes })
  }

  /** What the gathered terms leave of the memory allowed. */
  #workBytes({ most }: Terms): number {
    return (this.#options.memoryBytes ?? Number.POSITIVE_INFINITY) - termsBytes(this.group, most)
  }

  async #gathered(count: number): Promise<Terms> {
    if (this.#terms === undefined) {
      const most = this.#options.mostTerms ?? Math.min(maxPoints(this.#gpu, this.group), defaultTerms(count))
      const points = await this.#set.allocate(most * POINT_BYTES[this.group], 'gathered points')
      const scalars = await this.#set.allocate(most * ELEMENT_BYTES, 'gathered scalars')
      this.#terms = { points, scalars, most, count: 0 }
    }
    return this.#terms
  }

  /** The sum over all ranges added, uncompressed big-endian. It begins anew then. */
  async finish(run: Run): Promise<Uint8Array> {
    if (this.#terms !== undefined) await this.#flush(this.#terms, run)
    return addSums(this.group, this.#sums.splice(0))
  }

  /** Frees what was gathered. Idempotent. */
  release(): void {
    this.#set.release()
    this.#terms = undefined
  }
}
