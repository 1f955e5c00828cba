/**
 * The main side of a device: one worker (a thread or a child process), one device, and calls that carry whole batches.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { CompactWitness } from '../circuit/shape.ts'
import { workerFile } from '../cpu/wasm-file.ts'
import { ProverError } from '../errors.ts'
import type { DeviceRates, MeasureOptions } from '../groth16/device-rates.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import type { DeviceInfo, DeviceSpec, TuningInUse } from './device-spec.ts'
import type { CallOptions, Link } from './link.ts'
import { ProcessLink } from './process-link.ts'
import { STALL_MS } from './stall-watch.ts'
import { WorkerLink } from './worker-link.ts'

/** A circuit that a device is to work on. */
export interface DeviceCircuit {
  readonly circuitId: CircuitId
  readonly parameters: ParametersLocation
  /** Of the set-up of parameters that the device makes. */
  readonly secrets?: ToxicWaste | undefined
  /**
   * Keep the imported points for the next batch: their memory is reserved, or the device's own, as far as that has room
   * for them.
   */
  readonly keepPoints: boolean
  /**
   * Set the working set of a batch aside in the device's own memory, for good: the circuit was preloaded to be proved
   * at once.
   */
  readonly setAside?: boolean | undefined
}

/** Partitions of one circuit, proved in one pass over the parameters. */
export interface Batch extends DeviceCircuit {
  readonly witnesses: readonly CompactWitness[]
  /** Its units go before those of other batches on the device. */
  readonly urgent?: boolean | undefined
  /** Among batches that are alike urgent the units of the greater go first. @default 0 */
  readonly rank?: number | undefined
}

/** What a device answers to a batch. */
export interface BatchResult {
  /** 192 bytes a partition, not verified yet. */
  readonly proofs: readonly Uint8Array[]
  /** Opening the parameters and building the shape, where this batch had to. */
  readonly loadMs: number
  /** Where the device has the circuit's points. */
  readonly points?: PointResidency | undefined
  /** Staging buffers that a GPU keeps for what crosses to it. */
  readonly stagingBytes?: number | undefined
}

/** Where the points of a circuit are, in bytes of their encoding. */
export interface PointResidency {
  /** On the device, from its first pass over them on. */
  readonly keptBytes: number
  /** Read from the file in every pass. */
  readonly streamedBytes: number
}

/** What the engine needs of a device, whatever it is behind. */
export interface DeviceClient {
  readonly info: DeviceInfo
  /** Resolves when the device is gone, asked or not. */
  readonly exited: Promise<ProverError>
  /** Staging buffers of a GPU, as of its last batch. */
  readonly stagingBytes?: number | undefined
  proveBatch(batch: Batch, options: CallOptions): Promise<BatchResult>
  /** Builds the shape, opens the parameters and imports points that are kept ahead of the first proof. */
  warm(circuit: DeviceCircuit, options: CallOptions): Promise<PointResidency | undefined>
  /**
   * Keeps a GPU busy with small work until the signal aborts or a batch comes; does nothing on a CPU. Never rejects.
   */
  warmUp(signal: AbortSignal): Promise<void>
  /** Drops a circuit's shape and parameters, and what is set aside for it. A device that does not answer is ended. */
  forget(circuitId: CircuitId): Promise<void>
  /**
   * Ends what {@link DeviceCircuit.setAside} began, and nothing else: the circuit may be in use. A device that does not
   * answer is ended.
   */
  returnAside(circuitId: CircuitId): Promise<void>
  /** Frees the device, ends its threads. Calls in flight reject. Idempotent. */
  close(): Promise<void>
}

/** A batch as its worker gets it: its own list, which can be emptied when the device has the witnesses. */
export interface WorkerBatch extends Omit<Batch, 'witnesses'> {
  readonly witnesses: CompactWitness[]
}

/** The functions of `device-functions.ts`. */
export type DeviceFunctions = {
  readonly start: (spec: DeviceSpec, run: Run) => Promise<DeviceInfo>
  readonly selfTest: (args: undefined, run: Run) => Promise<void>
  readonly measure: (options: MeasureOptions, run: Run) => Promise<DeviceRates>
  readonly calibrate: (args: undefined, run: Run) => Promise<TuningInUse>
  readonly proveBatch: (batch: WorkerBatch, run: Run) => Promise<BatchResult>
  readonly warm: (circuit: DeviceCircuit, run: Run) => Promise<PointResidency | undefined>
  readonly warmUp: (args: undefined, run: Run) => Promise<void>
  readonly forget: (circuitId: CircuitId) => Promise<void>
  readonly returnAside: (circuitId: CircuitId) => void
  readonly close: () => Promise<void>
}

