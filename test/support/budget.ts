/** Budgets of a chosen size, in terms of what circuits need. */
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateCircuit, neededBytes } from '../../src/budget/estimates.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'

/** The smallest budget that one partition of a circuit fits into, on a CPU device of two threads. */
export function bytesFor(circuitId: CircuitId): number {
  const size = circuitSize(circuitId)
  if (size === undefined) throw new Error(circuitId)
  // In a budget so small that points are not kept.
  return neededBytes(estimateCircuit(size, { totalBytes: 1, threads: 2 }))
}
