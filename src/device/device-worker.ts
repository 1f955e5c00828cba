/**
 * Entry of a device's worker: opens the device, keeps the circuits that it was told of (shape, parameters, points), and proves
 * batches on it. The calls come from `WorkerDeviceClient`; what is not released there is released here by `forget` and `close`.
 */
import { workerData } from 'node:worker_threads'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { circuitShape } from '../circuit/circuit-shape.ts'
import { CpuDevice } from '../cpu/cpu-device.ts'
import { GpuUnavailableError, ProverError, toErrorObject } from '../errors.ts'
import { proveBatch } from '../groth16/prove-batch.ts'
import type { DeviceShape, ProvingDevice, Run } from '../groth16/proving-device.ts'
import { SrsPoints } from '../groth16/srs-points.ts'
import { SrsFile } from '../params/srs-file.ts'
import type { Batch, BatchResult, DeviceCircuit, DeviceFunctions, DeviceInfo, DeviceSpec } from './device-client.ts'
import { endWorker, serveWorker } from './worker-link.ts'

/** What the device keeps of a circuit. */
interface OpenCircuit {
  readonly shape: DeviceShape
  readonly file: SrsFile
  readonly points: SrsPoints
}

const circuits = new Map<CircuitId, { readonly digest: string; readonly opened: Promise<OpenCircuit> }>()
let device: ProvingDevice | undefined

const functions: DeviceFunctions = {
  async start(_, run): Promise<DeviceInfo> {
    const { threads, relaxedSimd } = workerData as DeviceSpec
    try {
      device = await CpuDevice.create({ threads, relaxedSimd })
      await device.selfTest(run)
    } catch (error) {
      await device?.close()
      const { message } = toErrorObject(error)
      throw new GpuUnavailableError(`the CPU device can't be used: ${message}`, {
        details: { device: device?.name ?? 'CPU (WebAssembly)' },
        cause: error,
      })
    }
    const { kind, name, maxLog2Domain } = device
    return { kind, name, maxLog2Domain }
  },

  async proveBatch(batch: Batch, run: Run): Promise<BatchResult> {
    const from = performance.now()
    const { shape, file, points } = await open(batch, run)
    const loadMs = performance.now() - from
    try {
      const input = { device: theDevice(), shape, witnesses: batch.witnesses, points, key: file.key }
      return { proofs: await proveBatch(input, { ...run, urgent: batch.urgent }), loadMs }
    } catch (error) {
      // The file changed or holds a bad point: whoever comes next reads it anew.
      if (ProverError.is(error) && error.code === 'ERR_SRS_UNAVAILABLE') await forget(batch.circuitId)
      throw error
    }
  },

  async warm(circuit: DeviceCircuit, run: Run): Promise<void> {
    await open(circuit, run)
  },

  forget,

  async close(): Promise<void> {
    for (const circuitId of [...circuits.keys()]) await forget(circuitId)
    await device?.close()
    // After the reply has left.
    setImmediate(endWorker)
  },
}

/** Opens a circuit, or shares what is open. Parameters that came to be others (made anew) are opened anew. */
async function open(circuit: DeviceCircuit, run: Run): Promise<OpenCircuit> {
  const { circuitId, parameters } = circuit
  const known = circuits.get(circuitId)
  if (known?.digest === parameters.paramsDigest) return known.opened
  if (known !== undefined) await forget(circuitId)
  const opened = openCircuit(circuit, run)
  circuits.set(circuitId, { digest: parameters.paramsDigest, opened })
  try {
    return await opened
  } catch (error) {
    if (circuits.get(circuitId)?.opened === opened) circuits.delete(circuitId)
    throw error
  }
}

async function openCircuit({ circuitId, parameters, keepPoints }: DeviceCircuit, run: Run): Promise<OpenCircuit> {
  const recorded = circuitShape(circuitId)
  const file = await SrsFile.open(parameters, recorded, run)
  try {
    const shape = await theDevice().loadShape(recorded)
    return { shape, file, points: new SrsPoints(theDevice(), file, { keep: keepPoints }) }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function forget(circuitId: CircuitId): Promise<void> {
  const known = circuits.get(circuitId)
  if (known === undefined) return
  circuits.delete(circuitId)
  try {
    const { shape, file, points } = await known.opened
    points.release()
    shape.release()
    await file.close()
  } catch {
    // It could not be opened: there is nothing to free.
  }
}

function theDevice(): ProvingDevice {
  if (device === undefined) throw new Error('the device was not started')
  return device
}

serveWorker(functions)