/** Where a device's worker lives. */
export interface DeviceHostOptions {
  /** @default 'thread' */
  readonly isolation?: 'thread' | 'process' | undefined
  /** Variables of a process of its own, beside those of this process. */
  readonly environment?: Readonly<Record<string, string>> | undefined
  /** Built JavaScript that serves {@link DeviceFunctions}. @default that of this package */
  readonly file?: URL | undefined
}

/** Freeing a device takes milliseconds; one that does not answer is ended. */
const CLOSE_LIMIT_MS = 5_000

/** A device in a worker thread or a child process. */
export class WorkerDeviceClient implements DeviceClient {
  readonly info: DeviceInfo
  readonly exited: Promise<ProverError>
  stagingBytes: number | undefined
  readonly #link: Link<DeviceFunctions>
  #lost: ProverError | undefined
  #closing: Promise<void> | undefined

  private constructor(link: Link<DeviceFunctions>, info: DeviceInfo) {
    this.#link = link
    this.info = info
    this.exited = link.exited.then((error) => this.#lost ?? error)
  }

  /**
   * Starts the worker, opens the device and waits for its self-test.
   * @throws {GpuUnavailableError} it can't be opened, or computes wrong
   */
  static async start(
    spec: DeviceSpec,
    name: string,
    {
      isolation,
      environment,
      file = workerFile('device/device-worker.js'),
      ...options
    }: DeviceHostOptions & CallOptions = {},
  ): Promise<WorkerDeviceClient> {
    const endsItself = isolation !== 'process' && spec.kind === 'webgpu'
    const link: Link<DeviceFunctions> =
      isolation === 'process'
        ? new ProcessLink<DeviceFunctions>(file, name, environment)
        : new WorkerLink<DeviceFunctions>(file, name, undefined, endsItself ? { endsBy: 'close' } : {})
    // Opening a device is no unit of work that could stop midway: a process goes at once. A thread stops at its next
    // step: Node 20 leaves files open if it is ended while it loads its modules, and what is native in it can't be
    // ended.
    const abort = (): void => {
      if (isolation === 'process') void link.terminate()
    }
    options.signal?.addEventListener('abort', abort, { once: true })
    try {
      return new WorkerDeviceClient(link, await link.call('start', spec, options))
    } catch (error) {
      await link.terminate()
      throw error
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
  }

  /**
   * For a device that was opened without it.
   * @throws {Error} naming what the device computes wrong
   */
  selfTest(options: CallOptions): Promise<void> {
    return this.#guarded(this.#link.call('selfTest', undefined, options))
  }

  /** How fast the device is. Takes seconds, in which it does little else. */
  measure(what: MeasureOptions, options: CallOptions): Promise<DeviceRates> {
    return this.#guarded(this.#link.call('measure', what, options))
  }

  /**
   * Measures what a GPU is best tuned to, has it use that, and remembers it for other processes.
   * @throws {GpuUnavailableError} it is no GPU
   */
  calibrate(options: CallOptions): Promise<TuningInUse> {
    return this.#guarded(this.#link.call('calibrate', undefined, options))
  }

  async proveBatch(batch: Batch, options: CallOptions): Promise<BatchResult> {
    const witnesses = [...batch.witnesses]
    const result = await this.#guarded(this.#link.call('proveBatch', { ...batch, witnesses }, options))
    this.stagingBytes = result.stagingBytes
    return result
  }

  warm(circuit: DeviceCircuit, options: CallOptions): Promise<PointResidency | undefined> {
    return this.#guarded(this.#link.call('warm', circuit, options))
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    // Whatever goes wrong shows again, and better, when the proof comes.
    await this.#link.call('warmUp', undefined, { signal }).catch(() => {})
  }

  forget(circuitId: CircuitId): Promise<void> {
    return this.#orEnd(STALL_MS, this.#link.call('forget', circuitId))
  }

  returnAside(circuitId: CircuitId): Promise<void> {
    return this.#orEnd(STALL_MS, this.#link.call('returnAside', circuitId))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      await this.#orEnd(CLOSE_LIMIT_MS, this.#link.call('close', undefined as never))
    } catch {
      // It died on the way, or was ended: gone is what was asked for.
    }
    await this.#link.terminate()
  }

  /**
   * A device that does not even drop a circuit hangs: who needs the memory, or waits for its end, would wait for ever.
   */
  async #orEnd<T>(limitMs: number, call: Promise<T>): Promise<T> {
    const timer = setTimeout(() => void this.#link.terminate(), limitMs)
    try {
      return await call
    } finally {
      clearTimeout(timer)
    }
  }

  /** A device that was lost is of no use to the next call: its worker has gone before whoever used it knows. */
  async #guarded<T>(call: Promise<T>): Promise<T> {
    try {
      return await call
    } catch (error) {
      if (ProverError.is(error) && error.code === 'ERR_GPU_DEVICE_LOST') {
        this.#lost = error
        await this.#link.terminate()
      }
      throw error
    }
  }
}
