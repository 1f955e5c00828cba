/**
 * Work on the caller's thread that may be long, as a generator: it yields where the event loop may turn. One text
 * serves both who needs the result at once and who must not hold the loop up.
 */
import { setImmediate } from 'node:timers/promises'

/** Yields between two pieces of work of a millisecond or so; returns the result. */
export type Steps<T> = Generator<undefined, T, undefined>

/** How long to work between two turns of the event loop. */
const SLICE_MS = 10

/** Runs all steps without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/**
 * Runs steps in slices of 10 ms between which the event loop turns. What ends within the first slice is there at once.
 * @throws what a step throws, at once or as a rejection; `signal.reason` once aborted
 */
export function inTurns<T>(steps: Steps<T>, signal?: AbortSignal): T | Promise<T> {
  const first = slice(steps)
  return first.done ? first.value : goOn(steps, signal)
}

async function goOn<T>(steps: Steps<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    await setImmediate()
    signal?.throwIfAborted()
    const next = slice(steps)
    if (next.done) return next.value
  }
}

function slice<T>(steps: Steps<T>): IteratorResult<undefined, T> {
  const began = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done || performance.now() - began > SLICE_MS) return step
  }
}
