/** What a GPU is tuned to: read when it is opened, measured and remembered when it has nothing else to do. */
import { asError } from '../errors.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { AdapterInfo } from '../webgpu/open-gpu.ts'
import { DEFAULT_TUNING, type Tuning } from '../webgpu/tuning.ts'
import type { WebGpuDevice } from '../webgpu/webgpu-device.ts'
import {
  type CalibrationKey,
  calibrationKey,
  readCalibration,
  type StoredCalibration,
  writeCalibration,
} from './calibration-file.ts'
import type { TuningInUse } from './device-spec.ts'

/** `off`: nothing is measured on its own, and nothing that was measured before is used. */
const SWITCH = 'WGZK_CALIBRATION'

/** The tuning of one GPU, and where it comes from. */
export class GpuCalibration {
  readonly #off: boolean = process.env[SWITCH] === 'off'
  #key: CalibrationKey | undefined
  #inUse: TuningInUse = { source: 'default', tuning: DEFAULT_TUNING }

  get inUse(): TuningInUse {
    return this.#inUse
  }

  /** Whether it is to be measured when there is time. A software adapter's time is that of the processor. */
  wanted({ software }: Pick<AdapterInfo, 'software'>): boolean {
    return !software && !this.#off && this.#inUse.source === 'default'
  }

  /** @returns the tuning that is remembered of an adapter. Never fails: it is measured anew then */
  async find(info: AdapterInfo): Promise<Tuning | undefined> {
    if (this.#off) return undefined
    try {
      this.#key = calibrationKey(info)
    } catch {
      // package.json is not where it was when this package was built, as in a bundle.
      return undefined
    }
    const stored = await readCalibration(this.#key)
    if (stored !== undefined) this.#inUse = { source: 'file', ...stored }
    return stored?.tuning
  }

  /**
   * Measures an adapter, has the device use what was found, and remembers it where that is possible.
   * @throws `run.signal.reason` once the signal aborts, and what the device fails with
   */
  async measure(device: WebGpuDevice, run: Run): Promise<TuningInUse> {
    const { compileMs, deviceMs, ...found } = await device.calibrate(run)
    const stored: StoredCalibration = { ...found, measuredAt: new Date().toISOString() }
    this.#inUse = { source: 'measured', ...stored, compileMs, deviceMs, ...(await this.#remember(device, stored)) }
    return this.#inUse
  }

  async #remember(device: WebGpuDevice, stored: StoredCalibration): Promise<Pick<TuningInUse, 'notKept'>> {
    try {
      await writeCalibration(this.#key ?? calibrationKey(device.details), stored)
      return {}
    } catch (error) {
      // A folder that can't be written to costs a calibration at each start, and nothing else.
      return { notKept: asError(error).message }
    }
  }
}
