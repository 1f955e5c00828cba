/** The main side of a device: one worker, one device, and calls that carry whole batches. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { CompactWitness } from '../circuit/shape.ts'
import { workerFile } from '../cpu/wasm-file.ts'
import type { WorkerExitedError } from '../errors.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { type CallOptions, WorkerLink } from './worker-link.ts'

/** How a device is opened. Survives structured clone. */
export interface DeviceSpec {
  readonly kind: 'cpu'
  readonly threads: number
  readonly relaxedSimd: 'auto' | 'enable' | 'never'
}

/** What a device says of itself once its self-test passed. */
export interface DeviceInfo {
  readonly kind: 'cpu' | 'webgpu'
  readonly name: string
  /** Largest evaluation domain, as log2. */
  readonly maxLog2Domain: number
}

/** A circuit that a device is to work on. */
export interface DeviceCircuit {
  readonly circuitId: CircuitId
  readonly parameters: ParametersLocation
  /** Keep the imported points for the next batch; their memory is reserved then. */
  readonly keepPoints: boolean
}

/** Partitions of one circuit, proved in one pass over the parameters. */
export interface Batch extends DeviceCircuit {
  readonly witnesses: readonly CompactWitness[]
  /** Its units go before those of other batches on the device. */
  readonly urgent?: boolean | undefined
}

export interface BatchResult {
  /** 192 bytes a partition, not verified yet. */
  readonly proofs: readonly Uint8Array[]
  /** Opening the parameters and building the shape, where this batch had to. */
  readonly loadMs: number
}

/** What the engine needs of a device, whatever it is behind. */
export interface DeviceClient {
  readonly info: DeviceInfo
  /** Resolves when the device is gone, asked or not. */
  readonly exited: Promise<WorkerExitedError>
  proveBatch(batch: Batch, options: CallOptions): Promise<BatchResult>
  /** Builds the shape and opens the parameters ahead of the first proof. */
  warm(circuit: DeviceCircuit, options: CallOptions): Promise<void>
  /** Drops a circuit's shape and parameters. */
  forget(circuitId: CircuitId): Promise<void>
  /** Frees the device, ends its threads. Calls in flight reject. Idempotent. */
  close(): Promise<void>
}

/** The functions of `device-worker.ts`. */
export type DeviceFunctions = {
  readonly start: (args: undefined, run: Run) => Promise<DeviceInfo>
  readonly proveBatch: (batch: Batch, run: Run) => Promise<BatchResult>
  readonly warm: (circuit: DeviceCircuit, run: Run) => Promise<void>
  readonly forget: (circuitId: CircuitId) => Promise<void>
  readonly close: () => Promise<void>
}

/** Freeing a device takes milliseconds; one that does not answer is ended. */
const CLOSE_LIMIT_MS = 5_000

/** A device in a worker thread. */
export class WorkerDeviceClient implements DeviceClient {
  readonly info: DeviceInfo
  readonly #link: WorkerLink<DeviceFunctions>
  #closing: Promise<void> | undefined

  private constructor(link: WorkerLink<DeviceFunctions>, info: DeviceInfo) {
    this.#link = link
    this.info = info
  }

  /**
   * Starts the worker, opens the device and waits for its self-test.
   * @throws {GpuUnavailableError} it can't be opened, or computes wrong
   */
  static async start(spec: DeviceSpec, name: string, options: CallOptions = {}): Promise<WorkerDeviceClient> {
    const link = new WorkerLink<DeviceFunctions>(workerFile('device/device-worker.js'), name, spec)
    // Opening a device is no unit of work that could stop midway: the thread goes.
    const abort = (): void => void link.terminate()
    options.signal?.addEventListener('abort', abort, { once: true })
    try {
      return new WorkerDeviceClient(link, await link.call('start', undefined, options))
    } catch (error) {
      await link.terminate()
      throw error
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
  }

  get exited(): Promise<WorkerExitedError> {
    return this.#link.exited
  }

  proveBatch(batch: Batch, options: CallOptions): Promise<BatchResult> {
    return this.#link.call('proveBatch', batch, options)
  }

  warm(circuit: DeviceCircuit, options: CallOptions): Promise<void> {
    return this.#link.call('warm', circuit, options)
  }

  forget(circuitId: CircuitId): Promise<void> {
    return this.#link.call('forget', circuitId)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const timer = setTimeout(() => void this.#link.terminate(), CLOSE_LIMIT_MS)
    try {
      await this.#link.call('close', undefined as never)
    } catch {
      // It died on the way, or was ended: gone is what was asked for.
    }
    clearTimeout(timer)
    await this.#link.terminate()
  }
}
