/**
 * What a device's worker does: opens the device, keeps the circuits that it was told of (shape, parameters, points), and proves
 * batches on it. The calls come from `WorkerDeviceClient`; what is not released there is released here by `forget` and `close`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { circuitShape } from '../circuit/circuit-shape.ts'
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import { GpuUnavailableError, ProverError, toErrorObject } from '../errors.ts'
import { measureRates } from '../groth16/device-rates.ts'
import { proveBatch } from '../groth16/prove-batch.ts'
import type { DeviceShape, Milestone, ProvingDevice, Run } from '../groth16/proving-device.ts'
import { SrsPoints } from '../groth16/srs-points.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { SrsFile } from '../params/srs-file.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import type {
  BatchResult,
  DeviceCircuit,
  DeviceFunctions,
  SentBytes,
  SentWitness,
  WorkerBatch,
} from './device-client.ts'
import type { DeviceInfo, DeviceSpec } from './device-spec.ts'
import { makeParameters } from './made-parameters.ts'

/** What the device keeps of a circuit. */
interface OpenCircuit {
  readonly shape: DeviceShape
  readonly file: Pick<SrsFile, 'key' | 'close'>
  readonly points: SrsPoints
}

/** A device that was opened, and what only one kind has. */
interface OpenDevice {
  readonly device: ProvingDevice
  readonly info: DeviceInfo
  /** Resolves if the device is lost without having been closed. */
  readonly lost?: Promise<Error>
  /** Small work until the signal aborts, so that the clocks of a card are up when a proof comes. */
  readonly warmUp?: (signal: AbortSignal) => Promise<void>
}

/** Calls in flight get their replies before a worker whose device was lost ends. */
const LAST_REPLIES_MS = 100

/** A request whose witness does not come is not waited for any longer. */
const WARM_UP_LIMIT_MS = 10_000

/**
 * The functions of one worker, and their state.
 * @param end ends the worker, with the error it ends of if it has one
 */
export function deviceFunctions(end: (error?: Error) => void): DeviceFunctions {
  return new DeviceHost(end).functions
}

class DeviceHost {
  readonly #end: (error?: Error) => void
  readonly #circuits = new Map<CircuitId, { readonly digest: string; readonly opened: Promise<OpenCircuit> }>()
  readonly #received = new Map<number, { readonly bytes: Uint8Array; at: number }>()
  #warming: AbortController | undefined
  #open: OpenDevice | undefined
  #closing = false

  constructor(end: (error?: Error) => void) {
    this.#end = end
  }

