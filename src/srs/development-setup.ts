/** Development parameters: a set-up whose secrets were known to the machine that made it. For tests and trials only. */
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { type CircuitId, isCircuitId } from '../circuit/circuit-id.ts'
import { workerFile } from '../cpu/wasm-file.ts'
import type { Link } from '../device/link.ts'
import { ProcessLink } from '../device/process-link.ts'
import { WorkerLink } from '../device/worker-link.ts'
import { asError, InvalidOptionsError, ProverError, SrsUnavailableError, UnsupportedProofError } from '../errors.ts'
import { isThenable } from '../events.ts'
import { resolveSetupOptions } from '../options.ts'
import { makeFolder } from '../params/make-folder.ts'
import { developmentFileNames } from '../params/published.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import {
  type DevelopmentFiles,
  placeParameters,
  removeFiles,
  setupSuffix,
  temporaryFiles,
} from './files-in-the-making.ts'
import type { SetupFunctions } from './setup-functions.ts'

/** For so long a worker may stop by itself, before it is ended. */
const STOP_MS = 150

/** Options of {@link developmentSetup}. */
export interface DevelopmentSetupOptions {
  /**
   * Where the files go; it is made if it isn't there.
   * @default process.env.FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters
   */
  readonly directory?: string | URL | undefined
  /**
   * The share (0 to 1) that is done; 1 when the files are there. If it throws or rejects, the set-up rejects with that;
   * before the files are there it also stops, and leaves nothing behind.
   */
  readonly onProgress?: ((fraction: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Threads to use. @default availableParallelism() */
  readonly threads?: number | undefined
  /** As the engine's `cpu.relaxedSimd`. @default 'auto' */
  readonly relaxedSimd?: 'auto' | 'enable' | 'never' | undefined
  /**
   * What makes the points. A GPU does so for circuits of any size, 20 seconds of work for a PoRep of 32 GiB; it takes
   * 130 bytes a constraint of its memory and some gigabytes. The file is written at the speed of the disk. @default
   * 'cpu'
   */
  readonly device?: 'cpu' | 'gpu' | undefined
}

/** Paths of what {@link developmentSetup} made. */
export interface DevelopmentParameters {
  readonly paramsFile: string
  readonly vkFile: string
  readonly markerFile: string
}

/**
 * Makes parameters of a circuit from fresh randomness: `dev-<circuitId>.params`, `.vk` and `.json` (a marker with the
 * circuit's fingerprint, the digests and the time). Files that were there are replaced, all together, when the new ones
 * are whole.
 *
 * **Proofs made with them are worthless on a real network**: whoever ran the set-up could have kept its secrets.
 *
 * Runs in a worker of its own, a process where a GPU does the work, which ends with it.
 *
 * @throws {InvalidOptionsError} no circuit has that name, an option is wrong, or the directory can't be made or written
 *   to
 * @throws {UnsupportedProofError} the circuit is not in this version, or too large for the device
 * @throws {GpuUnavailableError}, {GpuOutOfMemoryError}, {GpuDeviceLostError} of a GPU
 * @throws {SrsUnavailableError} there is no room for the files, `details` says for how much, or they could not be
 *   written to their end
 * @throws `signal.reason` once the signal aborts; nothing is left behind. An abort after the files got their names,
 *   that of a listener to the last progress included, is too late: the call resolves
 */
export function developmentSetup(
  circuitId: CircuitId,
  options: DevelopmentSetupOptions = {},
): Promise<DevelopmentParameters> {
  return setupWith(circuitId, options, undefined)
}

/**
 * {@link developmentSetup} with given secrets: the way to get the same parameters on every machine.
 * @param allowSoftware let a GPU be one that computes on the CPU
 * @internal Not part of the package: whoever uses known secrets makes parameters that anyone can forge proofs for.
 */
export async function setupWith(
  circuitId: CircuitId,
  options: DevelopmentSetupOptions,
  toxic: ToxicWaste | undefined,
  allowSoftware?: boolean,
): Promise<DevelopmentParameters> {
  const { directory, signal, onProgress, threads, relaxedSimd, device } = resolveSetupOptions(options)
  signal?.throwIfAborted()
  if (!isCircuitId(circuitId)) {
    const received = asError(circuitId).message
    throw new InvalidOptionsError(`circuitId: expected a circuit id such as wpost-2k, got ${received}`, {
      details: { field: 'circuitId', expected: 'a circuit id such as wpost-2k', received },
    })
  }
  // Loaded only here: an embedder who never makes parameters does not wait for circuits and curves at import.
  if (device === 'cpu') await refuseTooLarge(circuitId)
  await makeWritable(directory)
  const names = developmentFileNames(circuitId)
  const files: DevelopmentFiles = {
    paramsFile: join(directory, names.paramsFile),
    vkFile: join(directory, names.vkFile),
    markerFile: join(directory, names.markerFile),
  }
  const suffix = await setupSuffix()
  const file = workerFile('srs/setup-worker.js')
  const name = `wgzk set-up ${circuitId}`
  // A driver has no place in the caller's process, and a thread that works with one can't be ended.
  const link: Link<SetupFunctions> =
    device === 'gpu'
      ? new ProcessLink<SetupFunctions>(file, name)
      : new WorkerLink<SetupFunctions>(file, name, undefined)
  let reported = 0
  // The worker computes scalars for seconds without looking up: then it is ended. Where it does look up it stops by
  // itself, and closes its files and the thread that digests them, of which Node 20 would leave some open.
  const stopping = new AbortController()
  let ending: NodeJS.Timeout | undefined
  const stop = (): void => {
    if (stopping.signal.aborted) return
    stopping.abort()
    ending = setTimeout(() => void link.terminate(), STOP_MS)
  }
  let progressFailed: { readonly thrown: unknown } | undefined
  const progressFails = (thrown: unknown): void => {
    progressFailed ??= { thrown }
    stop()
  }
  const report = (share: number): void => {
    try {
      const returned = onProgress?.(share)
      if (isThenable(returned)) returned.then(undefined, progressFails)
    } catch (thrown) {
      progressFails(thrown)
    }
  }
  const throwIfProgressFailed = (): void => {
    if (progressFailed !== undefined) throw progressFailed.thrown
  }
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const paramsDigest = await link.call(
      'setup',
      { circuitId, files, suffix, threads, relaxedSimd, device, allowSoftware, toxic },
      {
        signal: stopping.signal,
        onProgress: (share) => {
          // The last share is told of when the files are there: not when they are written.
          reported = Math.max(reported, share)
          if (reported < 1) report(reported)
        },
      },
    )
    throwIfProgressFailed()
    signal?.throwIfAborted()
    // From here on nothing is stopped: an abort that comes now is too late, whoever is told of the end included.
    await placeParameters(files, suffix, paramsDigest)
  } catch (error) {
    throwIfProgressFailed()
    signal?.throwIfAborted()
    if (ProverError.is(error)) throw error
    // The circuit, the device and the secrets are ours: what is left to fail is writing.
    throw new SrsUnavailableError(`parameters of ${circuitId} could not be made: ${asError(error).message}`, {
      details: { file: files.paramsFile },
      cause: error,
    })
  } finally {
    signal?.removeEventListener('abort', stop)
    // An onProgress that fails from here on has nothing left to stop.
    stopping.abort()
    clearTimeout(ending)
    await link.terminate()
    await removeFiles(temporaryFiles(files, suffix))
  }
  report(1)
  throwIfProgressFailed()
  return files
}

/** A circuit that can't be had is refused before anything is made. */
async function refuseTooLarge(circuitId: CircuitId): Promise<void> {
  const [{ circuitShape }, { MAX_LOG2_DOMAIN }] = await Promise.all([
    import('../circuit/circuit-shape.ts'),
    import('../cpu/ntt/transform.ts'),
  ])
  const { log2Domain } = circuitShape(circuitId)
  if (log2Domain <= MAX_LOG2_DOMAIN) return
  throw new UnsupportedProofError(
    `development parameters of ${circuitId}: its domain of 2^${log2Domain} is larger than the 2^${MAX_LOG2_DOMAIN} that the CPU device serves; a GPU may serve it`,
    {
      details: {
        field: 'circuitId',
        expected: `a domain of at most 2^${MAX_LOG2_DOMAIN}, or device: 'gpu'`,
        received: `${circuitId}: a domain of 2^${log2Domain}`,
      },
    },
  )
}

/** @throws {InvalidOptionsError} so that a wrong path is told of before minutes of work */
async function makeWritable(directory: string): Promise<void> {
  try {
    await makeFolder(directory)
    await access(directory, constants.W_OK | constants.X_OK)
  } catch (cause) {
    const received = asError(cause).message
    throw new InvalidOptionsError(`option directory: ${received}`, {
      details: { field: 'directory', expected: 'a folder that can be written to', received },
      cause,
    })
  }
}
