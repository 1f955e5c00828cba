/** From the `gpu` and `cpu` options to the devices of an engine. */
import { GpuUnavailableError } from '../errors.ts'
import type { ResolvedOptions } from '../options.ts'
import { WorkerDeviceClient } from './device-client.ts'
import type { DeviceSlot } from './gpu-pool.ts'

export interface DevicePlan {
  readonly slots: readonly DeviceSlot[]
  /** Why there is no GPU. */
  readonly gpuUnavailable?: string
  /** Set where GPUs were asked for by name: each partition that runs on the CPU device instead is told of as a `fallback`. */
  readonly fallback?: GpuUnavailableError
}

const NO_GPU = 'this version has no WebGPU device'

/**
 * Chooses devices; opens none.
 * @throws {GpuUnavailableError} GPUs were asked for, and the CPU device is not to stand in
 */
export function planDevices({ gpu, cpu }: Pick<ResolvedOptions, 'gpu' | 'cpu'>): DevicePlan {
  const slot: DeviceSlot = {
    name: 'CPU (WebAssembly)',
    start: (signal) => WorkerDeviceClient.start({ kind: 'cpu', ...cpu }, 'wgzk-device-0', { signal }),
  }
  if (gpu.devices === 'cpu') return { slots: [slot], gpuUnavailable: 'gpu.devices is set to cpu' }
  const wanted =
    gpu.devices === 'auto' ? 'any hardware GPU' : gpu.devices.map(({ adapter }) => adapter ?? 'any').join(', ')
  const error = new GpuUnavailableError(`no GPU (asked for: ${wanted}): ${NO_GPU}`, {
    details: { field: 'gpu.devices', expected: wanted, received: NO_GPU },
  })
  if (gpu.fallback === 'never') throw error
  return { slots: [slot], gpuUnavailable: NO_GPU, ...(gpu.devices !== 'auto' && { fallback: error }) }
}