  readonly functions: DeviceFunctions = {
    start: (spec, run) => this.#start(spec, run),
    selfTest: (_, run) => this.#device.selfTest(run),
    measure: (options, run) => measureRates(this.#device, options, run),
    proveBatch: (batch, run) => this.#proveBatch(batch, run),
    warm: async (circuit, run) => void (await this.#openCircuit(circuit, run)),
    receive: (part) => this.#receive(part),
    discard: (ids) => {
      for (const id of ids) this.#received.delete(id)
    },
    warmUp: (_, run) => this.#warmUp(run),
    forget: (circuitId) => this.#forget(circuitId),
    close: () => this.#close(),
  }

  get #device(): ProvingDevice {
    if (this.#open === undefined) throw new Error('the device was not started')
    return this.#open.device
  }

  async #start(spec: DeviceSpec, run: Run): Promise<DeviceInfo> {
    try {
      this.#open = spec.kind === 'cpu' ? await openCpu(spec) : await openWebGpu(spec)
      run.signal.throwIfAborted()
      if (spec.kind === 'cpu' || spec.selfTest !== false) await this.#device.selfTest(run)
      run.signal.throwIfAborted()
    } catch (error) {
      this.#closing = true
      await this.#open?.device.close()
      if (ProverError.is(error) && error.code === 'ERR_GPU_UNAVAILABLE') throw error
      const name = this.#open?.info.name ?? (spec.kind === 'cpu' ? 'the CPU device' : (spec.adapter ?? 'the GPU'))
      throw new GpuUnavailableError(`${name} can't be used: ${toErrorObject(error).message}`, {
        details: { device: name },
        cause: error,
      })
    }
    void this.#open.lost?.then((error) => this.#lost(error))
    return this.#open.info
  }

  /** The driver took the device away: whoever waits has been told by then, and a new worker is to open it anew. */
  async #lost(error: Error): Promise<void> {
    if (this.#closing) return
    await delay(LAST_REPLIES_MS)
    if (this.#closing) return
    this.#closing = true
    await this.#device.close()
    this.#end(error)
  }

  async #proveBatch(batch: WorkerBatch, run: Run): Promise<BatchResult> {
    this.#warming?.abort()
    const from = performance.now()
    const witnesses = batch.witnesses.map((witness) => this.#witness(witness))
    const { shape, file, points } = await this.#openCircuit(batch, run)
    const loadMs = performance.now() - from
    try {
      const input = { device: this.#device, shape, witnesses, points, key: file.key }
      const passed = (milestone: Milestone): void => {
        // Copies that were sent here go: who sent them has the original for another try.
        if (milestone === 'taken') witnesses.length = 0
        run.passed?.(milestone)
      }
      return { proofs: await proveBatch(input, { ...run, urgent: batch.urgent, passed }), loadMs }
    } catch (error) {
      if (ProverError.is(error)) {
        // The file changed or holds a bad point: whoever comes next reads it anew.
        if (error.code === 'ERR_SRS_UNAVAILABLE') await this.#forget(batch.circuitId)
        // Points of other circuits are all that can be given up for the next try.
        if (error.code === 'ERR_GPU_OUT_OF_MEMORY') await this.#forgetOthers(batch.circuitId)
      }
      throw error
    }
  }

  #receive({ id, total, offset, bytes }: SentBytes): void {
    const known = this.#received.get(id) ?? { bytes: new Uint8Array(total), at: 0 }
    if (known.at !== offset || offset + bytes.length > known.bytes.length) {
      throw new RangeError(
        `bytes ${offset} to ${offset + bytes.length} of ${known.bytes.length} came after ${known.at}`,
      )
    }
    known.bytes.set(bytes, offset)
    known.at += bytes.length
    this.#received.set(id, known)
  }

  #witness(witness: CompactWitness | SentWitness): CompactWitness {
    if (!('sent' in witness)) return witness
    const [inputs, bits, wide] = witness.sent.map((id) => {
      const known = this.#received.get(id)
      this.#received.delete(id)
      if (known === undefined || known.at !== known.bytes.length) throw new Error('a part of the witness did not come')
      return known.bytes
    }) as [Uint8Array, Uint8Array, Uint8Array]
    return { inputs, bits, wide }
  }

  async #warmUp(run: Run): Promise<void> {
    if (this.#open?.warmUp === undefined) return
    this.#warming?.abort()
    const warming = new AbortController()
    this.#warming = warming
    await this.#open.warmUp(AbortSignal.any([warming.signal, run.signal, AbortSignal.timeout(WARM_UP_LIMIT_MS)]))
  }

  /** Opens a circuit, or shares what is open. Parameters that came to be others (made anew) are opened anew. */
  async #openCircuit(circuit: DeviceCircuit, run: Run): Promise<OpenCircuit> {
    const { circuitId, parameters } = circuit
    const known = this.#circuits.get(circuitId)
    if (known?.digest === parameters.paramsDigest) return known.opened
    if (known !== undefined) await this.#forget(circuitId)
    const opened = this.#load(circuit, run)
    this.#circuits.set(circuitId, { digest: parameters.paramsDigest, opened })
    try {
      return await opened
    } catch (error) {
      if (this.#circuits.get(circuitId)?.opened === opened) this.#circuits.delete(circuitId)
      throw error
    }
  }

  async #load({ circuitId, parameters, keepPoints }: DeviceCircuit, run: Run): Promise<OpenCircuit> {
    const recorded = circuitShape(circuitId)
    if (parameters.made !== undefined) return await this.#makeCircuit(recorded, parameters, parameters.made, run)
    const file = await SrsFile.open(parameters, recorded, run)
    try {
      const shape = await this.#device.loadShape(recorded)
      return { shape, file, points: new SrsPoints(this.#device, file, { keep: keepPoints }) }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** As {@link #load}, with parameters that the device makes and keeps. */
  async #makeCircuit(
    recorded: CircuitShape,
    parameters: ParametersLocation,
    made: ToxicWaste,
    run: Run,
  ): Promise<OpenCircuit> {
    const shape = await this.#device.loadShape(recorded)
    try {
      return { shape, ...(await makeParameters(this.#device, recorded, { ...parameters, made }, { keep: true }, run)) }
    } catch (error) {
      shape.release()
      throw error
    }
  }

  async #forget(circuitId: CircuitId): Promise<void> {
    const known = this.#circuits.get(circuitId)
    if (known === undefined) return
    this.#circuits.delete(circuitId)
    try {
      const { shape, file, points } = await known.opened
      points.release()
      shape.release()
      await file.close()
    } catch {
      // It could not be opened: there is nothing to free.
    }
  }

  async #forgetOthers(but: CircuitId): Promise<void> {
    for (const circuitId of [...this.#circuits.keys()]) if (circuitId !== but) await this.#forget(circuitId)
  }

  async #close(): Promise<void> {
    this.#closing = true
    this.#warming?.abort()
    for (const circuitId of [...this.#circuits.keys()]) await this.#forget(circuitId)
    await this.#open?.device.close()
    // Nothing may hold the driver's instance any more.
    this.#open = undefined
    // After the reply has left.
    setImmediate(this.#end)
  }
}

/** Imported lazily, so that a worker loads what its device needs and nothing else. */
async function openCpu({ threads, relaxedSimd }: DeviceSpec & { kind: 'cpu' }): Promise<OpenDevice> {
  const { CpuDevice } = await import('../cpu/cpu-device.ts')
  const device = await CpuDevice.create({ threads, relaxedSimd })
  const { kind, name, maxLog2Domain } = device
  return { device, info: { kind, name, maxLog2Domain } }
}

async function openWebGpu(spec: DeviceSpec & { kind: 'webgpu' }): Promise<OpenDevice> {
  const { WebGpuDevice } = await import('../webgpu/webgpu-device.ts')
  const { adapter, allowSoftware, requiredLimits, memoryBytes } = spec
  const device = await WebGpuDevice.create({
    adapter,
    allowSoftware,
    requiredLimits,
    memoryBytes: memoryBytes === 'auto' ? undefined : memoryBytes,
  })
  const { kind, name, maxLog2Domain, details, lost } = device
  return {
    device,
    info: { kind, name: adapter ?? name, maxLog2Domain, adapter: details },
    lost,
    warmUp: (signal) => device.warmUp(signal),
  }
}
