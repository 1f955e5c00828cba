/** Long work in slices between which the event loop turns, so that a worker hears of an abort. */
import { setImmediate } from 'node:timers/promises'
import type { Run } from '../groth16/proving-device.ts'

/** How long to work between two turns of the event loop. */
const SLICE_MS = 10

/**
 * Runs `work` for 0 to count − 1; reports shares of the whole between `from` and `upTo`.
 * @throws `run.signal.reason` once aborted
 */
export async function inSlices(
  count: number,
  run: Run,
  upTo: number,
  work: (index: number) => void,
  from: number = 0,
): Promise<void> {
  let began = performance.now()
  for (let index = 0; index < count; index++) {
    work(index)
    if (performance.now() - began < SLICE_MS) continue
    run.unit(from + ((upTo - from) * (index + 1)) / count)
    await setImmediate()
    run.signal.throwIfAborted()
    began = performance.now()
  }
}
