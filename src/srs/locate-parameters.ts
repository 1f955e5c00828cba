/** Finds the files of a circuit: the published ones, or development parameters where they are allowed. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { DevelopmentParametersError, ProverError, SrsUnavailableError } from '../errors.ts'
import { parameterDirectory } from '../options.ts'
import { parseMarker } from '../params/development-marker.ts'
import type { LocatedParameters, ParametersLocation } from '../params/parameters-location.ts'
import { developmentFileNames, publishedParameters } from '../params/published.ts'
import { answered } from '../params/waiting.ts'

/** Where files are looked for, and which will do. */
export interface LocateOptions {
  /** Folder of the files. @default process.env.FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters */
  readonly directory?: string | URL | undefined
  /** Accept development parameters where the published file is absent. @default false */
  readonly allowDevelopment?: boolean | undefined
  /** Only the verifying key is wanted: it may be there alone, as on a machine that proves nothing. @default false */
  readonly verifyingKeyOnly?: boolean | undefined
}

/** What finds parameters: {@link locateParameters}, or a set-up's stand-in for it. */
export interface LocateParameters {
  (circuitId: CircuitId, options?: LocateOptions): Promise<LocatedParameters>
  /** Devices make them, of every circuit: no file says whether they are there. */
  readonly made?: true
}

/**
 * Finds the files of a circuit. Reads nothing but the marker of development parameters.
 * @throws {SrsUnavailableError} there are none, `details.file` is where the published one should be; or the folder does
 * not answer
 * @throws {DevelopmentParametersError} only development parameters are there, and they are not allowed
 */
export async function locateParameters(circuitId: CircuitId, options: LocateOptions = {}): Promise<ParametersLocation> {
  const directory = parameterDirectory(options.directory, 'parameterCache')
  const published = publishedParameters(circuitId)
  const { verifyingKeyOnly = false, allowDevelopment = false } = options
  const paramsFile = join(directory, published.paramsFile)
  const publishedVkFile = join(directory, published.vkFile)
  const names = developmentFileNames(circuitId)
  const devParamsFile = join(directory, names.paramsFile)
  const vkFile = join(directory, names.vkFile)
  // Where only keys are wanted, a development key is preferred like the parameters that it belongs to: published keys
  // of all circuits often lie in a folder that has the `.params` of few, and the engine proves with what has them.
  const [wantedFile, devFile] = verifyingKeyOnly ? [publishedVkFile, vkFile] : [paramsFile, devParamsFile]
  const haveDev = await exists(devFile)
  if (
    (await exists(paramsFile)) ||
    (verifyingKeyOnly && !(haveDev && allowDevelopment) && (await exists(publishedVkFile)))
  ) {
    await requireFile(publishedVkFile, `the verifying key of ${circuitId}`)
    const { paramsDigest, vkDigest } = published
    return { circuitId, development: false, paramsFile, vkFile: publishedVkFile, paramsDigest, vkDigest }
  }

  if (!haveDev) {
    const expected = verifyingKeyOnly ? 'a file' : `${published.paramsBytes} bytes`
    const what = verifyingKeyOnly ? 'the verifying key' : 'parameters'
    throw new SrsUnavailableError(`${what} of ${circuitId}: no file ${wantedFile}`, {
      details: { file: wantedFile, expected, received: 'no file' },
    })
  }
  if (!allowDevelopment) {
    throw new DevelopmentParametersError(
      `only development parameters of ${circuitId} were found (${devFile}): proofs made with them are worthless on a real network. ` +
        `Set allowDevelopmentParameters to use them all the same, or put the published file at ${wantedFile}`,
      { details: { file: devFile, expected: wantedFile, received: devFile } },
    )
  }
  const markerFile = join(directory, names.markerFile)
  await requireFile(vkFile, `the verifying key of ${circuitId}`)
  await requireFile(markerFile, `the marker of development parameters of ${circuitId}`)
  const text = await answered(markerFile, readFile(markerFile, 'utf8'))
  const marker = parseMarker(text, markerFile, circuitId)
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

/** @throws {SrsUnavailableError} the file system does not answer */
async function exists(path: string): Promise<boolean> {
  try {
    return (await answered(path, stat(path))).isFile()
  } catch (error) {
    if (ProverError.is(error)) throw error
    return false
  }
}

async function requireFile(path: string, what: string): Promise<void> {
  if (await exists(path)) return
  throw new SrsUnavailableError(`${what}: no file ${path}`, {
    details: { file: path, expected: 'a file', received: 'no file' },
  })
}
