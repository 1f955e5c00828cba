/** Work that is described before it is recorded, so that it can go into one unit or be cut into many. */
import type { Commands, Dispatch } from './commands.ts'
import type { Kernel } from './kernel.ts'
import type { UnitStream } from './unit-stream.ts'

/** One dispatch of a kernel. */
export interface Step extends Dispatch {
  readonly kernel: Kernel
  /** What it costs, in additions of G1. */
  readonly work: number
}

/** Multiplications in Fr that take as long as an addition in G1. */
export const FR_MULTIPLICATIONS = 16

/** Records all steps into one unit. */
export function recordSteps(commands: Commands, steps: readonly Step[]): void {
  for (const step of steps) commands.dispatch(step.kernel, step)
}

/** Records steps into a stream, which cuts units where it wants. */
export async function streamSteps(stream: UnitStream, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    stream.commands.dispatch(step.kernel, step)
    await stream.recorded(step.work)
  }
}
