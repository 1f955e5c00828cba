/**
 * The table of a fixed base B: for each window w of c bits the multiples d · 2^(c w) · B, d = 1 … 2^(c−1), so that a
 * multiple of B is a sum of one entry (or its negative) a window.
 *
 * The entries with d a power of two are doublings of B, one after the other. The others follow level by level, T[2^j +
 * i] = T[2^j] + T[i] for 0 < i < 2^j: independent additions, of points that differ.
 */
import { windowCount } from '../msm/digits.ts'
import type { Group } from '../msm/group-kernels.ts'
import { groupKernels, POINT_BYTES } from '../msm/group-kernels.ts'
import { PairAdder, pairAdderBytes } from '../msm/pair-adder.ts'
import { accumulatorBytes, decodePoint, ProjectiveAccumulators } from '../msm/projective.ts'
import type { ThreadContext } from '../thread-context.ts'

export interface FixedBaseTable {
  readonly group: Group
  readonly windowBits: number
  readonly address: number
}

/** Entries of one window. */
export function windowEntries(windowBits: number): number {
  return 2 ** (windowBits - 1)
}

export function tableBytes(group: Group, windowBits: number): number {
  return windowCount(windowBits) * windowEntries(windowBits) * POINT_BYTES[group]
}

export interface DoublingsArgs {
  readonly table: FixedBaseTable
  /** Uncompressed big-endian, not infinity. */
  readonly base: Uint8Array
}

/**
 * Writes the entries 2^j · 2^(c w) · B.
 * @throws {Error} if the base is not on the curve
 */
export function fillDoublings(context: ThreadContext, { table, base }: DoublingsArgs): void {
  const kernels = groupKernels(context, table.group)
  const block = context.scratch + pairAdderBytes(kernels)
  const accumulators = new ProjectiveAccumulators(context, kernels, block, 1)
  const point = block + accumulatorBytes(kernels, 1)
  accumulators.addPoint(0, decodePoint(context, kernels, base, point, point + kernels.pointBytes))
  for (let w = 0; w < windowCount(table.windowBits); w++) {
    for (let j = 0; j < table.windowBits; j++) {
      accumulators.store(0, entryAddress(table, w, 2 ** j))
      accumulators.add(0, 0)
    }
  }
}

export interface FillArgs {
  readonly table: FixedBaseTable
  readonly firstWindow: number
  readonly windows: number
}

/** Completes some windows of a table whose doublings are there. */
export function fillWindows(context: ThreadContext, { table, firstWindow, windows }: FillArgs): void {
  const adder = new PairAdder(context, groupKernels(context, table.group))
  for (let power = 2; power < windowEntries(table.windowBits); power *= 2) {
    for (let w = firstWindow; w < firstWindow + windows; w++) {
      for (let i = 1; i < power; i++) {
        adder.add(entryAddress(table, w, power), entryAddress(table, w, i), entryAddress(table, w, power + i))
      }
    }
    adder.flush()
  }
  // A base outside the subgroup of order r could have a small order, and sums that meet.
  if (adder.hasInfinities) throw new Error('The base of a table of multiples has a small order')
}

/** Address of d · 2^(c w) · B. */
export function entryAddress({ group, windowBits, address }: FixedBaseTable, w: number, d: number): number {
  return address + (w * windowEntries(windowBits) + d - 1) * POINT_BYTES[group]
}
