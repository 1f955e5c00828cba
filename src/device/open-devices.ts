/** From the `gpu` and `cpu` options to the devices of an engine. */
import { MAX_LOG2_DOMAIN } from '../cpu/ntt/transform.ts'
import { GpuUnavailableError, InvalidOptionsError } from '../errors.ts'
import type { GpuSelector, ResolvedOptions } from '../options.ts'
import { type AdapterList, type ListedAdapter, listAdapters } from '../webgpu/list-adapters.ts'
import { WorkerDeviceClient } from './device-client.ts'
import type { WebGpuDeviceSpec } from './device-spec.ts'
import type { DeviceSlot, StandInSlot } from './gpu-pool.ts'
import { IdenticalCards } from './identical-cards.ts'

/** Which devices an engine is to open, and why no others. */
export interface DevicePlan {
  readonly slots: readonly DeviceSlot[]
  /** The CPU device, for what the GPUs can't do. Started when it is needed first. */
  readonly standIn?: StandInSlot | undefined
  /** Why there is no GPU. */
  readonly gpuUnavailable?: string | undefined
  /**
   * Set where GPUs were asked for by name: each partition that runs on the CPU device instead is told of as a
   * `fallback`.
   */
  readonly fallback?: GpuUnavailableError | undefined
}

type DeviceOptions = Pick<ResolvedOptions, 'gpu' | 'cpu'>

/** What the CPU device is called before it was started. */
export const CPU_NAME = 'CPU (WebAssembly)'

/**
 * Chooses devices; opens none. Without GPUs in the options nothing of WebGPU is loaded; else a process of its own lists
 * them.
 * @param list a test seam
 * @throws {GpuUnavailableError} there is no such GPU, and the CPU device is not to stand in
 * @throws {InvalidOptionsError} one of several identical cards is to be opened in a thread
 * @throws `signal.reason`
 */
export async function planDevices(
  options: DeviceOptions,
  signal?: AbortSignal,
  list: typeof listAdapters = listAdapters,
): Promise<DevicePlan> {
  const { gpu } = options
  const cpu = cpuSlot(options)
  if (gpu.devices === 'cpu') return { slots: [cpu], gpuUnavailable: 'gpu.devices is set to cpu' }
  const found = await list(signal)
  signal?.throwIfAborted()
  const { chosen, missing } = choose(found, gpu)
  if (missing.length > 0 && gpu.fallback === 'never') throw missing[0]
  const [first] = missing
  if (chosen.length === 0 && first !== undefined) {
    if (gpu.devices !== 'auto') return { slots: [cpu], gpuUnavailable: first.message, fallback: first }
    // Nothing was asked for by name: what the machine has says it all.
    return { slots: [cpu], gpuUnavailable: first.details.received ?? first.message }
  }
  const alike = new Map(chosen.map(({ name, copies }) => [name, new IdenticalCards(name, copies)]))
  const slots = chosen.map((adapter, index) =>
    gpuSlot(adapter, index, options, alike.get(adapter.name) as IdenticalCards),
  )
  for (const error of missing) slots.push({ name: error.details.expected ?? 'GPU', start: () => Promise.reject(error) })
  return { slots, ...(gpu.fallback === 'cpu' && { standIn: { ...cpu, kind: 'cpu', maxLog2Domain: MAX_LOG2_DOMAIN } }) }
}

function cpuSlot({ cpu }: DeviceOptions): DeviceSlot {
  return {
    name: CPU_NAME,
    start: (signal) => WorkerDeviceClient.start({ kind: 'cpu', ...cpu }, 'wgzk-cpu', { signal }),
  }
}

/** How one adapter is opened. */
export function gpuSpec(adapter: ListedAdapter, gpu: DeviceOptions['gpu']): WebGpuDeviceSpec {
  const { allowSoftware, requiredLimits, memoryBytes } = gpu
  const limits = Object.keys(requiredLimits).length > 0 ? { requiredLimits } : {}
  return { kind: 'webgpu', adapter: adapter.name, allowSoftware, memoryBytes, ...limits }
}

/**
 * Unless a thread is asked for each GPU has a process: a driver that crashes takes its process along, and Dawn aborts
 * the process that exits while it has work in flight. Neither may happen to the process that embeds the engine.
 */
function gpuSlot(adapter: ListedAdapter, index: number, { gpu }: DeviceOptions, alike: IdenticalCards): DeviceSlot {
  const { name, copy } = adapter
  const isolation = gpu.isolation === 'thread' ? 'thread' : 'process'
  return {
    name,
    start: (signal) =>
      alike.start(copy, (environment) =>
        WorkerDeviceClient.start(gpuSpec(adapter, gpu), `wgzk-gpu-${index}`, { isolation, environment, signal }),
      ),
  }
}

/** The adapters that the options mean, each once, and an error for each selector that means none. */
function choose(
  { adapters, reason }: AdapterList,
  { devices, allowSoftware, isolation }: DeviceOptions['gpu'],
): { chosen: ListedAdapter[]; missing: GpuUnavailableError[] } {
  const usable = adapters.filter(({ software }) => allowSoftware || !software)
  if (devices === 'cpu') return { chosen: [], missing: [] }
  if (devices === 'auto') {
    // Where there is a card, a software adapter beside it would only slow the whole down.
    const hardware = usable.filter(({ software }) => !software)
    const all = hardware.length > 0 ? hardware : usable
    // Threads of one process all get the first of identical cards.
    const chosen = isolation === 'thread' ? all.filter(({ copy }) => copy === 0) : all
    return { chosen, missing: chosen.length > 0 ? [] : [unavailable('any hardware GPU', adapters, reason)] }
  }
  const chosen: ListedAdapter[] = []
  const missing: GpuUnavailableError[] = []
  for (const [index, selector] of devices.entries()) {
    const matching = usable.filter(({ name }) => matches(name, selector))
    const free = matching.filter((adapter) => !chosen.includes(adapter))
    const adapter = selector.ordinal === undefined ? free[0] : matching[selector.ordinal]
    if (adapter === undefined || chosen.includes(adapter)) {
      missing.push(unavailable(describe(selector), adapters, reason))
      continue
    }
    if (adapter.copy > 0 && isolation === 'thread') {
      throw new InvalidOptionsError(
        `option gpu.devices[${index}]: ${adapter.name} is one of ${adapter.copies} identical cards, which only isolation 'process' tells apart`,
        { details: { field: `gpu.devices[${index}]`, expected: "gpu.isolation 'process'", received: 'thread' } },
      )
    }
    chosen.push(adapter)
  }
  return { chosen, missing }
}

function matches(name: string, { adapter }: GpuSelector): boolean {
  return adapter === undefined || name.toLowerCase().includes(adapter.toLowerCase())
}

function describe({ adapter, ordinal }: GpuSelector): string {
  return `${adapter ?? 'any GPU'}${ordinal === undefined ? '' : ` (number ${ordinal})`}`
}

function unavailable(wanted: string, adapters: readonly ListedAdapter[], reason?: string): GpuUnavailableError {
  const names = adapters.map(({ name, software }) => (software ? `${name}, a software adapter` : name))
  const has =
    reason ?? (names.length === 0 ? 'this machine has no adapter for WebGPU' : `this machine has: ${names.join('; ')}`)
  return new GpuUnavailableError(`no GPU (asked for: ${wanted}): ${has}`, {
    details: { field: 'gpu.devices', expected: wanted, received: has },
  })
}
