/** One unit of a multiexp: a range of buckets of one window, on one thread. */
import type { ThreadContext } from '../thread-context.ts'
import { REDUCTION_ACCUMULATORS, reduceBuckets, reductionPoints, TOTAL, WEIGHTED } from './bucket-reduction.ts'
import { DIGIT_BYTES, sortWindow } from './digits.ts'
import type { Group, GroupKernels } from './group-kernels.ts'
import { groupKernels } from './group-kernels.ts'
import { sumGroups } from './group-sums.ts'
import { PairAdder, pairAdderBytes } from './pair-adder.ts'
import { accumulatorBytes, encodePoint, ProjectiveAccumulators } from './projective.ts'

export interface WindowArgs {
  readonly group: Group
  readonly points: number
  /** Address of the digits as `signedDigits` writes them, with a stride of `count`. */
  readonly digits: number
  readonly count: number
  readonly window: number
  /** The unit takes the digits of magnitude `low` + 1 to `low` + `buckets`. */
  readonly low: number
  readonly buckets: number
}

/** Buckets of a unit: their sums, the room to reduce them and the slots must fit a thread's scratch. */
export const MAX_UNIT_BUCKETS: Readonly<Record<Group, number>> = { g1: 2 ** 14, g2: 2 ** 13 }

const LIFTED = REDUCTION_ACCUMULATORS
const ACCUMULATORS = REDUCTION_ACCUMULATORS + 1

/** @returns Σ d_i · P_i over the points whose digit d_i is in the unit's range, encoded (see `encodePoint`) */
export function sumWindow(context: ThreadContext, args: WindowArgs): Uint8Array {
  const kernels = groupKernels(context, args.group)
  const { memory } = context
  const { window, low, buckets, count } = args
  const digits = new Int16Array(memory.buffer, args.digits + window * count * DIGIT_BYTES, count)
  const sorted = sortWindow(context, digits, low, buckets, args.points, kernels.pointBytes)
  const layout = scratchLayout(context, kernels, buckets)
  const accumulators = new ProjectiveAccumulators(context, kernels, layout.accumulators, ACCUMULATORS)
  if ((sorted.starts[buckets] as number) > 0) {
    const adder = new PairAdder(context, kernels)
    const sums = new Uint32Array(buckets)
    const result = (bucket: number): number => layout.results + bucket * kernels.pointBytes
    sumGroups(adder, sorted.references, sorted.starts, buckets, layout.slots, result, sums)
    reduceBuckets(adder, accumulators, sums, layout.room, kernels.pointBytes)
    // Bucket k of the range has the weight low + k.
    if (low > 0) {
      accumulators.multiply(LIFTED, TOTAL, low)
      accumulators.add(WEIGHTED, LIFTED)
    }
  }
  accumulators.store(WEIGHTED, layout.results)
  return encodePoint(context, kernels, layout.results, layout.room)
}

interface ScratchLayout {
  readonly accumulators: number
  /** One point a bucket. */
  readonly results: number
  /** For `reduceBuckets`; one point at least. */
  readonly room: number
  readonly slots: { readonly address: number; readonly capacity: number; readonly pointBytes: number }
}

function scratchLayout(context: ThreadContext, kernels: GroupKernels, buckets: number): ScratchLayout {
  const { pointBytes } = kernels
  const accumulators = context.scratch + pairAdderBytes(kernels)
  const results = accumulators + accumulatorBytes(kernels, ACCUMULATORS)
  const room = results + buckets * pointBytes
  // The room is free until the buckets are summed, but the slots are worth their own place: they stay in cache.
  const address = room + (reductionPoints(buckets) + 1) * pointBytes
  const capacity = Math.floor((context.scratch + context.scratchBytes - address) / pointBytes)
  if (capacity < 1024) {
    throw new Error(
      `${context.scratchBytes} bytes of scratch do not suffice for ${buckets} buckets of ${kernels.group}`,
    )
  }
  return { accumulators, results, room, slots: { address, capacity, pointBytes } }
}
