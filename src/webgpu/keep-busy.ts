/**
 * Load for a card that is about to get work: clocks fall within seconds of idleness, and take longer to rise than a
 * small proof takes. The load is what the self-test has compiled already: transforms of a small domain, one short
 * submission after another.
 */
import { BufferSet } from './buffer-set.ts'
import { Elements } from './elements.ts'
import type { Gpu } from './gpu.ts'
import { Domain } from './ntt/transform.ts'
import { recordSteps } from './step.ts'

/** 512 KiB of elements. */
const LOG2_SIZE = 14
/** A proof that comes waits for one submission at most. */
const LEAST_MS = 4
const MOST_MS = 20
const MOST_TRANSFORMS = 256

/** Resolves soon after the signal aborts; at once on a device so slow that the load would only be in the way. */
export async function keepBusy(gpu: Gpu, signal: AbortSignal): Promise<void> {
  const set = new BufferSet(gpu)
  try {
    const domain = set.own(await Domain.create(gpu, LOG2_SIZE))
    // What its elements are does not matter.
    const { shards } = set.own(await Elements.allocate(gpu, 2 ** LOG2_SIZE, 'warm-up'))
    const steps = domain.analysis(shards)
    let transforms = 1
    while (!signal.aborted) {
      const from = performance.now()
      const commands = gpu.commands('warm-up')
      for (let k = 0; k < transforms; k++) recordSteps(commands, steps)
      await commands.submit()
      const ms = performance.now() - from
      if (ms < LEAST_MS && transforms < MOST_TRANSFORMS) transforms *= 2
      else if (ms > MOST_MS && transforms === 1) return
      else if (ms > MOST_MS) transforms /= 2
    }
  } finally {
    set.release()
  }
}
