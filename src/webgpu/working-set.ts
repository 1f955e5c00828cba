/**
 * What a GPU allocates for a circuit, counted before it does: the working set of a partition, how long the ranges of
 * points are that it takes at once, and which queries' points it has room to keep.
 *
 * A porep-32g partition (z, a, b and c are 4 GiB each) takes 12.0 GiB up to its quotient and 8.0 GiB and its sums
 * afterwards; its points another 44 GiB where they are kept. With 16 GiB they are streamed, in ranges whose sums fit
 * what is left.
 */
import type { CircuitShape } from '../circuit/shape.ts'
import { shapeImageBytes } from '../cpu/working-set.ts'
import type { MemoryPlan } from '../groth16/proving-device.ts'
import { paramsLayout, QUERIES, QUERY_GROUP, type Query } from '../params/layout.ts'
import { allocationBytes } from './allocation.ts'
import { domainBytes, type PartitionSize, partitionBytes } from './assignment/assignment-bytes.ts'
import { type Group, POINT_BYTES } from './curve/batch-affine.ts'
import { importBytes } from './curve/import-points.ts'
import { ELEMENT_BYTES } from './elements.ts'
import { type JointPlan, jointBytes, jointPlan } from './joint-queries.ts'
import { carriedSumBytes } from './msm/carried-sum.ts'
import { mostPoints, type PlanInput } from './msm/plan.ts'
import { mostlyBits, querySumBytes } from './msm/query-sum.ts'
import { mostStagingBuffers, STAGING_BUFFERS, STAGING_BYTES } from './staging-plan.ts'

/** What the memory of a circuit follows from. */
export type GpuCircuit = PartitionSize & Pick<CircuitShape, 'density'>

/** The memory that a plan is for. */
export interface GpuMemory {
  /** Device memory that may be allocated; absent where that is not known. */
  readonly memoryBytes?: number | undefined
  /** Largest range of a buffer that a kernel may be given. */
  readonly bindingBytes: number
}

/** A plan with what only the device itself needs of it. */
export interface GpuPlan extends MemoryPlan {
  /**
   * What is counted for a partition has room for z beside the quotient: its sums take as much, where there is memory
   * for them.
   */
  readonly keepsValues: boolean
  /** For the work buffers of a sum, where there is a limit. */
  readonly sumBytes: Readonly<Record<Group, number | undefined>>
  /** For the sums of all queries at once, where they are made so. */
  readonly joint?: JointPlan | undefined
}

/** Fewer would make sums of hardly more than their rounds' latency. */
const LEAST_RANGE = 2 ** 12

/** Points that are not kept: of the range that is summed, and of the next one. */
const RANGES_HELD = 2

/** What a plan of a sum needs to be found, of the least that any takes: it leaves a tenth for slices. */
const PLANNED = 1.25

/** The ring of staging buffers, buffers of parameters and for reading back. */
const fixedBytes = (buffers: number = STAGING_BUFFERS): number => buffers * STAGING_BYTES + 8 * 2 ** 20

/** Of the memory beyond the least that a circuit takes, what staging may get. */
const STAGING_SHARE = 1 / 16

/**
 * Points are kept as if there were so much memory where it is not known: that of the smallest cards that are worth
 * having.
 */
const ASSUMED_MEMORY_BYTES: number = 4 * 2 ** 30

/**
 * Left for a partition that is urgent while another is worked on, where it does not keep the other from fitting at all.
 */
const HEADROOM = 1 / 8

/**
 * With so much the sums of a WinningPoSt of 32 GiB sectors go in six runs of windows instead of one: some dozens of
 * rounds more, a fifth of a millisecond each. With what else it takes (0.3 GiB) it is an eighth of 12.4 GiB, and in
 * less than that no circuit of 2^27 rows fits at all.
 */
const LEAST_JOINT_BYTES: number = 1.25 * 2 ** 30

/** Points that a device takes at once where its memory is no concern. */
export const rangePoints = (group: Group, bindingBytes: number): number => mostPoints(group, bindingBytes)

/** Work buffers of the sums of a circuit, in ranges of so many points. */
const sumWorkBytes = (circuit: GpuCircuit, input: PlanInput): number =>
  mostlyBits(circuit) ? querySumBytes(input) : carriedSumBytes(input)

/**
 * Templates, instances and densities of at most 2 bytes an aux variable, tables of the domain. A test compares it with
 * real shapes.
 */
const shapeBytes = (circuit: GpuCircuit): number =>
  shapeImageBytes(circuit) + 2 * circuit.aux + domainBytes(circuit.log2Domain)

