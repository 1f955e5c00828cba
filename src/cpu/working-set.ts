/**
 * What the CPU device allocates for a batch of partitions, counted before it does. Each term names the allocation it
 * stands for.
 *
 * A snap-8m circuit (domain 2^24, 10 M aux) thus takes 1.93 GB up to its quotient, of the 4 GiB that 32-bit addresses
 * reach.
 */
import type { CircuitShape } from '../circuit/shape.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../params/layout.ts'
import { SCALAR_BYTES } from './assignment/tasks.ts'
import { stagedPoints } from './device-points.ts'
import { ENCODED_BYTES, type Group, POINT_BYTES } from './msm/group-kernels.ts'
import { digitsBytes } from './msm/multiexp.ts'
import { ARENA_BASE } from './thread-context.ts'
import { SCRATCH_BYTES } from './thread-pool.ts'

/**
 * Points to hold at a time. More make fewer additions of buckets, but are gathered from farther away: measured on a
 * winning-32g proof, 2^17 / 2^18 / 2^19 points of G1 take 3.8 / 3.1 / 3.4 core-seconds for h, and all 272,185 points of
 * G2 at once 4 % less than in three ranges. In memory 32 MiB and 128 MiB.
 */
export const RANGE_POINTS: Readonly<Record<'g1' | 'g2', number>> = { g1: 2 ** 18, g2: 2 ** 19 }

/**
 * Twiddles of both directions and factors of a coset for rows and columns of up to 2^12: at most 6 · 2^12 blocks of 96
 * bytes.
 */
const TABLE_BYTES: number = 6 * 2 ** 12 * 96

/**
 * Most bytes of a circuit's templates and coefficients. PoSt circuits have a few dozen templates (0.1 MiB). Those of
 * SHA-256 have one for each pattern of constant words in a compression: 24 MiB in porep-32g, 9 MiB in porep-2k. They
 * can be told by the few variables that they multiply with: a quarter of all, where Poseidon has three quarters.
 */
export function shapeImageBytes({ aux, density }: Pick<CircuitShape, 'aux' | 'density'>): number {
  return (density.bAuxCount < aux / 2 ? 26 : 4) * 2 ** 20
}

/** Blocks rounded up, growth in steps, gaps that blocks of different size leave. */
const SLACK_BYTES: number = 16 * 2 ** 20

export interface WorkingSetOptions {
  readonly threads: number
  /** Partitions of the batch. @default 1 */
  readonly partitions?: number | undefined
  /** All points of the SRS stay imported. @default false */
  readonly keepPoints?: boolean | undefined
}

/** Most bytes of shared memory in the two phases of a batch. */
export interface CpuWorkingSet {
  /** Up to the last partition's quotient. */
  readonly quotientBytes: number
  /** While points are added up. */
  readonly sumsBytes: number
}

/**
 * Most bytes of shared memory that {@link CpuDevice} takes while it proves a batch of this circuit. Not in it: the
 * witnesses, which are the caller's.
 */
export function cpuWorkingSet(
  shape: Pick<CircuitShape, 'inputs' | 'aux' | 'log2Domain' | 'density'>,
  { threads, partitions = 1, keepPoints = false }: WorkingSetOptions,
): CpuWorkingSet {
  const { inputs, aux, log2Domain } = shape
  const vector = SCALAR_BYTES * 2 ** log2Domain
  // z, and b's vector, which holds h in the end.
  const assignment = SCALAR_BYTES * (inputs + aux) + vector
  const { queries } = paramsLayout(shape)
  const ranges = QUERIES.flatMap((query) => {
    const { points } = queries[query]
    const group = QUERY_GROUP[query]
    const count = Math.ceil(points / RANGE_POINTS[group])
    return new Array<Range>(count).fill({ group, points: Math.ceil(points / count) })
  })
  const pointBytes = ({ group, points }: Range): number => points * POINT_BYTES[group]
  // While a range is added up, the next one is read and imported.
  const sums = ranges.map((range, k) => {
    const next = ranges[k + 1]
    const staged = next === undefined ? 0 : stagedPoints(next.points, threads) * ENCODED_BYTES[next.group]
    const points = keepPoints ? 0 : pointBytes(range) + (next === undefined ? 0 : pointBytes(next))
    // Scalars in digits, and scalars picked from z for all queries but l and h.
    return digitsBytes(range.points) + range.points * SCALAR_BYTES + points + staged
  })
  const kept = keepPoints ? ranges.reduce((sum, range) => sum + pointBytes(range), 0) : 0
  const fixed = ARENA_BASE + threads * SCRATCH_BYTES + TABLE_BYTES + SLACK_BYTES
  const shapeBytes = shapeImageBytes(shape) + Math.ceil(aux / 4)
  const held = fixed + shapeBytes + kept + partitions * assignment
  // The last quotient adds the vectors a and c to what all partitions hold; the sums come when they are gone.
  return { quotientBytes: held + 2 * vector, sumsBytes: held + Math.max(...sums) }
}

/** The greater of both phases of {@link cpuWorkingSet}. */
export function cpuWorkingSetBytes(...args: Parameters<typeof cpuWorkingSet>): number {
  const { quotientBytes, sumsBytes } = cpuWorkingSet(...args)
  return Math.max(quotientBytes, sumsBytes)
}

interface Range {
  readonly group: Group
  readonly points: number
}
