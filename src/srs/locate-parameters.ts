/** Finds the files of a circuit: the published ones, or development parameters where they are allowed. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { DevelopmentParametersError, SrsUnavailableError } from '../errors.ts'
import { parameterDirectory } from '../options.ts'
import { parseMarker } from '../params/development-marker.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { developmentFileNames, publishedParameters } from '../params/published.ts'

export interface LocateOptions {
  /** Folder of the files. @default process.env.FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters */
  readonly directory?: string | URL | undefined
  /** Accept development parameters where the published file is absent. @default false */
  readonly allowDevelopment?: boolean | undefined
}

/**
 * Finds the files of a circuit. Reads nothing but the marker of development parameters.
 * @throws {SrsUnavailableError} there are none; `details.file` is where the published one should be
 * @throws {DevelopmentParametersError} only development parameters are there, and they are not allowed
 */
export async function locateParameters(circuitId: CircuitId, options: LocateOptions = {}): Promise<ParametersLocation> {
  const directory = parameterDirectory(options.directory, 'parameterCache')
  const published = publishedParameters(circuitId)
  const paramsFile = join(directory, published.paramsFile)
  if (await exists(paramsFile)) {
    const vkFile = join(directory, published.vkFile)
    await requireFile(vkFile, `the verifying key of ${circuitId}`)
    const { paramsDigest, vkDigest } = published
    return { circuitId, development: false, paramsFile, vkFile, paramsDigest, vkDigest }
  }

  const names = developmentFileNames(circuitId)
  const devParamsFile = join(directory, names.paramsFile)
  if (!(await exists(devParamsFile))) {
    throw new SrsUnavailableError(`parameters of ${circuitId}: no file ${paramsFile}`, {
      details: { file: paramsFile, expected: `${published.paramsBytes} bytes`, received: 'no file' },
    })
  }
  if (options.allowDevelopment !== true) {
    throw new DevelopmentParametersError(
      `only development parameters of ${circuitId} were found (${devParamsFile}): proofs made with them are worthless on a real network. ` +
        `Set allowDevelopmentParameters to use them all the same, or put the published file at ${paramsFile}`,
      { details: { file: devParamsFile, expected: paramsFile, received: devParamsFile } },
    )
  }
  const vkFile = join(directory, names.vkFile)
  const markerFile = join(directory, names.markerFile)
  await requireFile(vkFile, `the verifying key of ${circuitId}`)
  await requireFile(markerFile, `the marker of development parameters of ${circuitId}`)
  const marker = parseMarker(await readFile(markerFile, 'utf8'), markerFile, circuitId)
  return {
    circuitId,
    development: true,
    paramsFile: devParamsFile,
    vkFile,
    paramsDigest: marker.params_digest,
    vkDigest: marker.vk_digest,
    circuitFingerprint: marker.circuit_fingerprint,
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

async function requireFile(path: string, what: string): Promise<void> {
  if (await exists(path)) return
  throw new SrsUnavailableError(`${what}: no file ${path}`, {
    details: { file: path, expected: 'a file', received: 'no file' },
  })
}
