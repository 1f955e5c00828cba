/**
 * Compiles kernels side by side. A driver compiles what one device asks for nearly one after another, but what several devices ask for at
 * once, and it remembers what it compiled: a device gets what a helper has compiled within milliseconds. So helpers begin with what
 * the device needs last, while it begins with what it needs first.
 */
import { availableParallelism } from 'node:os'
import type { Gpu } from './gpu.ts'
import type { Kernel } from './kernel.ts'

/** More gain nothing: the longest kernel takes a third of what all take on one device. */
const MOST_HELPERS = 7
/** Compiling one kernel keeps about two cores busy. */
const CORES_PER_HELPER = 2
/** Kernels that one device compiles at a time; a driver overlaps parts of the work. */
const LANES = 2

/** Helpers that are worth their start on this machine. */
export const compileHelpers = (cores: number = availableParallelism()): number =>
  Math.max(0, Math.min(MOST_HELPERS, Math.floor(cores / CORES_PER_HELPER) - 1))

/**
 * Resolves when the device has compiled all kernels, and every helper is closed.
 * @param kernels in the order of their use
 * @param openHelper opens another device of the same adapter; one that can't be opened is done without
 * @throws what the device refuses a kernel with
 */
export async function compileAhead(
  gpu: Gpu,
  kernels: readonly Kernel[],
  openHelper: () => Promise<Gpu>,
  helpers: number = compileHelpers(),
): Promise<void> {
  const left = [...new Set(kernels)]
  const compiled: Promise<void>[] = []
  const onDevice = async (): Promise<void> => {
    for (let kernel = left.shift(); kernel !== undefined && gpu.open; kernel = left.shift()) await gpu.prepare([kernel])
  }
  const onHelper = async (helper: Gpu): Promise<void> => {
    for (let kernel = left.pop(); kernel !== undefined && gpu.open; kernel = left.pop()) {
      const next = kernel
      // What a helper fails at the device tries itself.
      await helper.prepare([next]).catch(() => {})
      const ready = gpu.prepare([next])
      ready.catch(() => {})
      compiled.push(ready)
    }
  }
  const lanes = (lane: () => Promise<void>): Promise<unknown> => Promise.all(Array.from({ length: LANES }, lane))
  const help = async (): Promise<void> => {
    const helper = await openHelper().catch(() => undefined)
    if (helper === undefined) return
    await lanes(() => onHelper(helper)).finally(() => helper.close())
  }
  const helped = Promise.allSettled(Array.from({ length: helpers }, help))
  try {
    await lanes(onDevice)
  } finally {
    left.length = 0
    await helped
  }
  await Promise.all(compiled)
}
