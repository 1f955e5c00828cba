/**
 * How fast a device of this machine is: its rates, what follows of them for each circuit, and the device's part of
 * proofs of circuits whose parameters are there. Those have random witnesses, so that no sector is needed: they take
 * the time of proofs and are none.
 */
import { availableParallelism, cpus } from 'node:os'
import { circuitIds } from '../budget/capabilities.ts'
import { circuitSize } from '../budget/circuit-sizes.ts'
import { machineMemory } from '../budget/detect-memory.ts'
import { estimateTime, type TimeEstimate } from '../budget/estimate-time.ts'
import { estimateCircuit } from '../budget/estimates.ts'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { circuitShape } from '../circuit/circuit-shape.ts'
import { WorkerDeviceClient } from '../device/device-client.ts'
import type { AdapterDetails, TuningInUse } from '../device/device-spec.ts'
import { gpuSpec } from '../device/open-devices.ts'
import { GpuUnavailableError } from '../errors.ts'
import { type DeviceRates, randomWitness } from '../groth16/device-rates.ts'
import { parameterDirectory, resolveOptions } from '../options.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { locateParameters } from '../srs/locate-parameters.ts'
import { type AdapterList, listAdapters } from '../webgpu/list-adapters.ts'
import { busyWarnings, loadAverage } from './busy.ts'

export interface BenchOptions {
  /** `cpu`, or a part of an adapter's name (software ones too). @default the first hardware GPU, else the CPU device */
  readonly device?: string | undefined
  /** The evaluation domain to measure, as log2. @default larger ones until a sum takes 60 ms */
  readonly log2Domain?: number | undefined
  /** Circuits to prove; their parameters must be there. */
  readonly circuits: readonly CircuitId[]
  /** Proofs of each circuit after the first. */
  readonly rounds: number
  readonly parameterCache?: string | undefined
  /** Of the CPU device. */
  readonly relaxedSimd: 'auto' | 'enable' | 'never'
  readonly signal?: AbortSignal | undefined
}

export interface CircuitTime extends TimeEstimate {
  readonly circuitId: CircuitId
}

/** The device's part of proofs of one partition. */
export interface ProofTimes {
  readonly circuitId: CircuitId
  readonly development: boolean
  /** Building the shape and opening the parameters: their digest is computed where it is not known yet. */
  readonly loadMs: number
  /** Kernels are compiled and points imported in it. */
  readonly firstMs: number
  readonly nextMs: readonly number[]
  /** Whether the points stayed on the device between proofs. */
  readonly keptPoints: boolean
}

export interface BenchReport {
  readonly node: string
  readonly platform: string
  readonly cpu: { readonly model: string; readonly cores: number }
  readonly device: string
  readonly adapter?: AdapterDetails
  /** What a GPU is tuned to, and since when. */
  readonly tuning?: TuningInUse
  /** Opening the device. */
  readonly openMs: number
  readonly rates: DeviceRates
  /** By the rates, for every circuit that the device can serve. */
  readonly estimates: readonly CircuitTime[]
  readonly proofs: readonly ProofTimes[]
  /** What says that rates are lower than the machine's own. */
  readonly warnings: readonly string[]
}

/**
 * @throws {GpuUnavailableError} there is no such device
 * @throws {SrsUnavailableError} a circuit has no parameters
 */
export async function bench(options: BenchOptions): Promise<BenchReport> {
  const { signal, log2Domain } = options
  const load = loadAverage()
  const circuits: ParametersLocation[] = []
  const directory = parameterDirectory(options.parameterCache, '--parameters')
  for (const id of options.circuits) circuits.push(await locateParameters(id, { directory, allowDevelopment: true }))
  const from = performance.now()
  const client = await openDevice(options)
  try {
    const openMs = performance.now() - from
    const { name, adapter, tuning, maxLog2Domain } = client.info
    const rates = await client.measure({ log2Domain }, { signal })
    const proofs: ProofTimes[] = []
    for (const parameters of circuits) proofs.push(await proofTimes(client, parameters, options))
    return {
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      cpu: { model: cpus()[0]?.model.trim() ?? 'unknown', cores: availableParallelism() },
      device: name,
      ...(adapter !== undefined && { adapter }),
      ...(tuning !== undefined && { tuning }),
      openMs,
      rates,
      estimates: circuitTimes(rates, maxLog2Domain),
      proofs,
      warnings: busyWarnings(load, { [name]: rates }),
    }
  } finally {
    await client.close()
  }
}

/** What rates say of every circuit with a domain that the device serves. */
export function circuitTimes(rates: DeviceRates, maxLog2Domain: number): CircuitTime[] {
  return circuitIds().flatMap((circuitId) => {
    const size = circuitSize(circuitId)
    if (size === undefined || size.log2Domain > maxLog2Domain) return []
    return [{ circuitId, ...estimateTime(circuitId, size, rates) }]
  })
}

const NO_ADAPTERS: AdapterList = { adapters: [] }

async function openDevice({ device, relaxedSimd, signal }: BenchOptions): Promise<WorkerDeviceClient> {
  const { cpu, gpu } = resolveOptions({ gpu: { allowSoftware: device !== undefined } })
  const { adapters, reason } = device === 'cpu' ? NO_ADAPTERS : await listAdapters(signal)
  const wanted = device?.toLowerCase()
  const adapter = adapters.find(({ name, software }) =>
    wanted === undefined ? !software : name.toLowerCase().includes(wanted),
  )
  if (adapter !== undefined) {
    return await WorkerDeviceClient.start(gpuSpec(adapter, gpu), 'bench', { isolation: 'process', signal })
  }
  if (device !== undefined && device !== 'cpu') {
    const received = reason ?? (adapters.map(({ name }) => name).join('; ') || 'no adapter')
    throw new GpuUnavailableError(`no GPU named ${device}: this machine has ${received}`, {
      details: { field: '--device', expected: device, received },
    })
  }
  return await WorkerDeviceClient.start({ kind: 'cpu', ...cpu, relaxedSimd }, 'bench', { signal })
}

async function proofTimes(
  client: WorkerDeviceClient,
  parameters: ParametersLocation,
  { rounds, signal }: BenchOptions,
): Promise<ProofTimes> {
  const { circuitId } = parameters
  const size = circuitSize(circuitId)
  const machine = { device: client.info.kind, totalBytes: machineMemory().ramBytes, threads: availableParallelism() }
  const keepPoints = size !== undefined && estimateCircuit(size, machine).keepPoints
  const circuit = { circuitId, parameters, keepPoints }
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const from = performance.now()
    await work()
    return performance.now() - from
  }
  const witness = randomWitness(circuitShape(circuitId))
  const prove = (): Promise<number> => timed(() => client.proveBatch({ ...circuit, witnesses: [witness] }, { signal }))
  const loadMs = await timed(() => client.warm(circuit, { signal }))
  const firstMs = await prove()
  const nextMs: number[] = []
  for (let i = 0; i < rounds; i++) nextMs.push(await prove())
  await client.forget(circuitId)
  return { circuitId, development: parameters.development, loadMs, firstMs, nextMs, keptPoints: keepPoints }
}
