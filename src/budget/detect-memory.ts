/** How much memory the engine may count on. */
import { totalmem } from 'node:os'
import { InvalidOptionsError } from '../errors.ts'

const GIB = 2 ** 30

/** The memory that this process could have. */
export interface MachineMemory {
  /** Physical memory, bytes. */
  readonly ramBytes: number
  /** Limit of the control group the process is in, bytes; absent if there is none. */
  readonly cgroupBytes?: number
}

/** Looks at the machine. Reads a file of the control group where there is one. */
export function machineMemory(): MachineMemory {
  const ramBytes = totalmem()
  // libuv reads both versions of control groups; 0 stands for "unknown" and a huge number for "no limit".
  const limit = process.constrainedMemory()
  return limit !== undefined && limit > 0 && limit < ramBytes ? { ramBytes, cgroupBytes: limit } : { ramBytes }
}

/**
 * The engine's whole budget.
 *
 * What stays outside it: the host's own heap, the code of the threads (about 40 MB each) and the page cache that makes
 * a second pass over a parameter file fast. 5 GiB covers them on servers; on small machines a quarter has to do.
 * @throws {RangeError} the margin leaves nothing.
 */
export function budgetBytes(
  options: { readonly totalBytes: number | 'auto'; readonly safetyMarginBytes: number | 'auto' },
  machine: MachineMemory = machineMemory(),
): number {
  if (options.totalBytes !== 'auto') return options.totalBytes
  const limit = Math.min(machine.ramBytes, machine.cgroupBytes ?? Number.POSITIVE_INFINITY)
  const margin =
    options.safetyMarginBytes === 'auto' ? Math.floor(Math.min(5 * GIB, limit / 4)) : options.safetyMarginBytes
  if (margin >= limit) throw new RangeError(`a safety margin of ${margin} bytes leaves nothing of ${limit} bytes`)
  return limit - margin
}

/**
 * As {@link budgetBytes}, in the words of the options.
 * @throws {InvalidOptionsError}
 */
export function totalMemory(options: Parameters<typeof budgetBytes>[0]): number {
  try {
    return budgetBytes(options)
  } catch (cause) {
    const received = String(options.safetyMarginBytes)
    throw new InvalidOptionsError(`option memory.safetyMarginBytes: ${(cause as Error).message}`, {
      details: { field: 'memory.safetyMarginBytes', expected: 'less than the memory of the machine', received },
      cause,
    })
  }
}
