/** What the worker of a set-up does. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { circuitShape } from '../circuit/circuit-shape.ts'
import { CpuDevice } from '../cpu/cpu-device.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { type DevelopmentFiles, makeDevelopmentParameters } from './make-development-parameters.ts'

export interface SetupTask {
  readonly circuitId: CircuitId
  readonly files: DevelopmentFiles
  /** Of temporary files. */
  readonly suffix: string
  readonly threads: number | undefined
  readonly relaxedSimd: 'auto' | 'enable' | 'never'
  readonly toxic?: ToxicWaste | undefined
}

export type SetupFunctions = {
  readonly setup: (task: SetupTask, run: Run) => Promise<void>
}

export const setupFunctions: SetupFunctions = {
  async setup(task, run) {
    const shape = circuitShape(task.circuitId)
    const device = await CpuDevice.create({ threads: task.threads, relaxedSimd: task.relaxedSimd })
    try {
      await makeDevelopmentParameters(device, shape, task.files, task.suffix, run, task.toxic)
    } finally {
      await device.close()
    }
  },
}