/** Least device memory that a partition of a circuit can be proved with, points streamed. */
export function leastGpuBytes(circuit: GpuCircuit, bindingBytes: number): number {
  const { assign, quotient, sums } = partitionBytes(circuit, bindingBytes)
  const ranges = (['g1', 'g2'] as const).map((group) => {
    const count = LEAST_RANGE
    const work = sumWorkBytes(circuit, { group, count, bindingBytes, memoryBytes: 1 })
    return rangeBytes(group, count, RANGES_HELD) + Math.ceil(PLANNED * work)
  })
  return fixedBytes() + shapeBytes(circuit) + Math.max(assign, quotient, sums + Math.max(...ranges))
}

/** Where there is less than {@link leastGpuBytes} the plan is for that. */
export function planGpu(circuit: GpuCircuit, { memoryBytes, bindingBytes }: GpuMemory): GpuPlan {
  if (memoryBytes === undefined || memoryBytes === Number.POSITIVE_INFINITY) return unlimited(circuit, bindingBytes)
  const least = leastGpuBytes(circuit, bindingBytes)
  return limited(circuit, bindingBytes, Math.max(least, Math.floor(memoryBytes * (1 - HEADROOM))))
}

function unlimited(circuit: GpuCircuit, bindingBytes: number): GpuPlan {
  const ranges = { g1: rangePoints('g1', bindingBytes), g2: rangePoints('g2', bindingBytes) }
  const kept = keptBytes(circuit, ranges)
  const keep = totalOf(kept) <= ASSUMED_MEMORY_BYTES / 4 ? QUERIES : []
  const sums = { ranges, bytes: { g1: undefined, g2: undefined } }
  return plan(circuit, bindingBytes, sums, keep, ASSUMED_MEMORY_BYTES)
}

/**
 * Points are kept if all fit beside a working set that does not slow the sums down; else what is left keeps some of
 * them.
 */
function limited(circuit: GpuCircuit, bindingBytes: number, memoryBytes: number): GpuPlan {
  const { sums } = partitionBytes(circuit, bindingBytes)
  const room = memoryBytes - fixedBytes() - shapeBytes(circuit)
  const longest = { g1: rangePoints('g1', bindingBytes), g2: rangePoints('g2', bindingBytes) }
  const all = totalOf(keptBytes(circuit, longest))
  const most = room - sums - all
  const together = jointRoom(memoryBytes, memoryBytes - most)
  const isJoint = jointPlan(circuit, bindingBytes, together) !== undefined
  const beside = sumsIn(circuit, bindingBytes, isJoint ? together : most, 0)
  if (beside !== undefined && sameRanges(beside.ranges, longest)) {
    const kept = plan(circuit, bindingBytes, beside, QUERIES, memoryBytes)
    if (kept.shapeBytes + kept.workingBytes + totalOf(kept.kept) <= memoryBytes) return kept
  }
  const buffers = stagingBuffers(circuit, memoryBytes - leastGpuBytes(circuit, bindingBytes))
  const roomBeside = room - (buffers - STAGING_BUFFERS) * STAGING_BYTES
  const streamed = sumsIn(circuit, bindingBytes, roomBeside - sums, RANGES_HELD) as SumsPlan
  const none = plan(circuit, bindingBytes, streamed, [], memoryBytes, buffers)
  let left = memoryBytes - none.shapeBytes - none.workingBytes
  const kept = keptBytes(circuit, streamed.ranges)
  const keep = [...QUERIES]
    .sort((a, b) => kept[b] - kept[a])
    .filter((query) => {
      if (kept[query] > left) return false
      left -= kept[query]
      return true
    })
  return plan(circuit, bindingBytes, streamed, keep, memoryBytes, buffers)
}

/** Staging buffers that points are streamed through in every pass. */
function stagingBuffers(circuit: GpuCircuit, spareBytes: number): number {
  const fit = STAGING_BUFFERS + Math.floor((STAGING_SHARE * spareBytes) / STAGING_BYTES)
  return Math.min(fit, mostStagingBuffers(circuit))
}

interface SumsPlan {
  readonly ranges: Readonly<Record<Group, number>>
  /** Where there is a limit. */
  readonly bytes: GpuPlan['sumBytes']
}

/**
 * The longest ranges whose sums have half of the memory that is of use to them, or else that fit at all.
 * @param held ranges of points in memory at once
 */
