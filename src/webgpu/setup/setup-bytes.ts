/** Device memory of a set-up, before anything is allocated. */
import type { CircuitShape } from '../../circuit/shape.ts'
import { shapeImageBytes } from '../../cpu/working-set.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../../params/layout.ts'
import { allocationBytes } from '../allocation.ts'
import { densityBytes } from '../assignment/dense-values.ts'
import type { Group } from '../curve/batch-affine.ts'
import { fixedBaseBytes } from '../curve/fixed-base.ts'
import { ELEMENT_BYTES, elementsBytes, shardLog2 } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import { READ_BACK_BUFFERS, READ_BACK_BYTES } from '../read-back.ts'
import { ROWS_PER_THREAD } from './lagrange.ts'

/** Bytes of buffers as they are allocated; points come on top. */
export interface SetupBytes {
  /** While columns are computed. */
  readonly columns: number
  /** From then on: columns, what the scalars of queries need, tables, the work buffers and the scalars of one range. */
  readonly points: number
}

/**
 * What instances add to their wires, at most, as a share of the variables: 1 in 21 of a WindowPoSt's. A test compares
 * it with real circuits.
 */
const SLOT_SHARE = 1 / 16

/**
 * Terms and coefficients, and 16 bytes an instance, of which there is one for 170 variables of a WindowPoSt. A test
 * compares it likewise.
 */
export const uploadedBytes = (circuit: Pick<CircuitShape, 'aux' | 'density'>): number =>
  2 * shapeImageBytes(circuit) + Math.ceil(circuit.aux / 8)

/**
 * @param atOnce most points of a group that are asked for at once
 */
export function setupBytes(
  circuit: Pick<CircuitShape, 'inputs' | 'aux' | 'constraints' | 'density' | 'log2Domain'>,
  gpu: Pick<Gpu, 'bindingBytes'>,
  atOnce: Readonly<Record<Group, number>>,
): SetupBytes {
  const { inputs, aux, constraints } = circuit
  const column = elementsBytes(gpu, inputs + aux)
  const rows = constraints + inputs
  const threads = Math.ceil(Math.min(rows, 2 ** shardLog2(gpu)) / ROWS_PER_THREAD)
  const slots = elementsBytes(gpu, Math.ceil(SLOT_SHARE * (inputs + aux)))
  const work = elementsBytes(gpu, rows) + elementsBytes(gpu, threads) + slots + uploadedBytes(circuit)
  const densities = 2 * densityBytes(aux).reduce((sum, bytes) => sum + allocationBytes(bytes), 0)
  const { queries } = paramsLayout(circuit)
  const tables = (['g1', 'g2'] as const).map((group) => {
    const counts = QUERIES.filter((query) => QUERY_GROUP[query] === group).map((query) => queries[query].points)
    return fixedBaseBytes(gpu, group, fixedBaseScalars(counts, atOnce[group]))
  })
  const scalars = allocationBytes(ELEMENT_BYTES * Math.max(atOnce.g1, atOnce.g2))
  return {
    columns: 3 * column + work,
    points: 3 * column + densities + tables.reduce((sum, bytes) => sum + bytes, 0) + scalars,
  }
}

/**
 * What writing points to a file takes on top of that: a range that is made, the encodings of all that are in hand, and
 * what they are read back through.
 * @param inHand ranges whose encodings are there or in the making at once
 */
export const writingBytes = (rangeBytes: number, inHand: number): number =>
  (1 + inHand) * allocationBytes(rangeBytes) + READ_BACK_BUFFERS * READ_BACK_BYTES

/** Scalars of a group whose queries have so many points. */
export const fixedBaseScalars = (
  counts: readonly number[],
  atOnce: number,
): { readonly total: number; readonly atOnce: number } => ({
  total: counts.reduce((sum, count) => sum + count, 0),
  atOnce: Math.min(atOnce, Math.max(...counts)),
})
