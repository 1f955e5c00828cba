/** A unit of multiples of a fixed base: every scalar's table entries are summed as a group, and the sums encoded. */
import { SCALAR_BYTES, signedDigits, windowCount } from '../msm/digits.ts'
import type { GroupKernels } from '../msm/group-kernels.ts'
import { groupKernels } from '../msm/group-kernels.ts'
import { sumGroups } from '../msm/group-sums.ts'
import type { Reference } from '../msm/pair-adder.ts'
import { PairAdder, pairAdderBytes } from '../msm/pair-adder.ts'
import { accumulatorBytes, ProjectiveAccumulators } from '../msm/projective.ts'
import type { ThreadContext } from '../thread-context.ts'
import type { FixedBaseTable } from './table.ts'
import { entryAddress } from './table.ts'

export interface MultiplesArgs {
  readonly table: FixedBaseTable
  /** Addresses: canonical scalars, 32 bytes little-endian each, and room for as many encodings. */
  readonly scalars: number
  readonly out: number
  readonly count: number
}

/**
 * Scalars of a unit: 2^15 additions and more, that is 15 ms in G1 and 40 ms in G2; their sums take 1 MiB of scratch in
 * G2.
 */
export const UNIT_SCALARS = 2048

export function multiplyFixedBase(context: ThreadContext, { table, scalars, out, count }: MultiplesArgs): void {
  const kernels = groupKernels(context, table.group)
  const { references, starts } = tableReferences(context, table, scalars, count)
  const accumulatorAddress = context.scratch + pairAdderBytes(kernels)
  const results = accumulatorAddress + accumulatorBytes(kernels, 1)
  const address = results + count * kernels.pointBytes
  const capacity = Math.floor((context.scratch + context.scratchBytes - address) / kernels.pointBytes)
  const slots = { address, capacity, pointBytes: kernels.pointBytes }
  const sums = new Uint32Array(count)
  const result = (i: number): number => results + i * kernels.pointBytes
  sumGroups(new PairAdder(context, kernels), references, starts, count, slots, result, sums)

  // Sums of one entry may be negated references, and 0 stands for infinity: both are rare.
  const accumulators = new ProjectiveAccumulators(context, kernels, accumulatorAddress, 1)
  sums.forEach((reference, i) => {
    if (reference !== 0 && (reference & 1) === 0) return
    accumulators.clear(0)
    accumulators.addPoint(0, reference)
    accumulators.store(0, result(i))
    sums[i] = result(i)
  })
  encodePoints(kernels, sums, out)
}

/** The table entries of each scalar, in the form `sumGroups` takes. */
function tableReferences(
  context: ThreadContext,
  table: FixedBaseTable,
  scalars: number,
  count: number,
): { readonly references: Uint32Array; readonly starts: Uint32Array } {
  const { windowBits } = table
  const windows = windowCount(windowBits)
  const digits = new Int16Array(windows * count)
  signedDigits(new Uint32Array(context.memory.buffer, scalars, (count * SCALAR_BYTES) / 4), digits, count, windowBits)
  const references = new Uint32Array(count * windows)
  const starts = new Uint32Array(count + 1)
  let used = 0
  for (let i = 0; i < count; i++) {
    for (let w = 0; w < windows; w++) {
      const digit = digits[w * count + i] as number
      if (digit !== 0) references[used++] = entryAddress(table, w, Math.abs(digit)) + (digit < 0 ? 1 : 0)
    }
    starts[i + 1] = used
  }
  return { references, starts }
}

function encodePoints(kernels: GroupKernels, points: Uint32Array, out: number): void {
  const { lanes, encodedBytes, exportPoints } = kernels
  for (let i = 0; i < points.length; i += lanes) {
    const first = points[i] as Reference
    const to = out + i * encodedBytes
    if (lanes === 1) exportPoints(first, to)
    // The last of an odd number is written twice.
    else if (i + 1 === points.length) exportPoints(first, first, to, to)
    else exportPoints(first, points[i + 1] as Reference, to, to + encodedBytes)
  }
}
