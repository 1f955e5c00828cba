/** Development parameters: a set-up whose secrets were known to the machine that made it. For tests and trials only. */
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type CircuitId, isCircuitId } from '../circuit/circuit-id.ts'
import { workerFile } from '../cpu/wasm-file.ts'
import { WorkerLink } from '../device/worker-link.ts'
import { InvalidOptionsError, UnsupportedProofError } from '../errors.ts'
import { parameterDirectory } from '../options.ts'
import { developmentFileNames } from '../params/published.ts'
import type { DevelopmentFiles } from './make-development-parameters.ts'
import type { SetupFunctions } from './setup-functions.ts'
import type { ToxicWaste } from './toxic-waste.ts'

export interface DevelopmentSetupOptions {
  /** Where the files go; it is made if it isn't there. @default process.env.FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters */
  readonly directory?: string | URL | undefined
  /** The share (0 to 1) that is done. */
  readonly onProgress?: ((fraction: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Threads to use. @default availableParallelism() */
  readonly threads?: number | undefined
  /** As the engine's `cpu.relaxedSimd`. @default 'auto' */
  readonly relaxedSimd?: 'auto' | 'enable' | 'never' | undefined
}

export interface DevelopmentParameters {
  readonly paramsFile: string
  readonly vkFile: string
  readonly markerFile: string
}

/**
 * Makes parameters of a circuit from fresh randomness: `dev-<circuitId>.params`, `.vk` and `.json` (a marker with the circuit's
 * fingerprint, the digests and the time). Files that were there are replaced, all together, when the new ones are whole.
 *
 * **Proofs made with them are worthless on a real network**: whoever ran the set-up could have kept its secrets.
 *
 * Runs in a worker of its own, which ends with it.
 *
 * @throws {InvalidOptionsError} no circuit has that name, or the directory is no path
 * @throws {UnsupportedProofError} the circuit is not in this version, or too large for the CPU device
 * @throws `signal.reason` once the signal aborts; nothing is left behind
 */
export function developmentSetup(
  circuitId: CircuitId,
  options: DevelopmentSetupOptions = {},
): Promise<DevelopmentParameters> {
  return setupWith(circuitId, options, undefined)
}

/**
 * {@link developmentSetup} with given secrets: the way to get the same parameters on every machine.
 * @internal Not part of the package: whoever uses known secrets makes parameters that anyone can forge proofs for.
 */
export async function setupWith(
  circuitId: CircuitId,
  options: DevelopmentSetupOptions,
  toxic: ToxicWaste | undefined,
): Promise<DevelopmentParameters> {
  const { signal, onProgress } = options
  signal?.throwIfAborted()
  if (!isCircuitId(circuitId)) {
    throw new InvalidOptionsError(`circuitId: expected a circuit id such as wpost-2k, got ${String(circuitId)}`, {
      details: { field: 'circuitId', expected: 'a circuit id such as wpost-2k', received: String(circuitId) },
    })
  }
  const directory = parameterDirectory(options.directory, 'directory')
  // Loaded only here: an embedder who never makes parameters does not wait for circuits and curves at import.
  const [{ circuitShape }, { MAX_LOG2_DOMAIN }, { removeFiles, temporaryFiles }] = await Promise.all([
    import('../circuit/circuit-shape.ts'),
    import('../cpu/ntt/transform.ts'),
    import('./make-development-parameters.ts'),
  ])
  // A circuit that can't be had is refused before anything is made.
  const { log2Domain } = circuitShape(circuitId)
  if (log2Domain > MAX_LOG2_DOMAIN) {
    throw new UnsupportedProofError(
      `development parameters of ${circuitId}: its domain of 2^${log2Domain} is larger than the 2^${MAX_LOG2_DOMAIN} that the CPU device serves`,
      {
        details: {
          field: 'circuitId',
          expected: `a domain of at most 2^${MAX_LOG2_DOMAIN}`,
          received: `${circuitId}: a domain of 2^${log2Domain}`,
        },
      },
    )
  }
  await mkdir(directory, { recursive: true })
  const names = developmentFileNames(circuitId)
  const files: DevelopmentFiles = {
    paramsFile: join(directory, names.paramsFile),
    vkFile: join(directory, names.vkFile),
    markerFile: join(directory, names.markerFile),
  }
  const suffix = `${process.pid}-${randomBytes(6).toString('hex')}`
  const link = new WorkerLink<SetupFunctions>(workerFile('srs/setup-worker.js'), `wgzk set-up ${circuitId}`, undefined)
  let reported = 0
  // The worker computes scalars for seconds without looking up; to end it is the fast way to stop.
  const stop = (): void => void link.terminate()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    await link.call(
      'setup',
      { circuitId, files, suffix, threads: options.threads, relaxedSimd: options.relaxedSimd ?? 'auto', toxic },
      {
        signal,
        onProgress: (share) => {
          reported = Math.max(reported, share)
          onProgress?.(reported)
        },
      },
    )
  } finally {
    signal?.removeEventListener('abort', stop)
    await link.terminate()
    await removeFiles(temporaryFiles(files, suffix))
  }
  if (reported < 1) onProgress?.(1)
  return files
}
