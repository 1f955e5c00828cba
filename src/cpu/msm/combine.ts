/** The last step of a multiexp: Σ_w 2^(c w) · (sum of window w), by Horner's rule. */
import type { ThreadContext } from '../thread-context.ts'
import type { Group } from './group-kernels.ts'
import { groupKernels } from './group-kernels.ts'
import { pairAdderBytes } from './pair-adder.ts'
import { accumulatorBytes, decodePoint, encodePoint, ProjectiveAccumulators } from './projective.ts'

export interface CombineArgs {
  readonly group: Group
  readonly windowBits: number
  /** Encoded sums of the units of each window, window 0 first. */
  readonly windows: readonly (readonly Uint8Array[])[]
}

/** @returns the encoded sum */
export function combineWindows(context: ThreadContext, { group, windowBits, windows }: CombineArgs): Uint8Array {
  const kernels = groupKernels(context, group)
  const block = context.scratch + pairAdderBytes(kernels)
  const accumulators = new ProjectiveAccumulators(context, kernels, block, 1)
  const point = block + accumulatorBytes(kernels, 1)
  const room = point + kernels.pointBytes
  for (const units of [...windows].reverse()) {
    for (let bit = 0; bit < windowBits; bit++) accumulators.add(0, 0)
    for (const unit of units) accumulators.addPoint(0, decodePoint(context, kernels, unit, point, room))
  }
  accumulators.store(0, point)
  return encodePoint(context, kernels, point, room)
}
