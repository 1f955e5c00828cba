/**
 * The file that remembers an adapter's calibration: one for each adapter, driver, version of this package and text of
 * the kernels, so that none is used for another. Whatever is wrong with it, the adapter is calibrated anew.
 */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '../params/cache-folder.ts'
import { replaceFile } from '../params/replace-file.ts'
import { answered, closeFile } from '../params/waiting.ts'
import { packageVersion } from '../version.ts'
import { composeKernel } from '../webgpu/kernel.ts'
import { multiexpKernels } from '../webgpu/msm/multiexp.ts'
import type { AdapterInfo } from '../webgpu/open-gpu.ts'
import { asTuning, type Trial, type Tuning } from '../webgpu/tuning.ts'

/** What an adapter is tuned to, and since when. */
export interface StoredCalibration {
  readonly tuning: Tuning
  readonly additionsPerMs: number
  readonly trials: readonly Trial[]
  /** ISO 8601. */
  readonly measuredAt: string
}

/** What a calibration is of. */
export interface CalibrationKey {
  readonly adapter: string
  readonly vendor: string
  readonly architecture: string
  readonly driver: string
  readonly version: string
  /** SHA-256 of the WGSL of a sum. */
  readonly kernels: string
}

const FORMAT = 1
/** More than any of ours takes. */
const MOST_BYTES = 2 ** 16
/** It saves little: a file system that is slower than that is not worth waiting for. */
const LIMIT_MS = 1_000

/**
 * Of the adapter as its driver names it, with this version and the kernels as they are composed now.
 * @throws the system's error if the package's version can't be read
 */
export function calibrationKey({ name, vendor, architecture, driver }: AdapterInfo): CalibrationKey {
  const version = packageVersion()
  const kernels = createHash('sha256')
  for (const kernel of multiexpKernels('g1')) kernels.update(composeKernel(kernel))
  return { adapter: name, vendor, architecture, driver, version, kernels: kernels.digest('hex') }
}

/** @throws the system's error if there is no home */
export function calibrationFile(key: CalibrationKey): string {
  const digest = createHash('sha256').update(JSON.stringify(key)).digest('hex')
  return join(cacheFolder(), `gpu-${digest.slice(0, 16)}.json`)
}

/** @returns nothing if there is none, or none that can be read and used */
export async function readCalibration(
  key: CalibrationKey,
  limitMs: number = LIMIT_MS,
): Promise<StoredCalibration | undefined> {
  try {
    const file = calibrationFile(key)
    const handle = await answered(file, open(file), { limitMs, late: closeFile })
    try {
      const bytes = new Uint8Array(MOST_BYTES)
      const { bytesRead } = await answered(file, handle.read(bytes, 0, MOST_BYTES, 0), { limitMs })
      if (bytesRead === MOST_BYTES) return undefined
      return parse(Buffer.from(bytes.buffer, 0, bytesRead).toString('utf8'), key)
    } finally {
      await closeFile(handle)
    }
  } catch {
    return undefined
  }
}

/**
 * @throws the system's error, also where there is no home; {@link SrsUnavailableError} if the file system does not
 * answer
 */
export async function writeCalibration(
  key: CalibrationKey,
  { tuning, additionsPerMs, trials, measuredAt }: StoredCalibration,
  limitMs: number = LIMIT_MS,
): Promise<void> {
  const file = calibrationFile(key)
  const stored = { format: FORMAT, key, measuredAt, tuning, additionsPerMs, trials }
  await answered(file, replaceFile(file, `${JSON.stringify(stored, undefined, 1)}\n`), { limitMs })
}

function parse(text: string, key: CalibrationKey): StoredCalibration | undefined {
  const { format, key: of, measuredAt, tuning: stored, additionsPerMs, trials } = JSON.parse(text)
  if (format !== FORMAT || JSON.stringify(of) !== JSON.stringify(key)) return undefined
  const tuning = asTuning(stored)
  if (tuning === undefined || typeof measuredAt !== 'string' || Number.isNaN(Date.parse(measuredAt))) return undefined
  if (!Number.isFinite(additionsPerMs) || additionsPerMs <= 0 || !Array.isArray(trials)) return undefined
  return { tuning, additionsPerMs, trials: trials.filter(isTrial), measuredAt }
}

/** They are only shown. */
function isTrial(value: unknown): value is Trial {
  if (typeof value !== 'object' || value === null) return false
  const { what, tried, chosen } = value as Readonly<Record<string, unknown>>
  return (
    typeof what === 'string' &&
    typeof chosen === 'number' &&
    Array.isArray(tried) &&
    tried.every((one) => typeof one?.value === 'number' && typeof one.ms === 'number')
  )
}
