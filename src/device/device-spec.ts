/** What a device is asked to be, and what it says of itself. All of it survives structured clone. */
import type { Trial, Tuning } from '../webgpu/tuning.ts'

/** The WebAssembly device. */
export interface CpuDeviceSpec {
  readonly kind: 'cpu'
  readonly threads: number
  readonly relaxedSimd: 'auto' | 'enable' | 'never'
}

/** One adapter through WebGPU. */
export interface WebGpuDeviceSpec {
  readonly kind: 'webgpu'
  /** The adapter's name as listed; the first adapter where it is absent. */
  readonly adapter?: string | undefined
  readonly allowSoftware: boolean
  /** Limits instead of what the adapter offers. */
  readonly requiredLimits?: Readonly<Record<string, number>> | undefined
  /** Device memory that may be allocated; 'auto': as much as the driver gives. */
  readonly memoryBytes: number | 'auto'
  /** Whether opening it includes the self-test. @default true */
  readonly selfTest?: boolean | undefined
}

/** What a GPU is tuned to, and why. */
export interface TuningInUse {
  /** Nobody has measured it yet; it was measured by an earlier process, or by this one. */
  readonly source: 'default' | 'file' | 'measured'
  readonly tuning: Tuning
  /** In G1, at the time of the measurement. */
  readonly additionsPerMs?: number
  readonly trials?: readonly Trial[]
  /** ISO 8601. */
  readonly measuredAt?: string
  /** What measuring took, compiling kernels for it apart. */
  readonly compileMs?: number
  readonly deviceMs?: number
  /** Why it was not remembered. */
  readonly notKept?: string
}

/** How a device is opened. */
export type DeviceSpec = CpuDeviceSpec | WebGpuDeviceSpec

/** What a device says of itself once its self-test passed. */
export interface DeviceInfo {
  readonly kind: 'cpu' | 'webgpu'
  readonly name: string
  /** Largest evaluation domain, as log2. */
  readonly maxLog2Domain: number
  /** Of a GPU. */
  readonly adapter?: AdapterDetails
  /** Of a GPU, when it was opened. */
  readonly tuning?: TuningInUse
}

/** A GPU as its driver names it. */
export interface AdapterDetails {
  readonly vendor: string
  readonly architecture: string
  /** Name and version, in the driver's own words. */
  readonly driver: string
  readonly software: boolean
  /** PCI address (`0000:06:00.0`) of the card that its process has, where that can be told. */
  readonly card?: string
  readonly limits: Readonly<Record<string, number>>
}
