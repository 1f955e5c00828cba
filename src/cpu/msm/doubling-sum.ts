/**
 * Σ s_i · P_i of a few points by doublings and additions, on the calling thread: cheaper than buckets for the public
 * inputs of a WinningPoSt, of which half are one and the same scalar, whose points are added up first, and the others
 * below 2^32.
 */
import type { Arena, ThreadContext } from '../thread-context.ts'
import { SCALAR_BYTES } from './digits.ts'
import { ENCODED_BYTES, type Group, groupKernels, POINT_BYTES } from './group-kernels.ts'
import { accumulatorBytes, encodePoint, ProjectiveAccumulators } from './projective.ts'

/** About as long as buckets take for a hundred full scalars. */
const MOST_ADDITIONS = 2 ** 12

/** Points that have a scalar in common. */
export interface Term {
  /** 32 bytes little-endian, not 0. */
  readonly scalar: Uint8Array
  readonly points: number[]
}

/**
 * What {@link sumByDoubling} is to add.
 * @param scalars 32 bytes little-endian each
 * @returns undefined where buckets are better
 */
export function doublingTerms(scalars: Uint8Array): readonly Term[] | undefined {
  const count = scalars.length / SCALAR_BYTES
  if (count > MOST_ADDITIONS) return undefined
  const terms = new Map<string, Term>()
  let additions = 0
  for (let i = 0; i < count; i++) {
    const scalar = scalars.subarray(i * SCALAR_BYTES, (i + 1) * SCALAR_BYTES)
    const ones = scalar.reduce((sum, byte) => sum + countOnes(byte), 0)
    if (ones === 0) continue
    const key = Buffer.from(scalar.buffer, scalar.byteOffset, SCALAR_BYTES).toString('latin1')
    const known = terms.get(key)
    if (known === undefined) terms.set(key, { scalar, points: [i] })
    else known.points.push(i)
    additions += known === undefined ? ones : 1
  }
  return additions <= MOST_ADDITIONS ? [...terms.values()] : undefined
}

/**
 * @param points address of the imported points
 * @returns the sum, uncompressed big-endian
 */
export function sumByDoubling(
  context: ThreadContext,
  arena: Pick<Arena, 'allocate' | 'free'>,
  group: Group,
  points: number,
  terms: readonly Term[],
): Uint8Array {
  const kernels = groupKernels(context, group)
  const accumulators = accumulatorBytes(kernels, 1 + terms.length)
  const address = arena.allocate(accumulators + POINT_BYTES[group] + ENCODED_BYTES[group])
  try {
    const sums = new ProjectiveAccumulators(context, kernels, address, 1 + terms.length)
    for (const [k, term] of terms.entries())
      for (const i of term.points) sums.addPoint(1 + k, points + i * POINT_BYTES[group])
    for (let bit = 8 * SCALAR_BYTES - 1; bit >= 0; bit--) {
      sums.add(0, 0)
      for (const [k, { scalar }] of terms.entries()) {
        if (((scalar[bit >> 3] as number) >> (bit & 7)) & 1) sums.add(0, 1 + k)
      }
    }
    const sum = address + accumulators
    sums.store(0, sum)
    return encodePoint(context, kernels, sum, sum + POINT_BYTES[group])
  } finally {
    arena.free(address)
  }
}

function countOnes(byte: number): number {
  let ones = 0
  for (let rest = byte; rest > 0; rest &= rest - 1) ones++
  return ones
}
