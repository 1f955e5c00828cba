import type { ReadPoints } from './proving-device.ts'

/**
 * Reads points that are in memory already.
 * @param encoded uncompressed big-endian, `pointBytes` (96 or 192) each
 */
export function pointsIn(encoded: Uint8Array, pointBytes: number): ReadPoints {
  return async (first, target) =>
    target.set(encoded.subarray(first * pointBytes, first * pointBytes + target.byteLength))
}
