/** Budgets of a chosen size, in terms of what circuits need. */
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateCircuit, neededBytes } from '../../src/budget/estimates.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'

/** Room for the vanilla proofs of a few jobs of 2 KiB sectors, of some kilobytes each. */
export const INPUT_BYTES: number = 2 ** 20

/** A budget that one partition of a circuit fits into, and no more than some inputs beside it. */
export function bytesFor(circuitId: CircuitId, threads?: number, device?: 'cpu' | 'webgpu'): number {
  return needFor(circuitId, threads, device) + INPUT_BYTES
}

/** What one partition of a circuit needs of the host's memory. */
export function needFor(circuitId: CircuitId, threads = 2, device: 'cpu' | 'webgpu' = 'cpu'): number {
  const size = circuitSize(circuitId)
  if (size === undefined) throw new Error(circuitId)
  // In a budget so small that points are not kept.
  return neededBytes(estimateCircuit(size, { device, totalBytes: 1, threads }))
}
