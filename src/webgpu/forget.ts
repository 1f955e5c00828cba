import type { Gpu } from './gpu.ts'

/**
 * Gives buffers back that hold secrets of a set-up, as zeros: whoever gets them next finds nothing in them. They are
 * cleared by the time work that is submitted later begins; a device that was lost holds nothing any more.
 */
export function forget(gpu: Gpu, ...buffers: readonly GPUBuffer[]): void {
  const encoder = gpu.device.createCommandEncoder({ label: 'forget secrets' })
  for (const buffer of buffers) encoder.clearBuffer(buffer)
  gpu.device.queue.submit([encoder.finish()])
  for (const buffer of buffers) gpu.release(buffer)
}
