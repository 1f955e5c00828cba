/**
 * How a circuit fits a device that makes its points: beside the partitions there is a set-up, until all points are
 * there or for good.
 */
import type { CircuitShape } from '../../circuit/shape.ts'
import { QUERIES } from '../../params/layout.ts'
import {
  type GpuCircuit,
  type GpuMemory,
  type GpuPlan,
  leastGpuBytes,
  planGpu,
  rangePoints,
  totalOf,
} from '../working-set.ts'
import { setupBytes } from './setup-bytes.ts'

/** What a plan and its set-up take at the least. */
export interface MadeGpuPlan {
  readonly plan: GpuPlan
  /** Device memory without which it can't be. */
  readonly leastBytes: number
}

/**
 * All points are kept if they and the set-up, which goes then, find room; else a set-up stays that makes those anew in
 * every pass that are not kept, and takes its room from the partitions.
 */
export function planMade(
  circuit: GpuCircuit & Pick<CircuitShape, 'constraints'>,
  { memoryBytes = Number.POSITIVE_INFINITY, bindingBytes }: GpuMemory,
): MadeGpuPlan {
  const atOnce = { g1: rangePoints('g1', bindingBytes), g2: rangePoints('g2', bindingBytes) }
  const { columns, points } = setupBytes(circuit, { bindingBytes }, atOnce)
  const whole = planGpu(circuit, { memoryBytes, bindingBytes })
  const setup = { mostBytes: Math.max(columns, points), heldBytes: points }
  const keepsAll = QUERIES.every((query) => whole.kept[query] !== undefined)
  const needed = whole.shapeBytes + Math.max(columns, points + totalOf(whole.kept))
  if (keepsAll && needed <= memoryBytes) return { plan: { ...whole, setup }, leastBytes: needed }
  const beside = planGpu(circuit, { memoryBytes: memoryBytes - points, bindingBytes })
  const leastBytes = Math.max(beside.shapeBytes + columns, leastGpuBytes(circuit, bindingBytes) + points)
  return { plan: { ...beside, setup }, leastBytes }
}
