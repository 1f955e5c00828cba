/** How many partitions of a circuit have room on one device. */
import { cpuWorkingSetBytes } from '../cpu/working-set.ts'
import type { DeviceRoom } from '../device/device-claims.ts'
import type { CircuitSize } from './circuit-sizes.ts'
import type { Machine } from './estimates.ts'

const SCALAR_BYTES = 32

/** All that 32-bit addresses reach. */
const CPU_MEMORY_BYTES: number = 2 ** 32

/**
 * More partitions in one pass over streamed points save little: a sixteenth of a pass is left to each. Kept points need
 * no pass.
 */
const MOST_IN_ONE_PASS = 16

/**
 * @param size of the circuit
 * @param streamed whether points are read in every pass, so that partitions gain by sharing one
 */
export function deviceRoom(size: CircuitSize, machine: Machine, streamed: boolean): DeviceRoom {
  // A GPU's worker gives its memory out itself, and lets partitions wait for it.
  const share = machine.device === 'webgpu' ? 0 : shareOfCpu(size, machine, !streamed)
  return { share, together: streamed ? MOST_IN_ONE_PASS : 1 }
}

/** What of the WebAssembly memory one partition takes, of what is there beside that of all. */
function shareOfCpu(size: CircuitSize, { threads }: Machine, keepPoints: boolean): number {
  const vector = SCALAR_BYTES * 2 ** size.log2Domain
  const one = cpuWorkingSetBytes(size, { threads, keepPoints })
  const assignment = cpuWorkingSetBytes(size, { threads, keepPoints, partitions: 2 }) - one
  // The quotients of all may be under way at once: two more vectors each.
  const neededBytes = assignment + 2 * vector
  const availableBytes = CPU_MEMORY_BYTES - Math.max(0, one - neededBytes)
  return Math.min(1, neededBytes / availableBytes)
}
