/**
 * Parameters that the reference's set-up would make: from its secrets, on a given device, in a folder of the test's
 * own.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { CircuitShape } from '../../src/circuit/shape.ts'
import type { ProvingDevice, Run } from '../../src/groth16/proving-device.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import { SrsFile } from '../../src/params/srs-file.ts'
import type { ToxicWaste } from '../../src/params/toxic-waste.ts'
import { type DevelopmentFiles, placeParameters } from '../../src/srs/files-in-the-making.ts'
import { locateParameters } from '../../src/srs/locate-parameters.ts'
import { writeDevelopmentParameters } from '../../src/srs/make-development-parameters.ts'
import { recordedToxic } from './toxic.ts'

const idle: Run = { signal: new AbortController().signal, unit: () => {} }

/** A set-up from its begin to its end on a device of the test's. */
export async function makeDevelopmentParameters(
  device: ProvingDevice,
  shape: CircuitShape,
  files: DevelopmentFiles,
  suffix: string,
  run: Run,
  toxic?: ToxicWaste,
): Promise<void> {
  await placeParameters(files, suffix, await writeDevelopmentParameters(device, shape, files, suffix, run, toxic))
}

/** @param name key of the folder's params.json */
export async function makeRecordedParameters(
  device: ProvingDevice,
  shape: CircuitShape,
  directory: string,
  folder: '2KiB' | '32GiB',
  name: string,
): Promise<void> {
  const names = developmentFileNames(shape.circuitId)
  const files = {
    paramsFile: join(directory, names.paramsFile),
    vkFile: join(directory, names.vkFile),
    markerFile: join(directory, names.markerFile),
  }
  await makeDevelopmentParameters(device, shape, files, 'test', idle, recordedToxic(folder, name))
}

export async function openParameters(shape: CircuitShape, directory: string): Promise<SrsFile> {
  return SrsFile.open(await locateParameters(shape.circuitId, { directory, allowDevelopment: true }), shape, idle)
}

export async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}
