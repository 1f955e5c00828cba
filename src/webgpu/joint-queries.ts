/**
 * All sums of a small circuit's proof at once: those in G1 together, and the one in G2 beside them, so that the device
 * has work while either waits for what it reads back, or for the host.
 */
import type { CircuitShape } from '../circuit/shape.ts'
import type { Run } from '../groth16/proving-device.ts'
import { paramsLayout, QUERIES, type Query } from '../params/layout.ts'
import { allocationBytes } from './allocation.ts'
import type { PartitionSize } from './assignment/assignment-bytes.ts'
import type { GpuAssignment, QueryScalars } from './assignment/gpu-assignment.ts'
import type { Group } from './curve/batch-affine.ts'
import { ELEMENT_BYTES } from './elements.ts'
import type { Gpu } from './gpu.ts'
import { addSums } from './msm/combine.ts'
import { jointInput, jointSums, jointSumsBytes, type QueryTerms } from './msm/joint-sums.ts'
import type { SumOrder } from './msm/multiexp.ts'
import type { PlanInput } from './msm/plan.ts'
import { mostlyBits } from './msm/query-sum.ts'

/** More memory is of use, but hardly: slices of a round have more than a million pairs by then. */
const MOST_BYTES: Readonly<Record<Group, number>> = { g1: 3 * 2 ** 30, g2: 2 * 2 ** 30 }

/** Share of the work that is the sum in G2, for progress. */
const G2_SHARE = 1 / 3

/** The sums of each group, with the device memory that they may take. */
export type JointPlan = Readonly<Record<Group, PlanInput>>

/** Queries that make one sum each, in each group: those over h and l are only ever added up. */
const SUMS: Readonly<Record<Group, readonly (readonly Query[])[]>> = {
  g1: [['h', 'l'], ['a'], ['b_g1']],
  g2: [['b_g2']],
}

type Circuit = PartitionSize & Pick<CircuitShape, 'density'>

/** Scalars of all queries. */
function scalarsBytes(circuit: Circuit): number {
  const { queries } = paramsLayout(circuit)
  return QUERIES.reduce((sum, query) => sum + allocationBytes(queries[query].points * ELEMENT_BYTES), 0)
}

/** Device memory that all sums together take at most, beside points and assignment. */
export const jointBytes = (circuit: Circuit, { g1, g2 }: JointPlan): number =>
  scalarsBytes(circuit) + jointSumsBytes(g1) + jointSumsBytes(g2)

/**
 * @param memoryBytes for all that the sums take beside points and assignment
 * @returns undefined where the queries are better summed one after the other: of a large circuit, or of one whose
 *   scalars are bits, or where memory is short
 */
export function jointPlan(circuit: Circuit, bindingBytes: number, memoryBytes: number): JointPlan | undefined {
  if (mostlyBits(circuit)) return undefined
  const { queries } = paramsLayout(circuit)
  const share = Math.min(1, (memoryBytes - scalarsBytes(circuit)) / (MOST_BYTES.g1 + MOST_BYTES.g2))
  const inputOf = (group: Group): PlanInput | undefined => {
    const parts = SUMS[group].map((of) => of.reduce((sum, query) => sum + queries[query].points, 0))
    return jointInput({ group, parts, bindingBytes, memoryBytes: share * MOST_BYTES[group] })
  }
  const [g1, g2] = [inputOf('g1'), inputOf('g2')]
  if (g1 === undefined || g2 === undefined) return undefined
  return jointBytes(circuit, { g1, g2 }) <= memoryBytes ? { g1, g2 } : undefined
}

/**
 * @param points of all queries
 * @returns the sums, uncompressed big-endian; of h and l together as that of h
 */
export async function sumJointly(
  gpu: Gpu,
  plan: JointPlan,
  points: Readonly<Record<Query, GPUBuffer>>,
  assignment: GpuAssignment,
  run: Run,
): Promise<Readonly<Record<Query, Uint8Array>>> {
  const { queries } = paramsLayout(assignment.shape.shape)
  const scalars = new Map<Query, QueryScalars>()
  const shares: Record<Group, number> = { g1: 0, g2: 0 }
  const sumsOf = async (group: Group, order: SumOrder): Promise<(readonly [Query, Uint8Array])[]> => {
    const unit = (share: number): void => {
      shares[group] = share
      run.unit((1 - G2_SHARE) * shares.g1 + G2_SHARE * shares.g2)
    }
    const termsOf = (query: Query): QueryTerms => {
      return { points: points[query], scalars: scalars.get(query) as QueryScalars, count: queries[query].points }
    }
    const terms = SUMS[group].map((of) => of.map(termsOf))
    const sums = await jointSums(gpu, plan[group], terms, { ...run, unit }, order)
    return SUMS[group].flatMap((of, k) =>
      of.map((query, i) => [query, i === 0 ? (sums[k] as Uint8Array) : addSums(group, [])] as const),
    )
  }
  try {
    for (const query of QUERIES) scalars.set(query, await assignment.scalars(query, 0, queries[query].points))
    // The sum in G2 goes before: what is left of it is added up on the host while the device works on the others.
    let recorded = (): void => {}
    const after = new Promise<void>((resolve) => {
      recorded = resolve
    })
    // Each has stopped using buffers before they are released.
    const settled = await Promise.allSettled([
      sumsOf('g2', { recorded }).finally(recorded),
      sumsOf('g1', { after }),
      ...[...scalars.values()].map(async ({ ready }) => {
        await ready
        return []
      }),
    ])
    const sums = settled.flatMap((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
    return Object.fromEntries(sums) as Record<Query, Uint8Array>
  } finally {
    for (const { release } of scalars.values()) release()
  }
}
