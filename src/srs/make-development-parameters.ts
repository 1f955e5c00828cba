/** The set-up itself, on a given device: draws the secrets, makes the points, writes the three files. */
import { open, writeFile } from 'node:fs/promises'
import type { CircuitShape } from '../circuit/shape.ts'
import { wasmSetupScalars } from '../cpu/setup-scalars.ts'
import type { ProvingDevice, Run } from '../groth16/proving-device.ts'
import { makeMarker, shapeFingerprint } from '../params/development-marker.ts'
import { bytesDigest } from '../params/digest.ts'
import { paramsLayout } from '../params/layout.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { requireSpace, withinSpace } from './disk-space.ts'
import { type DevelopmentFiles, removeAbandonedFiles, removeFiles, temporaryFiles } from './files-in-the-making.ts'
import { setupFromScalars } from './setup-from-scalars.ts'
import { drawToxicWaste } from './toxic-waste.ts'
import { type SetupPoints, type WrittenParameters, writeParameters } from './write-parameters.ts'

/** The scalars are about a tenth of the time. */
const SCALARS_SHARE = 0.1

/**
 * Makes development parameters, in files with names of their own: `placeParameters` gives them theirs.
 * @param suffix of {@link setupSuffix}: names the files until then
 * @param toxic a test seam. Left out, fresh secrets are drawn
 * @returns the digest of the parameter file
 * @throws {SrsUnavailableError} there is no room for the files: seen before the work begins, or when it runs out
 * @throws `run.signal.reason` once the signal aborts; nothing is left behind then
 */
export async function writeDevelopmentParameters(
  device: ProvingDevice,
  shape: CircuitShape,
  files: DevelopmentFiles,
  suffix: string,
  run: Run,
  toxic: ToxicWaste = drawToxicWaste(shape.log2Domain),
): Promise<string> {
  run.signal.throwIfAborted()
  const temporary = temporaryFiles(files, suffix)
  await removeAbandonedFiles(files, temporary)
  const { fileBytes } = paramsLayout(shape)
  await requireSpace(files.paramsFile, fileBytes)
  try {
    const setup = await openSetup(device, shape, toxic, {
      signal: run.signal,
      unit: (share) => run.unit(SCALARS_SHARE * share),
    })
    const written = await (async () => {
      const handle = await open(temporary.paramsFile, 'wx')
      try {
        const points: Run = {
          signal: run.signal,
          unit: (share) => run.unit(SCALARS_SHARE + (1 - SCALARS_SHARE) * share),
        }
        const file = { path: temporary.paramsFile, handle }
        const write = (): Promise<WrittenParameters> => writeParameters(setup, device.kind, shape, file, points)
        return await withinSpace(files.paramsFile, fileBytes, write)
      } finally {
        await handle.close()
      }
    })().finally(() => setup.release())
    const marker = makeMarker({
      circuit_id: shape.circuitId,
      circuit_fingerprint: shapeFingerprint(shape),
      params_bytes: written.paramsBytes,
      params_digest: written.paramsDigest,
      vk_digest: bytesDigest(written.verifyingKey),
      created: new Date().toISOString(),
    })
    const { verifyingKey } = written
    const text = `${JSON.stringify(marker, undefined, 2)}\n`
    await withinSpace(files.vkFile, verifyingKey.length, () => writeFile(temporary.vkFile, verifyingKey))
    await withinSpace(files.markerFile, text.length, () => writeFile(temporary.markerFile, text))
    run.signal.throwIfAborted()
    return written.paramsDigest
  } catch (error) {
    await removeFiles(temporary)
    throw error
  }
}

/** On the device where it can do that; else the scalars come from WebAssembly. */
async function openSetup(
  device: ProvingDevice,
  shape: CircuitShape,
  toxic: ToxicWaste,
  run: Run,
): Promise<SetupPoints & { release(): Promise<void> }> {
  if (device.openSetup !== undefined) return await device.openSetup(shape, toxic, run)
  return {
    ...(await setupFromScalars(device, toxic, await wasmSetupScalars(shape, toxic, run), run)),
    release: async () => {},
  }
}
