/**
 * How many staging buffers there are, and how large they are: plain numbers, which budgets count without loading
 * anything of WebGPU.
 */
import { paramsLayout, QUERIES } from '../params/layout.ts'

/** Bytes that are sent at once. */
export const STAGING_BYTES: number = 16 * 2 ** 20
/** One is copied from while others are filled: a disk or a page cache serves several reads at once. */
export const STAGING_BUFFERS = 4
/**
 * Where memory is no concern. A copy waits for the units that were submitted before, and its buffer with it: beside
 * sums for some 40 ms, in which as many bytes are to be read as the device takes in.
 */
const MOST_STAGING_BUFFERS = 16
/**
 * Encoded points for which the ring of staging buffers gets one more: those of small circuits are there before long.
 */
const POINTS_PER_STAGING_BUFFER: number = 2 ** 30

/** Staging buffers that a circuit's points are streamed through where memory is no concern. */
export function mostStagingBuffers(circuit: Parameters<typeof paramsLayout>[0]): number {
  const { queries } = paramsLayout(circuit)
  const bytes = QUERIES.reduce((sum, query) => sum + queries[query].points * queries[query].pointBytes, 0)
  return Math.max(STAGING_BUFFERS, Math.min(MOST_STAGING_BUFFERS, Math.floor(bytes / POINTS_PER_STAGING_BUFFER)))
}
