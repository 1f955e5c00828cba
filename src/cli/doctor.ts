/**
 * What a machine can prove, and why not the rest: every adapter opened and tested, the processor's features, memory,
 * parameters, and each circuit as an engine with default options would place it.
 */
import { availableParallelism, cpus } from 'node:os'
import { type CircuitCapability, circuitIds } from '../budget/capabilities.ts'
import { circuitSize } from '../budget/circuit-sizes.ts'
import { budgetBytes, type MachineMemory, machineMemory } from '../budget/detect-memory.ts'
import { estimateTime, type TimeEstimate } from '../budget/estimate-time.ts'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { MAX_LOG2_DOMAIN } from '../cpu/ntt/transform.ts'
import { enableRelaxedSimd, hasRelaxedSimd, isMultiplyAddFused } from '../cpu/relaxed-simd.ts'
import { WorkerDeviceClient } from '../device/device-client.ts'
import type { AdapterDetails, TuningInUse } from '../device/device-spec.ts'
import { CPU_NAME, gpuSpec } from '../device/open-devices.ts'
import { Engine } from '../engine.ts'
import { ProverError, toErrorObject } from '../errors.ts'
import type { DeviceRates } from '../groth16/device-rates.ts'
import { parameterDirectory, type ResolvedOptions, resolveOptions } from '../options.ts'
import type { FoundParameters } from '../srs/look-for-parameters.ts'
import { ParametersPresent } from '../srs/parameters-present.ts'
import { type ListedAdapter, listAdapters } from '../webgpu/list-adapters.ts'
import { busyWarnings, loadAverage } from './busy.ts'

export interface AdapterReport extends ListedAdapter {
  /** What it says of itself once opened. */
  readonly details?: AdapterDetails
  readonly maxLog2Domain?: number
  readonly selfTest: 'passed' | 'failed' | 'skipped'
  readonly selfTestMs?: number
  /** Why it can't be used, or was not tested. */
  readonly reason?: string
  /** What it is tuned to, and since when. */
  readonly tuning?: TuningInUse
  /** Of hardware. */
  readonly rates?: DeviceRates
}

export interface CircuitReport extends CircuitCapability {
  readonly parameters: FoundParameters
  /** By the rates of the first adapter that can serve it, else of the CPU device; parameters or not. */
  readonly estimate?: TimeEstimate & { readonly device: string }
}

export interface DoctorReport {
  readonly node: string
  readonly platform: string
  readonly cpu: {
    readonly model: string
    readonly cores: number
    /** Without a flag; Node 20 has it behind one. */
    readonly relaxedSimd: boolean
    readonly relaxedSimdWithFlag: boolean
    /** Multiply-add rounds once, as the fast kernels need. */
    readonly fusedMultiplyAdd: boolean
    /** Of the CPU device. */
    readonly threads: number
    /** Of the CPU device with default options. */
    readonly rates?: DeviceRates
    /** Why the CPU device can't be used, or was not measured. */
    readonly reason?: string
    /** With `cpu.relaxedSimd: 'enable'`, where that changes something. */
    readonly ratesWithFlag?: DeviceRates
  }
  readonly memory: MachineMemory & { readonly engineBytes: number }
  readonly adapters: readonly AdapterReport[]
  /** Why adapters could not be looked for, or none is used. */
  readonly gpuUnavailable?: string
  /** Names of the devices that the engine took. */
  readonly devices: readonly string[]
  readonly parameterCache: string
  readonly circuits: readonly CircuitReport[]
  /** At least one device works; which circuits have parameters is another matter. */
  readonly canProve: boolean
  /** Why no device works. */
  readonly failure?: string
  /** What says that rates are lower than the machine's own. */
  readonly warnings: readonly string[]
}

/** Software adapters compile kernels slowly; what they can do is no reason to wait. */
const SELF_TEST_LIMIT_MS = 60_000

/** Measuring hardware takes seconds. */
const MEASURE_LIMIT_MS = 120_000

export interface ExamineOptions {
  readonly parameterCache?: string | undefined
  /**
   * Also find out what the GPUs are best tuned to, whatever is remembered of them, and remember that.
   * @default false
   */
  readonly calibrate?: boolean | undefined
}

export async function examine({ parameterCache, calibrate = false }: ExamineOptions = {}): Promise<DoctorReport> {
  const load = loadAverage()
  const folder = parameterDirectory(parameterCache, '--parameters')
  const options = resolveOptions({ parameterCache: folder })
  const { adapters: listed, reason } = await listAdapters()
  const adapters: AdapterReport[] = []
  for (const adapter of listed) adapters.push(await examineAdapter(adapter, calibrate))
  const { devices, capabilities, gpuUnavailable, failure } = await examineEngine(folder)
  const present = new ParametersPresent(folder)
  await present.look()
  const cpu = await examineCpu(options)
  const gpuReason = reason ?? gpuUnavailable
  const measured = [...adapters, { ...cpu, name: CPU_NAME, maxLog2Domain: MAX_LOG2_DOMAIN }]
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu,
    memory: { ...machineMemory(), engineBytes: budgetBytes(options.memory) },
    adapters,
    ...(gpuReason !== undefined && { gpuUnavailable: gpuReason }),
    devices,
    parameterCache: folder,
    circuits: circuitIds().map((circuitId) => circuitReport(circuitId, present, capabilities, measured)),
    canProve: devices.length > 0,
    ...(failure !== undefined && { failure }),
    warnings: busyWarnings(load, Object.fromEntries(measured.map(({ name, rates }) => [name, rates]))),
  }
}

