/**
 * What the CPU device allocates for a batch of partitions, counted before it does. Each term names the allocation it stands for.
 *
 * A snap-8m circuit (domain 2^24, 10 M aux) thus takes 1.93 GB up to its quotient, of the 4 GiB that 32-bit addresses reach.
 */
import type { CircuitShape } from '../circuit/shape.ts'
import type { Query } from '../params/layout.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../params/layout.ts'
import { SCALAR_BYTES } from './assignment/tasks.ts'
import { POINT_BYTES } from './msm/group-kernels.ts'
import { digitsBytes } from './msm/multiexp.ts'
import { ARENA_BASE } from './thread-context.ts'
import { SCRATCH_BYTES } from './thread-pool.ts'

/**
 * Points to hold at a time. More make fewer additions of buckets, but are gathered from farther away: measured on a winning-32g
 * proof, 2^17 / 2^18 / 2^19 points of G1 take 3.8 / 3.1 / 3.4 core-seconds for h, and all 272,185 points of G2 at once 4 % less
 * than in three ranges. In memory 32 MiB and 128 MiB, encoded in the host's 24 MiB and 96 MiB.
 */
export const RANGE_POINTS: Readonly<Record<'g1' | 'g2', number>> = { g1: 2 ** 18, g2: 2 ** 19 }

/** Twiddles of both directions and factors of a coset for rows and columns of up to 2^12: at most 6 · 2^12 blocks of 96 bytes. */
const TABLE_BYTES: number = 6 * 2 ** 12 * 96

/**
 * Most bytes of a circuit's templates and coefficients. PoSt circuits have a few dozen templates (0.1 MiB). Those of SHA-256 have one for
 * each pattern of constant words in a compression: 24 MiB in porep-32g, 9 MiB in porep-2k. They can be told by the few variables that
 * they multiply with: a quarter of all, where Poseidon has three quarters.
 */
export function shapeImageBytes({ aux, density }: Pick<CircuitShape, 'aux' | 'density'>): number {
  return (density.bAuxCount < aux / 2 ? 26 : 4) * 2 ** 20
}

/** Staged encodings, blocks rounded up, growth in steps, gaps that blocks of different size leave. */
const SLACK_BYTES: number = 16 * 2 ** 20

export interface WorkingSetOptions {
  readonly threads: number
  /** Partitions of the batch. @default 1 */
  readonly partitions?: number | undefined
  /** All points of the SRS stay imported. @default false */
  readonly keepPoints?: boolean | undefined
}

/**
 * Most bytes of shared memory that {@link CpuDevice} takes while it proves a batch of this circuit.
 * Not in it: the witnesses, and encoded points, both of the caller's.
 */
export function cpuWorkingSetBytes(
  shape: Pick<CircuitShape, 'inputs' | 'aux' | 'log2Domain' | 'density'>,
  { threads, partitions = 1, keepPoints = false }: WorkingSetOptions,
): number {
  const { inputs, aux, log2Domain } = shape
  const vector = SCALAR_BYTES * 2 ** log2Domain
  // z, and b's vector, which holds h in the end.
  const assignment = SCALAR_BYTES * (inputs + aux) + vector
  const { queries } = paramsLayout(shape)
  const pointBytes = (query: Query, points: number): number => points * POINT_BYTES[QUERY_GROUP[query]]
  const rangeOf = (query: Query): number => Math.min(queries[query].points, RANGE_POINTS[QUERY_GROUP[query]])
  // A sum: scalars in digits, scalars picked from z for all queries but l and h, and the range's points.
  const sums = QUERIES.map((query) => {
    const points = rangeOf(query)
    return digitsBytes(points) + points * SCALAR_BYTES + (keepPoints ? 0 : pointBytes(query, points))
  })
  const kept = keepPoints ? QUERIES.reduce((sum, query) => sum + pointBytes(query, queries[query].points), 0) : 0
  const fixed = ARENA_BASE + threads * SCRATCH_BYTES + TABLE_BYTES + SLACK_BYTES
  const shapeBytes = shapeImageBytes(shape) + Math.ceil(aux / 4)
  // The last quotient adds the vectors a and c to what all partitions hold; the sums come when they are gone.
  return fixed + shapeBytes + kept + partitions * assignment + Math.max(2 * vector, ...sums)
}
