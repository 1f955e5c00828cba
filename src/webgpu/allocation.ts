/**
 * What device memory is allocated in: steps that are a part of the size, so that buffers of similar work are found
 * again, and budgets can count what a device will take.
 */

const LARGE_BYTES = 2 ** 26

/** How many times its size a buffer takes at most, unless it is of some kibibytes: for buffers counted together. */
export const ROUNDED: number = 9 / 8

/**
 * Bytes that a storage buffer of some size takes: rounded up to an eighth of their power of two; large ones to a 64th,
 * since many of them fill the device's memory.
 */
export const allocationBytes = (bytes: number): number => {
  const step = Math.max(256, 2 ** (Math.floor(Math.log2(Math.max(bytes, 1))) - (bytes < LARGE_BYTES ? 3 : 6)))
  return Math.ceil(Math.max(bytes, 16) / step) * step
}