/** Last: the flag of Node 20 that it sets is one of the whole process, and what came before is without it. */
async function examineCpu({ cpu }: Pick<ResolvedOptions, 'cpu'>): Promise<DoctorReport['cpu']> {
  const relaxedSimd = hasRelaxedSimd()
  const { rates, reason } = await cpuRates(cpu)
  const relaxedSimdWithFlag = enableRelaxedSimd()
  const ratesWithFlag = relaxedSimdWithFlag && !relaxedSimd ? (await cpuRates(cpu)).rates : undefined
  return {
    model: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    relaxedSimd,
    relaxedSimdWithFlag,
    fusedMultiplyAdd: isMultiplyAddFused(),
    threads: cpu.threads,
    ...(rates !== undefined && { rates }),
    ...(reason !== undefined && { reason }),
    ...(ratesWithFlag !== undefined && { ratesWithFlag }),
  }
}

/** A machine may lack the memory for the CPU device, or be so busy or slow that it has no rates worth telling. */
async function cpuRates(cpu: ResolvedOptions['cpu']): Promise<Pick<DoctorReport['cpu'], 'rates' | 'reason'>> {
  let client: WorkerDeviceClient | undefined
  try {
    client = await WorkerDeviceClient.start({ kind: 'cpu', ...cpu }, 'doctor cpu')
    return { rates: await client.measure({}, { signal: AbortSignal.timeout(MEASURE_LIMIT_MS) }) }
  } catch (error) {
    if (isTimeout(error)) return { reason: `not measured within ${MEASURE_LIMIT_MS / 1000} s` }
    if (ProverError.is(error)) return { reason: error.message }
    throw error
  } finally {
    await client?.close()
  }
}

const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === 'TimeoutError'

/** Opens an adapter in a process of its own, software ones too, and tests it. */
async function examineAdapter(adapter: ListedAdapter, calibrate: boolean): Promise<AdapterReport> {
  const spec = { ...gpuSpec(adapter, resolveOptions({ gpu: { allowSoftware: true } }).gpu), selfTest: false }
  let client: WorkerDeviceClient | undefined
  let opened: Pick<AdapterReport, 'details' | 'maxLog2Domain' | 'tuning'> = {}
  try {
    client = await WorkerDeviceClient.start(spec, `doctor ${adapter.name}`, { isolation: 'process' })
    const { adapter: details, maxLog2Domain, tuning } = client.info
    opened = { maxLog2Domain, ...(details !== undefined && { details }), ...(tuning !== undefined && { tuning }) }
    const from = performance.now()
    await client.selfTest({ signal: AbortSignal.timeout(SELF_TEST_LIMIT_MS) })
    const selfTestMs = Math.round(performance.now() - from)
    if (calibrate && !adapter.software) {
      opened = { ...opened, tuning: await client.calibrate({ signal: AbortSignal.timeout(MEASURE_LIMIT_MS) }) }
    }
    const rates = adapter.software ? undefined : await gpuRates(client)
    return { ...adapter, ...opened, selfTest: 'passed', selfTestMs, ...(rates !== undefined && { rates }) }
  } catch (error) {
    if (isTimeout(error)) {
      return { ...adapter, ...opened, selfTest: 'skipped', reason: `not done within ${SELF_TEST_LIMIT_MS / 1000} s` }
    }
    return { ...adapter, ...opened, selfTest: 'failed', reason: toErrorObject(error).message }
  } finally {
    await client?.close()
  }
}

/** A GPU that passed its test is of use also if it can't be measured, for want of memory or time. */
async function gpuRates(client: WorkerDeviceClient): Promise<DeviceRates | undefined> {
  try {
    return await client.measure({}, { signal: AbortSignal.timeout(MEASURE_LIMIT_MS) })
  } catch (error) {
    if (isTimeout(error) || ProverError.is(error)) return undefined
    throw error
  }
}

interface EngineFindings {
  readonly devices: readonly string[]
  readonly capabilities: readonly CircuitCapability[]
  readonly gpuUnavailable?: string | undefined
  readonly failure?: string
}

/** What an engine makes of this machine. Development parameters count here: a column says which are. */
async function examineEngine(parameterCache: string): Promise<EngineFindings> {
  try {
    await using engine = await Engine.create({ parameterCache, allowDevelopmentParameters: true })
    const { gpus, gpuUnavailable } = engine.status()
    const working = gpus.filter(({ state }) => state !== 'excluded')
    return { devices: working.map(({ name }) => name), capabilities: engine.capabilities(), gpuUnavailable }
  } catch (error) {
    if (!ProverError.is(error)) throw error
    return { devices: [], capabilities: [], failure: error.message }
  }
}

function circuitReport(
  circuitId: CircuitId,
  present: ParametersPresent,
  capabilities: readonly CircuitCapability[],
  measured: readonly { readonly name: string; readonly rates?: DeviceRates; readonly maxLog2Domain?: number }[],
): CircuitReport {
  const known = capabilities.find((capability) => capability.circuitId === circuitId)
  const capability = known ?? { circuitId, available: false, warm: false, reason: 'no device works' }
  const size = circuitSize(circuitId)
  const device = measured.find(
    ({ rates, maxLog2Domain }) => rates !== undefined && size !== undefined && size.log2Domain <= (maxLog2Domain ?? 0),
  )
  const estimate =
    device?.rates !== undefined && size !== undefined
      ? { device: device.name, ...estimateTime(circuitId, size, device.rates) }
      : undefined
  return { ...capability, parameters: present.found(circuitId), ...(estimate !== undefined && { estimate }) }
}
