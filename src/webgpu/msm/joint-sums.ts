/**
 * Several sums at once, each over one query or more, for circuits so small that the latency of rounds rules their sums:
 * points and scalars are copied one behind the other, the buckets of all queries lie side by side, and rounds,
 * inversions, reduction and waits are shared.
 *
 * A 32 GiB WinningPoSt has four sums in G1 of 0.27 to 0.52 million points. Each alone is 20 rounds of which 15 are
 * small, and waits twice for the host.
 */
import type { Run } from '../../groth16/proving-device.ts'
import { allocationBytes } from '../allocation.ts'
import { BufferSet } from '../buffer-set.ts'
import { type Group, POINT_BYTES } from '../curve/batch-affine.ts'
import { ELEMENT_BYTES } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import { type SumOrder, sumTile } from './multiexp.ts'
import {
  type MultiexpPlan,
  mostPoints,
  multiexpBytes,
  type PlanInput,
  type PlanOptions,
  planMultiexp,
  windowBits,
} from './plan.ts'
import type { Scalars } from './sort-entries.ts'

/** Points of sums that are made at once: past it additions rule, and ranges are kept short for their gathers. */
const MOST_POINTS = 2 ** 22

/** The terms of one query. */
export interface QueryTerms {
  readonly points: GPUBuffer
  readonly scalars: Scalars
  readonly count: number
}

/**
 * What joint sums of so many points each are planned with; undefined where they are better summed one after the other.
 */
export function jointInput(
  input: Omit<PlanInput, 'count'> & { readonly parts: readonly number[] },
): PlanInput | undefined {
  const { group, parts, bindingBytes } = input
  const joint = { ...input, count: parts.reduce((sum, points) => sum + points, 0) }
  if (joint.count > Math.min(MOST_POINTS, mostPoints(group, bindingBytes))) return undefined
  return windowBits(joint) === undefined ? undefined : joint
}

/** Points and scalars side by side. */
const copiesBytes = ({ group, count, parts = [count] }: PlanInput): number =>
  parts.length === 1 ? 0 : allocationBytes(count * POINT_BYTES[group]) + allocationBytes(count * ELEMENT_BYTES)

/** The memory allowed is for copies, too. */
function jointSumsPlan(input: PlanInput, options: PlanOptions = {}): MultiexpPlan {
  const { memoryBytes = Number.POSITIVE_INFINITY } = input
  return planMultiexp({ ...input, memoryBytes: memoryBytes - copiesBytes(input) }, options)
}

/**
 * Device memory that joint sums take at most beside points and scalars of the queries, rounding of allocations
 * included.
 */
export const jointSumsBytes = (input: PlanInput): number => multiexpBytes(jointSumsPlan(input)) + copiesBytes(input)

/**
 * Where another window than the one that was counted suits the adapter it gets no more memory than was counted, which
 * may be less than is allowed.
 */
function tunedPlan(input: PlanInput, bucketCost: number, options: PlanOptions): MultiexpPlan {
  const counted = jointSumsPlan(input, options)
  const tuned = jointSumsPlan({ ...input, memoryBytes: jointSumsBytes(input), bucketCost }, options)
  return tuned.window === counted.window ? counted : tuned
}

/**
 * @param input of {@link jointInput}, for the sums in their order
 * @param sums the queries that each is over
 * @returns the sums, uncompressed big-endian
 * @throws {RangeError} it is for other numbers of points
 */
export async function jointSums(
  gpu: Gpu,
  input: PlanInput,
  sums: readonly (readonly QueryTerms[])[],
  run: Run,
  options: PlanOptions & SumOrder = {},
): Promise<Uint8Array[]> {
  const { group, count, parts = [count] } = input
  const counts = sums.map((queries) => queries.reduce((total, query) => total + query.count, 0))
  if (parts.length !== counts.length || parts.some((points, k) => points !== counts[k]))
    throw new RangeError(`Sums of ${parts} points were planned, not of ${counts}.`)
  const queries = sums.flat()
  const plan = tunedPlan(input, gpu.tuning.bucketCost, options)
  const [only, ...others] = queries
  if (only !== undefined && others.length === 0)
    return await sumTile(gpu, plan, only.points, only.scalars, run, options)
  const set = new BufferSet(gpu)
  try {
    const points = await set.allocate(count * POINT_BYTES[group], 'points of all queries')
    const scalars = await set.allocate(count * ELEMENT_BYTES, 'scalars of all queries')
    const copied = copyTerms(gpu, group, queries, points, scalars)
    const work = [sumTile(gpu, plan, points, { buffer: scalars, first: 0 }, run, options), copied] as const
    // Both have stopped before what they use is released.
    await Promise.allSettled(work)
    return (await Promise.all(work))[0]
  } finally {
    set.release()
  }
}

/** Submitted at once; resolves when it is done. */
function copyTerms(
  gpu: Gpu,
  group: Group,
  queries: readonly QueryTerms[],
  points: GPUBuffer,
  scalars: GPUBuffer,
): Promise<unknown> {
  const commands = gpu.commands('queries side by side')
  let at = 0
  for (const { points: from, scalars: own, count } of queries) {
    commands.copy(from, 0, points, at * POINT_BYTES[group], count * POINT_BYTES[group])
    commands.copy(own.buffer, own.first * ELEMENT_BYTES, scalars, at * ELEMENT_BYTES, count * ELEMENT_BYTES)
    at += count
  }
  const copied = commands.submit()
  // Whoever awaits it hears of it; until then it is not unhandled.
  copied.catch(() => {})
  return copied
}