function sumsIn(circuit: GpuCircuit, bindingBytes: number, room: number, held: number): SumsPlan | undefined {
  const { queries } = paramsLayout(circuit)
  const of = (group: Group): { range: number; bytes: number } | undefined => {
    const points = QUERIES.filter((query) => QUERY_GROUP[query] === group).map((query) => queries[query].points)
    let fallback: { range: number; bytes: number } | undefined
    for (let range = rangePoints(group, bindingBytes); range >= LEAST_RANGE; range /= 2) {
      const count = Math.min(range, Math.max(...points))
      const memoryBytes = room - rangeBytes(group, count, held)
      if (memoryBytes <= 0) continue
      const useful = sumWorkBytes(circuit, { group, count, bindingBytes })
      const fitted = sumWorkBytes(circuit, { group, count, bindingBytes, memoryBytes })
      if (fitted > memoryBytes) continue
      const bytes = Math.min(memoryBytes, useful)
      if (bytes >= useful / 2) return { range, bytes }
      fallback ??= { range, bytes }
    }
    return fallback
  }
  const [g1, g2] = [of('g1'), of('g2')]
  if (g1 === undefined || g2 === undefined) return undefined
  return { ranges: { g1: g1.range, g2: g2.range }, bytes: { g1: g1.bytes, g2: g2.bytes } }
}

function plan(
  circuit: GpuCircuit,
  bindingBytes: number,
  { ranges, bytes: sumBytes }: SumsPlan,
  keep: readonly Query[],
  memoryBytes: number,
  buffers: number = STAGING_BUFFERS,
): GpuPlan {
  const { assign, quotient, quotientWithValues, sums } = partitionBytes(circuit, bindingBytes)
  const { queries } = paramsLayout(circuit)
  const keepsAll = keep.length === QUERIES.length
  const held = keepsAll ? 0 : RANGES_HELD
  const ofSums = QUERIES.map((query) => {
    const group = QUERY_GROUP[query]
    const count = Math.min(queries[query].points, ranges[group])
    const work = sumBytes[group] ?? sumWorkBytes(circuit, { group, count, bindingBytes })
    return rangeBytes(group, count, held) + work
  })
  const pointsBytes = (query: Query): number => {
    const group = QUERY_GROUP[query]
    return allocationBytes(Math.min(queries[query].points, ranges[group]) * POINT_BYTES[group])
  }
  const kept = keptBytes(circuit, ranges)
  const shape = shapeBytes(circuit)
  const beside = fixedBytes(buffers) + shape + sums + totalOf(kept)
  const joint = keepsAll ? jointPlan(circuit, bindingBytes, jointRoom(memoryBytes, beside)) : undefined
  if (joint !== undefined) ofSums.push(jointBytes(circuit, joint))
  return {
    shapeBytes: shape,
    workingBytes: fixedBytes(buffers) + Math.max(assign, quotient, sums + Math.max(...ofSums)),
    passingBytes: keepsAll ? RANGES_HELD * Math.max(...QUERIES.map((query) => pointsBytes(query))) : 0,
    keepsValues: sumBytes.g1 !== undefined && sums + Math.max(...ofSums) >= quotientWithValues,
    rangePoints: ranges,
    partsAtOnce: buffers,
    sumBytes,
    joint,
    kept: Object.fromEntries(keep.map((query) => [query, kept[query]])),
  }
}

/**
 * What all sums at once may take: what plans leave free, so that they wait for no other partition, and one that is
 * preloaded keeps nobody out. On a card where that is too little nothing fits that would have to be waited for long.
 * @param beside what the circuit takes but for these sums
 */
function jointRoom(memoryBytes: number, beside: number): number {
  const free = (HEADROOM / (1 - HEADROOM)) * memoryBytes - beside
  return free >= LEAST_JOINT_BYTES ? free : memoryBytes - beside
}

/** Of a sum but for its work buffers: the points of the range and of the next one, an import, the scalars. */
const rangeBytes = (group: Group, count: number, held: number): number =>
  held * allocationBytes(count * POINT_BYTES[group]) +
  allocationBytes(importBytes(group, count)) +
  allocationBytes(count * ELEMENT_BYTES)

/** Points as they are allocated, in ranges of equal length. */
function keptBytes(circuit: GpuCircuit, ranges: Readonly<Record<Group, number>>): Record<Query, number> {
  const { queries } = paramsLayout(circuit)
  const bytes = (query: Query): number => {
    const group = QUERY_GROUP[query]
    const { points } = queries[query]
    const count = Math.ceil(points / ranges[group])
    return count * allocationBytes(Math.ceil(points / count) * POINT_BYTES[group])
  }
  return Object.fromEntries(QUERIES.map((query) => [query, bytes(query)])) as Record<Query, number>
}

/** Bytes of all queries together. */
export const totalOf = (bytes: Readonly<Partial<Record<Query, number>>>): number =>
  QUERIES.reduce((sum, query) => sum + (bytes[query] ?? 0), 0)

const sameRanges = (a: Readonly<Record<Group, number>>, b: Readonly<Record<Group, number>>): boolean =>
  a.g1 === b.g1 && a.g2 === b.g2
