/** What the worker of a set-up does. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { circuitShape } from '../circuit/circuit-shape.ts'
import type { CircuitShape } from '../circuit/shape.ts'
import { CpuDevice } from '../cpu/cpu-device.ts'
import { asError, GpuUnavailableError, ProverError, UnsupportedProofError } from '../errors.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import type { WebGpuDevice } from '../webgpu/webgpu-device.ts'
import type { DevelopmentFiles } from './files-in-the-making.ts'
import { writeDevelopmentParameters } from './make-development-parameters.ts'

/** A set-up, as its worker is told of it. */
export interface SetupTask {
  readonly circuitId: CircuitId
  readonly files: DevelopmentFiles
  /** Of temporary files. */
  readonly suffix: string
  readonly threads: number | undefined
  readonly relaxedSimd: 'auto' | 'enable' | 'never'
  readonly device: 'cpu' | 'gpu'
  /** Of a GPU. */
  readonly allowSoftware?: boolean | undefined
  readonly toxic?: ToxicWaste | undefined
}

/** For who calls the worker. */
export type SetupFunctions = {
  /** Leaves the files under the names of `suffix`. Returns the digest of the parameter file. */
  readonly setup: (task: SetupTask, run: Run) => Promise<string>
}

/** Makes the files of one set-up. */
export const setupFunctions: SetupFunctions = {
  async setup(task, run) {
    const shape = circuitShape(task.circuitId)
    if (task.device === 'gpu') return await onGpu(task, shape, run)
    const device = await CpuDevice.create(task)
    try {
      return await writeDevelopmentParameters(device, shape, task.files, task.suffix, run, task.toxic)
    } finally {
      await device.close()
    }
  },
}

async function onGpu(task: SetupTask, shape: CircuitShape, run: Run): Promise<string> {
  const device = await openGpu(task, shape, run)
  try {
    return await writeDevelopmentParameters(device, shape, task.files, task.suffix, run, task.toxic)
  } catch (error) {
    if (!ProverError.is(error) || error.code !== 'ERR_GPU_OUT_OF_MEMORY') throw error
    const { tooLittleMemory } = await import('./setup-memory.ts')
    throw tooLittleMemory(error, device, shape)
  } finally {
    await device.close()
  }
}

/** Loaded only here: whoever uses the CPU needs no driver. */
async function openGpu(
  { allowSoftware }: SetupTask,
  { circuitId, log2Domain }: CircuitShape,
  run: Run,
): Promise<WebGpuDevice> {
  const { WebGpuDevice } = await import('../webgpu/webgpu-device.ts')
  const device = await WebGpuDevice.create({ allowSoftware })
  try {
    await device.selfTest({ signal: run.signal, unit: () => run.unit(0) }).catch((cause: unknown) => {
      if (run.signal.aborted || ProverError.is(cause)) throw cause
      const { message } = asError(cause)
      throw new GpuUnavailableError(`${device.name} can't be used: ${message}`, {
        details: { device: device.name },
        cause,
      })
    })
    if (log2Domain <= device.maxLog2Domain) return device
    throw new UnsupportedProofError(
      `development parameters of ${circuitId}: its domain of 2^${log2Domain} is larger than the 2^${device.maxLog2Domain} that ${device.name} serves`,
      {
        details: {
          field: 'circuitId',
          expected: `a domain of at most 2^${device.maxLog2Domain}`,
          received: `${circuitId}: a domain of 2^${log2Domain}`,
          device: device.name,
        },
      },
    )
  } catch (error) {
    await device.close()
    throw error
  }
}
