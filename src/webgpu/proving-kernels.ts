/**
 * The kernels that proving dispatches, in the order in which they are best compiled: what is needed first, and the
 * longest of that first.
 */
import { ROW_KERNELS } from './assignment/row-kernels.ts'
import { importKernels } from './curve/import-points.ts'
import type { Kernel } from './kernel.ts'
import { multiexpKernels } from './msm/multiexp.ts'
import { querySumKernels } from './msm/query-sum.ts'
import { QUOTIENT_KERNELS } from './ntt/quotient.ts'
import { TRANSFORM_KERNELS } from './ntt/transform.ts'
import { FQ } from './prelude/digit-field.ts'

/** Kernels over Fq2 take a driver longest, then others with a multiplication in Fq, and the permutation. */
const compileWeight = ({ fields, parts }: Kernel): number => {
  const [first] = fields
  if (parts.includes('rows/poseidon.wgsl')) return 2
  if (first?.field !== FQ) return 0
  if (parts.some((part) => part.includes('g2'))) return 3
  return first.multiplication === false && first.accumulation !== true ? 1 : 2
}

const longestFirst = (kernels: readonly Kernel[]): Kernel[] =>
  [...new Set(kernels)].sort((a, b) => compileWeight(b) - compileWeight(a))

/** What the self-test dispatches. */
export const SELF_TEST_KERNELS: readonly Kernel[] = longestFirst([
  ...importKernels('g1'),
  ...importKernels('g2'),
  ...multiexpKernels('g1'),
  ...multiexpKernels('g2'),
  ...TRANSFORM_KERNELS,
])

/** Everything that proving dispatches: first what the self-test does, before which there is no proof. */
export const PROVING_KERNELS: readonly Kernel[] = [
  ...new Set([...SELF_TEST_KERNELS, ...longestFirst([...ROW_KERNELS, ...QUOTIENT_KERNELS, ...querySumKernels('g1')])]),
]
