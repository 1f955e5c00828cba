/**
 * Layout of bellperson's `.params` files (`groth16::Parameters::write`): all lengths u32 big-endian, all points
 * uncompressed big-endian. The lengths follow from the circuit's shape alone, so a file's structure can be checked
 * without reading its points.
 */
import type { CircuitShape } from '../circuit/shape.ts'

/** An uncompressed point of G1. */
export const G1_BYTES = 96
/** An uncompressed point of G2. */
export const G2_BYTES = 192

/** The point queries of the SRS. `b_g1` and `b_g2` take the same scalars. */
export type Query = 'h' | 'l' | 'a' | 'b_g1' | 'b_g2'

/** Which curve group the points of a query are in. */
export const QUERY_GROUP: Readonly<Record<Query, 'g1' | 'g2'>> = { h: 'g1', l: 'g1', a: 'g1', b_g1: 'g1', b_g2: 'g2' }

/** All of them, in the order of the file. */
export const QUERIES: readonly Query[] = ['h', 'l', 'a', 'b_g1', 'b_g2']

/** Consecutive points of one query. */
export interface PointRange {
  readonly query: Query
  readonly first: number
  readonly count: number
}

/** Where the points of each query lie in a file. */
export interface ParamsLayout {
  readonly icLength: number
  readonly vkBytes: number
  readonly fileBytes: number
  readonly queries: Readonly<
    Record<Query, { readonly points: number; readonly offset: number; readonly pointBytes: number }>
  >
}

/** alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2 and the length of ic. */
const VK_FIXED_BYTES = 3 * G1_BYTES + 3 * G2_BYTES + 4

/** The layout of a circuit's file: how many points each query has, and where. */
export function paramsLayout(shape: Pick<CircuitShape, 'inputs' | 'aux' | 'log2Domain' | 'density'>): ParamsLayout {
  const points: Record<Query, number> = {
    h: 2 ** shape.log2Domain - 1,
    l: shape.aux,
    a: shape.inputs + shape.density.aAuxCount,
    // ONE is the only public input that occurs in B in any of Filecoin's circuits.
    b_g1: 1 + shape.density.bAuxCount,
    b_g2: 1 + shape.density.bAuxCount,
  }
  const vkBytes = VK_FIXED_BYTES + G1_BYTES * shape.inputs
  let offset = vkBytes
  const queries = {} as Record<Query, { points: number; offset: number; pointBytes: number }>
  for (const query of QUERIES) {
    const pointBytes = query === 'b_g2' ? G2_BYTES : G1_BYTES
    queries[query] = { points: points[query], offset: offset + 4, pointBytes }
    offset += 4 + points[query] * pointBytes
  }
  return { icLength: shape.inputs, vkBytes, fileBytes: offset, queries }
}
