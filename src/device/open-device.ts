/**
 * Opening the device of a worker, of either kind. What a kind needs is imported when it is opened, and nothing of the
 * other.
 */
import type { ProvingDevice, Run } from '../groth16/proving-device.ts'
import type { WebGpuDevice } from '../webgpu/webgpu-device.ts'
import type { DeviceInfo, DeviceSpec, TuningInUse } from './device-spec.ts'
import type { IdleWorkOptions } from './idle-work.ts'

/** A device that was opened, and what only one kind has. */
export interface OpenDevice {
  readonly device: ProvingDevice
  readonly info: DeviceInfo
  /** Resolves if the device is lost without having been closed. */
  readonly lost?: Promise<Error>
  /** Small work until the signal aborts, so that the clocks of a card are up when a proof comes. */
  readonly warmUp?: (signal: AbortSignal) => Promise<void>
  /** Resolves when it is known how much memory it has, or that nobody says. */
  readonly measured?: Promise<void>
  /** Memory of its own; infinite where it is not known. */
  readonly memoryBytes?: () => number
  /** Of that, buffers for what crosses to it. */
  readonly stagingBytes?: () => number
  /** Finds out what it is best tuned to. */
  readonly calibrate?: (run: Run) => Promise<TuningInUse>
  /** What is worth the time in which it has nothing else to do. */
  readonly whenIdle?: { readonly work: (signal: AbortSignal) => Promise<void>; readonly options: IdleWorkOptions }
}

/**
 * A minute after the last batch of a queue no other is about to come, and touching memory again costs a large one a
 * tenth of a second.
 */
const TRIMMING = { idleMs: 60_000, attempts: 1, repeats: true } as const

/** After a start most engines load circuits at once: what comes later than that finds the device idle. */
const CALIBRATION = { idleMs: 2_000, attempts: 3 } as const

/**
 * Opens a device. It is not tested yet.
 * @param signal looked at where opening a CPU device has not begun to start threads
 * @throws {GpuUnavailableError} there is no such adapter; {@link Error} of threads or kernels
 * @throws `signal.reason`
 */
export async function openDevice(spec: DeviceSpec, signal: AbortSignal): Promise<OpenDevice> {
  return spec.kind === 'cpu' ? await openCpu(spec, signal) : await openWebGpu(spec)
}

/**
 * Of a card's memory, what to plan for where nobody said: the rest is the system's, or of programs that came before.
 */
const CARD_SHARE = 0.85

async function countOnCard({ gpu }: WebGpuDevice): Promise<void> {
  const { cardMemoryBytes } = await import('./card-memory.ts')
  const bytes = await cardMemoryBytes(gpu.info.name)
  if (bytes !== undefined) gpu.givenBytes = Math.min(gpu.givenBytes, Math.floor(CARD_SHARE * bytes))
}

async function openCpu(
  { threads, relaxedSimd }: DeviceSpec & { kind: 'cpu' },
  signal: AbortSignal,
): Promise<OpenDevice> {
  const { CpuDevice } = await import('../cpu/cpu-device.ts')
  signal.throwIfAborted()
  const device = await CpuDevice.create({ threads, relaxedSimd })
  const { kind, name, maxLog2Domain } = device
  const whenIdle = { work: (signal: AbortSignal) => device.trim(signal), options: TRIMMING }
  return { device, info: { kind, name, maxLog2Domain }, whenIdle }
}

async function openWebGpu(spec: DeviceSpec & { kind: 'webgpu' }): Promise<OpenDevice> {
  const { WebGpuDevice } = await import('../webgpu/webgpu-device.ts')
  const { pollQuietly } = await import('../webgpu/quiet-polling.ts')
  pollQuietly()
  const { GpuCalibration } = await import('./gpu-calibration.ts')
  const calibration = new GpuCalibration()
  const { adapter, allowSoftware, requiredLimits, memoryBytes } = spec
  const device = await WebGpuDevice.create({
    adapter,
    allowSoftware,
    requiredLimits,
    memoryBytes: memoryBytes === 'auto' ? undefined : memoryBytes,
    tuning: (found) => calibration.find(found),
  })
  const { kind, name, maxLog2Domain, details, lost } = device
  const { cardInUse } = await import('./card-in-use.ts')
  const card = cardInUse()
  const calibrate = (run: Run): Promise<TuningInUse> => calibration.measure(device, run)
  const quietly = async (signal: AbortSignal): Promise<void> => void (await calibrate({ signal, unit: () => {} }))
  const measured = memoryBytes === 'auto' && !details.software ? countOnCard(device) : Promise.resolve()
  return {
    device,
    measured,
    info: {
      kind,
      name: adapter ?? name,
      maxLog2Domain,
      adapter: { ...details, ...(card !== undefined && { card }) },
      tuning: calibration.inUse,
    },
    lost,
    warmUp: (signal) => device.warmUp(signal),
    memoryBytes: () => device.memoryBytes,
    stagingBytes: () => device.gpu.staging.bytes,
    calibrate,
    ...(calibration.wanted(details) && { whenIdle: { work: quietly, options: CALIBRATION } }),
  }
}
