/**
 * What a machine can prove, and why not the rest: every adapter opened and tested, the processor's features, memory, parameters,
 * and each circuit as an engine with default options would place it.
 */
import { availableParallelism, cpus } from 'node:os'
import { type CircuitCapability, circuitIds } from '../budget/capabilities.ts'
import { budgetBytes, type MachineMemory, machineMemory } from '../budget/detect-memory.ts'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { enableRelaxedSimd, hasRelaxedSimd, isMultiplyAddFused } from '../cpu/relaxed-simd.ts'
import { WorkerDeviceClient } from '../device/device-client.ts'
import type { AdapterDetails } from '../device/device-spec.ts'
import { gpuSpec } from '../device/open-devices.ts'
import { Engine } from '../engine.ts'
import { ProverError, toErrorObject } from '../errors.ts'
import { parameterDirectory, resolveOptions } from '../options.ts'
import { type FoundParameters, foundParameters } from '../srs/parameters-present.ts'
import { type ListedAdapter, listAdapters } from '../webgpu/list-adapters.ts'

export interface AdapterReport extends ListedAdapter {
  /** What it says of itself once opened. */
  readonly details?: AdapterDetails
  readonly maxLog2Domain?: number
  readonly selfTest: 'passed' | 'failed' | 'skipped'
  readonly selfTestMs?: number
  /** Why it can't be used, or was not tested. */
  readonly reason?: string
}

export interface CircuitReport extends CircuitCapability {
  readonly parameters: FoundParameters
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
}

/** Software adapters compile kernels slowly; what they can do is no reason to wait. */
const SELF_TEST_LIMIT_MS = 60_000

export async function examine({ parameterCache }: { parameterCache?: string | undefined } = {}): Promise<DoctorReport> {
  const folder = parameterDirectory(parameterCache, '--parameters')
  const relaxedSimd = hasRelaxedSimd()
  // A process of our own: the flag of Node 20 may be set.
  const relaxedSimdWithFlag = enableRelaxedSimd()
  const options = resolveOptions({ parameterCache: folder })
  const { adapters: listed, reason } = await listAdapters()
  const adapters: AdapterReport[] = []
  for (const adapter of listed) adapters.push(await examineAdapter(adapter))
  const { devices, capabilities, gpuUnavailable, failure } = await examineEngine(folder)
  const gpuReason = reason ?? gpuUnavailable
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: {
      model: cpus()[0]?.model.trim() ?? 'unknown',
      cores: availableParallelism(),
      relaxedSimd,
      relaxedSimdWithFlag,
      fusedMultiplyAdd: isMultiplyAddFused(),
      threads: options.cpu.threads,
    },
    memory: { ...machineMemory(), engineBytes: budgetBytes(options.memory) },
    adapters,
    ...(gpuReason !== undefined && { gpuUnavailable: gpuReason }),
    devices,
    parameterCache: folder,
    circuits: circuitIds().map((circuitId) => circuitReport(circuitId, folder, capabilities)),
    canProve: devices.length > 0,
    ...(failure !== undefined && { failure }),
  }
}

/** Opens an adapter in a process of its own, software ones too, and tests it. */
async function examineAdapter(adapter: ListedAdapter): Promise<AdapterReport> {
  const spec = { ...gpuSpec(adapter, resolveOptions({ gpu: { allowSoftware: true } }).gpu), selfTest: false }
  let client: WorkerDeviceClient | undefined
  let opened: Pick<AdapterReport, 'details' | 'maxLog2Domain'> = {}
  try {
    client = await WorkerDeviceClient.start(spec, `doctor ${adapter.name}`, { isolation: 'process' })
    const { adapter: details, maxLog2Domain } = client.info
    opened = { maxLog2Domain, ...(details !== undefined && { details }) }
    const from = performance.now()
    await client.selfTest({ signal: AbortSignal.timeout(SELF_TEST_LIMIT_MS) })
    return { ...adapter, ...opened, selfTest: 'passed', selfTestMs: Math.round(performance.now() - from) }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      return { ...adapter, ...opened, selfTest: 'skipped', reason: `not done within ${SELF_TEST_LIMIT_MS / 1000} s` }
    }
    return { ...adapter, ...opened, selfTest: 'failed', reason: toErrorObject(error).message }
  } finally {
    await client?.close()
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
    await using engine = await Engine.create({
      parameterCache,
      allowDevelopmentParameters: true,
      cpu: { relaxedSimd: 'enable' },
    })
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
  folder: string,
  capabilities: readonly CircuitCapability[],
): CircuitReport {
  const known = capabilities.find((capability) => capability.circuitId === circuitId)
  const capability = known ?? { circuitId, available: false, warm: false, reason: 'no device works' }
  return { ...capability, parameters: foundParameters(circuitId, folder) }
}
