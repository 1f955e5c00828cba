/** The curve kernels of one group as functions over memory, whatever the back end: one lane or two. */
import type { ThreadContext } from '../thread-context.ts'

export type Group = 'g1' | 'g2'

/** A point at rest on the CPU device: affine, x at 0 and y half-way; infinity is all zero. */
export const POINT_BYTES: Readonly<Record<Group, number>> = { g1: 128, g2: 256 }
/** bellperson's uncompressed big-endian encoding. */
export const ENCODED_BYTES: Readonly<Record<Group, number>> = { g1: 96, g2: 192 }

/** In scratch: what kernels use for themselves ends here. */
export const KERNEL_SCRATCH_BYTES = 0x4000

type Kernel = (...args: number[]) => number

export interface GroupKernels {
  readonly group: Group
  readonly lanes: number
  readonly pointBytes: number
  readonly encodedBytes: number
  /** Of X, Y, Z of `lanes` projective points. */
  readonly projectiveBytes: number
  /** Of the six blocks that a batch keeps for `lanes` additions. */
  readonly recordBytes: number
  readonly importPoints: Kernel
  readonly exportPoints: Kernel
  readonly lift: Kernel
  readonly lower: Kernel
  readonly addProjective: Kernel
  readonly negateCoordinate: Kernel
  readonly gather: Kernel
  readonly products: Kernel
  readonly mend: Kernel
  readonly finish: Kernel
}

/** @throws {Error} if the module lacks a kernel (built from other sources) */
export function groupKernels({ kernels }: ThreadContext, group: Group): GroupKernels {
  const kernel = (name: string): Kernel => {
    const found = kernels[name]
    if (found === undefined) throw new Error(`The kernel module has no function ${name}`)
    return found
  }
  const lanes = kernel('lanes')()
  const coordinateBytes = (POINT_BYTES[group] / 2) * lanes
  return {
    group,
    lanes,
    pointBytes: POINT_BYTES[group],
    encodedBytes: ENCODED_BYTES[group],
    projectiveBytes: 3 * coordinateBytes,
    recordBytes: 6 * coordinateBytes,
    importPoints: kernel(`${group}_import`),
    exportPoints: kernel(`${group}_export`),
    lift: kernel(`${group}_lift`),
    lower: kernel(`${group}_lower`),
    addProjective: kernel(`${group}_padd`),
    negateCoordinate: kernel(group === 'g1' ? 'fq_neg' : 'fq2_neg'),
    gather: kernel(`${group}_batch_gather`),
    products: kernel(`${group}_batch_products`),
    mend: kernel(`${group}_batch_mend`),
    finish: kernel(`${group}_batch_finish`),
  }
}
