/**
 * Dawn looks for the end of what was submitted in every turn of the event loop, by `setImmediate`: that keeps a core
 * busy, and leaves some hundred megabytes a second of objects to collect, which stops the thread that submits units. In
 * a thread that does little else, a turn may rest before it looks: the longer nothing was submitted the longer, since
 * results come when they are due.
 */

/** Of the time since something was submitted: what comes is heard of that much later at most. */
const REST_SHARE = 1 / 32
/** Shorter than what the system's timers are good for. */
const LEAST_REST_MS = 0.02
const MOST_REST_MS = 0.2

let since = Number.NEGATIVE_INFINITY
let quiet = false

/** Tells that something was submitted. */
export function noteSubmission(): void {
  since = performance.now()
}

/**
 * Replaces the thread's `setImmediate`, for good. Only for threads and processes that work on a device and nothing
 * else.
 */
export function pollQuietly(): void {
  // There a rest may last until the next tick of the system's clock, 16 ms.
  if (quiet || process.platform === 'win32') return
  quiet = true
  const plain = globalThis.setImmediate
  const never = new Int32Array(new SharedArrayBuffer(4))
  const rested = <A extends unknown[]>(callback: (...args: A) => void, ...args: A): NodeJS.Immediate =>
    plain(() => {
      const restMs = Math.min(MOST_REST_MS, (performance.now() - since) * REST_SHARE)
      if (restMs >= LEAST_REST_MS) Atomics.wait(never, 0, 0, restMs)
      callback(...args)
    })
  globalThis.setImmediate = Object.defineProperties(
    rested,
    Object.getOwnPropertyDescriptors(plain),
  ) as typeof globalThis.setImmediate
}
