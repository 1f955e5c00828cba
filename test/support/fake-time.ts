/** Time that only a test moves: timers and `Date` stand still until {@link advance}. */
import { afterEach, beforeEach, vi } from 'vitest'

/** To be called once in a file or `describe`. */
export function useFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}

/** Lets `ms` pass, in small steps, with all that is due in between. */
export async function advance(ms: number, stepMs = 1): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await vi.advanceTimersByTimeAsync(Math.min(stepMs, ms - passed))
    await settle()
  }
}

/** Lets everything that waits for no timer happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Lets time pass until a condition holds. */
export async function until(condition: () => boolean, stepMs = 1): Promise<void> {
  await settle()
  for (let steps = 0; !condition(); steps++) {
    if (steps > 10_000) throw new Error(`it did not happen within ${steps * stepMs} ms`)
    await advance(stepMs, stepMs)
  }
}

/** Lets time pass until a promise settles. */
export async function outcome<T>(promise: Promise<T>, stepMs = 1): Promise<PromiseSettledResult<T>> {
  let settled: PromiseSettledResult<T> | undefined
  promise.then(
    (value) => {
      settled = { status: 'fulfilled', value }
    },
    (reason) => {
      settled = { status: 'rejected', reason }
    },
  )
  await until(() => settled !== undefined, stepMs)
  return settled as unknown as PromiseSettledResult<T>
}

/** As {@link outcome}: the value, or throws the reason. */
export async function value<T>(promise: Promise<T>, stepMs = 1): Promise<T> {
  const result = await outcome(promise, stepMs)
  if (result.status === 'rejected') throw result.reason
  return result.value
}
