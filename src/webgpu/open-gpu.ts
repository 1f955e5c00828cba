/**
 * Opens one WebGPU device through the `webgpu` package (Dawn), loaded lazily: a machine where its binary can't load
 * still proves on the CPU, and says why.
 */
import { GpuUnavailableError } from '../errors.ts'
import { isSoftware } from './software-adapters.ts'

/** Limits that faster variants of kernels use; each is asked for as far as the adapter offers it. */
const WANTED_LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
] as const

/** Which adapter is opened, and with what limits. */
export interface OpenGpuOptions {
  /** Substring of the adapter's name. */
  readonly adapter?: string | undefined
  /** Accept a software adapter (SwiftShader, llvmpipe). @default false */
  readonly allowSoftware?: boolean | undefined
  /** Limits instead of what the adapter offers. `{}` gives WebGPU's defaults. */
  readonly requiredLimits?: Readonly<Record<string, number>> | undefined
  /**
   * A test seam: no binding may be larger than so many bytes, though the device allows more, so that what a large
   * circuit does on a real adapter is done by a small one. A power of two.
   */
  readonly bindingBytes?: number | undefined
  /** A test seam likewise: workgroups of a dispatch in one dimension. */
  readonly gridWidth?: number | undefined
}

/** An adapter as its driver names it. */
export interface AdapterInfo {
  readonly name: string
  readonly vendor: string
  readonly architecture: string
  readonly software: boolean
  /** The driver's own words: its name and version. */
  readonly driver: string
}

/** A device of an adapter, and what keeps it. */
export interface OpenedGpu {
  readonly device: GPUDevice
  readonly info: AdapterInfo
  /**
   * Dawn's instance. It must stay reachable as long as a device lives (the process crashes otherwise), and be dropped
   * for the process to exit.
   */
  readonly instance: unknown
}

/** The adapter's name and kind. */
export function adapterInfo(adapter: GPUAdapter): AdapterInfo {
  const { description, device, vendor, architecture } = adapter.info
  const name = device || description || `${vendor} ${architecture}`.trim() || 'unknown adapter'
  const software =
    (adapter.info as { isFallbackAdapter?: boolean }).isFallbackAdapter === true ||
    isSoftware(`${description} ${device} ${architecture}`)
  return { name, vendor, architecture, software, driver: description }
}

/**
 * @throws {GpuUnavailableError} the package can't load, there is no adapter, or only one that is not wanted; the
 * message says which.
 */
export async function openGpu(options: OpenGpuOptions = {}): Promise<OpenedGpu> {
  let webgpu: typeof import('webgpu')
  try {
    webgpu = await import('webgpu')
  } catch (cause) {
    throw new GpuUnavailableError('The package `webgpu` can not be loaded on this machine.', { cause })
  }
  let instance: GPU
  let adapter: GPUAdapter | null
  try {
    instance = webgpu.create(options.adapter === undefined ? [] : [`adapter=${options.adapter}`])
    adapter = await instance.requestAdapter({ powerPreference: 'high-performance' })
  } catch (cause) {
    throw new GpuUnavailableError('No WebGPU adapter could be opened.', {
      cause,
      details: options.adapter === undefined ? {} : { device: options.adapter },
    })
  }
  if (adapter === null)
    throw new GpuUnavailableError('This machine has no WebGPU adapter (no Vulkan, Metal or D3D12 driver found).')
  const info = adapterInfo(adapter)
  if (info.software && options.allowSoftware !== true) {
    throw new GpuUnavailableError(
      `The only WebGPU adapter is a software one (${info.name}), which is slower than the CPU device; gpu.allowSoftware accepts it.`,
      { details: { device: info.name } },
    )
  }
  const requiredLimits =
    options.requiredLimits ?? Object.fromEntries(WANTED_LIMITS.map((limit) => [limit, adapter.limits[limit] as number]))
  try {
    const device = await adapter.requestDevice({ label: 'wgzk', requiredLimits })
    return { device, info, instance }
  } catch (cause) {
    // What is wrong, and the limit it is wrong with; then where in Dawn's own code.
    const why = (cause as Error).message.split(/\n[ -]*/, 2).join(' ')
    throw new GpuUnavailableError(`The adapter ${info.name} refused a device with the limits asked for: ${why}`, {
      cause,
      details: { device: info.name },
    })
  }
}

/** `GPUBufferUsage`: flags of the WebGPU specification, which Node does not define as globals. */
export const USAGE = { mapRead: 1, mapWrite: 2, copySrc: 4, copyDst: 8, uniform: 64, storage: 128 } as const
/** `GPUMapMode`, likewise. */
export const MAP = { read: 1, write: 2 } as const
