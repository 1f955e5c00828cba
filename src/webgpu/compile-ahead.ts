/**
 * Compiles kernels before they are needed. Two at a time is what Dawn compiles for one device, however many are asked for; a driver that
 * has not seen them before takes seconds then. Helper devices beside it compile more at once, and the driver remembers what it
 * compiled: the device gets what a helper has compiled within milliseconds. So helpers begin with what the device comes to last.
 */
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Gpu } from './gpu.ts'
import type { Kernel } from './kernel.ts'

/** Where the driver knows them, half of the kernels are there by then (measured on an H200: all after 0.75 s, half after 0.32 s). */
const PATIENCE_MS = 450
/** More gain nothing: the longest kernel takes half the time that all take on one device. */
const MOST_HELPERS = 3
/** Kernels that a helper compiles at a time. */
const LANES = 2
/** Cores that a helper keeps busy. */
const CORES_PER_HELPER = 3

/** Helpers that are worth their start on this machine. */
export const compileHelpers = (cores: number = availableParallelism()): number =>
  Math.max(0, Math.min(MOST_HELPERS, Math.floor(cores / CORES_PER_HELPER) - 1))

/**
 * Resolves when the device has compiled all kernels, and every helper is closed.
 * @param kernels in the order in which the device compiles them
 * @param openHelper opens another device of the same adapter; one that can't be opened is done without
 * @throws what the device refuses a kernel with
 */
export async function compileAhead(
  gpu: Gpu,
  kernels: readonly Kernel[],
  openHelper: () => Promise<Gpu>,
  helpers: number = compileHelpers(),
): Promise<void> {
  const left = new Set(kernels)
  const half = left.size / 2
  const compiling = Promise.all([...left].map((kernel) => gpu.prepare([kernel]).then(() => left.delete(kernel))))
  const settled = compiling.catch(() => {})
  const waiting = new AbortController()
  await Promise.race([settled, delay(PATIENCE_MS, undefined, { signal: waiting.signal }).catch(() => {})])
  waiting.abort()
  if (left.size > half && gpu.open) {
    const order = [...left]
    const lane = async (helper: Gpu): Promise<void> => {
      for (let kernel = order.pop(); kernel !== undefined && gpu.open; kernel = order.pop()) {
        // What a helper fails at the device compiles itself.
        if (left.has(kernel)) await helper.prepare([kernel]).catch(() => {})
      }
    }
    const help = async (): Promise<void> => {
      const helper = await openHelper()
      await Promise.all(Array.from({ length: LANES }, () => lane(helper))).finally(() => helper.close())
    }
    await Promise.allSettled(Array.from({ length: helpers }, help))
  }
  await compiling
}
