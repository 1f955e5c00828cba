/** Notices a device that hangs: no unit of any partition on it ends any more. */

/**
 * A unit takes up to about 200 ms, reading and checking a large parameter file anew after a restart some seconds
 * between two reports; a driver that compiles its shaders for the first time up to half a minute.
 */
export const STALL_MS: number = 120_000

/** Calls back once, unless disposed of before. */
export function watchStall(
  device: { silentMs(): number },
  stallMs: number,
  onStall: (silentMs: number) => void,
): Disposable {
  let ended = false
  let timer: NodeJS.Timeout | undefined
  const arm = (): void => {
    timer = setTimeout(look, Math.max(1, stallMs - device.silentMs()))
  }
  const look = (): void => {
    // If it was this thread that stood still, what the device reported meanwhile is read first.
    setImmediate(() => {
      if (ended) return
      const silentMs = device.silentMs()
      if (silentMs < stallMs) return arm()
      onStall(silentMs)
    })
  }
  arm()
  return {
    [Symbol.dispose]() {
      ended = true
      clearTimeout(timer)
    },
  }
}
