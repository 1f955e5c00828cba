/** What a partition's steps are given to work with and to tell, and how a step is tried again. */
import type { Circuits } from '../budget/circuits.ts'
import type { GpuPool } from '../device/gpu-pool.ts'
import { asProverError, ProverError, type ProverErrorCode } from '../errors.ts'
import type { Diagnosis, StallPhase } from '../events.ts'
import type { SynthesisCallOptions, Synthesizer } from '../synthesis/synthesis-pool.ts'
import type { Job, Partition } from './job.ts'
import type { SynthesisScheduler } from './synthesis-scheduler.ts'

/** The parts of the engine that a partition passes through. */
export interface PartitionSteps {
  readonly scheduler: SynthesisScheduler
  readonly circuits: Circuits
  readonly synthesizer: Synthesizer
  readonly pool: GpuPool
  readonly witnessBytes: (bytes: number) => void
  /** The partition got its memory. */
  started(partition: Partition): void
  memory(partition: Partition, state: 'waiting' | 'granted', bytes: number): void
  retry(partition: Partition, attempt: number, error: ProverError): void
  /** No GPU can do it: the CPU device does. */
  fellBack(partition: Partition, error: ProverError): void
  /** A device took it. */
  placed(partition: Partition): void
  progressed(partition: Partition): void
  /** A device of which no unit ended for so long hangs. */
  readonly stallMs: number
  /** What works on it hangs, and is ended. */
  stalled(partition: Partition, phase: StallPhase, silentMs: number, file?: string): void
  /** Its finished proof holds. */
  verified(partition: Partition): void
  /** Its finished proof does not hold, or the device that had it last found a fault in it that is not there. */
  verifyFailed(partition: Partition, why?: string): void
  /** What is known of the cause when a proof that did not hold was made anew on another or the same device. */
  diagnosed(partition: Partition, diagnosis: Diagnosis): void
}

/** Tries of each step. A fault that passes is gone at the second; what fails three times fails for good. */
export const MAX_ATTEMPTS = 3

/** Faults of a worker or device and not of the job: the same work may succeed elsewhere, or after a restart. */
export const PASSING: ReadonlySet<ProverErrorCode> = new Set([
  'ERR_WORKER_EXITED',
  'ERR_GPU_DEVICE_LOST',
  'ERR_GPU_OUT_OF_MEMORY',
])

/**
 * Runs a step, and again if it fails for a reason that may pass.
 * @param onRetry is told of each failure that is tried again, and which try follows
 */
export async function retried<T>(
  step: () => Promise<T>,
  signal: AbortSignal,
  onRetry: (attempt: number, error: ProverError) => void,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step()
    } catch (error) {
      if (!isPassing(error) || attempt === MAX_ATTEMPTS || signal.aborted) throw error
      onRetry(attempt + 1, error)
    }
  }
}

/** As {@link retried}, a step of a partition. */
export function attempts<T>(
  steps: Pick<PartitionSteps, 'retry'>,
  partition: Partition,
  step: () => Promise<T>,
  signal: AbortSignal = partition.job.signal,
): Promise<T> {
  return retried(step, signal, (attempt, error) => steps.retry(partition, attempt, error))
}

/** How a verification, or a part of it, is called; a thread that hangs is told of as one of this partition. */
export function verifying(steps: PartitionSteps, partition: Partition): SynthesisCallOptions {
  const { rank, signal } = partition.job
  return { priority: rank, signal, onStall: (silentMs) => steps.stalled(partition, 'verification', silentMs) }
}

/** Whether a fault may be gone at the next try. */
export function isPassing(error: unknown): error is ProverError {
  return ProverError.is(error) && PASSING.has(error.code)
}

/** Parameters that turned out bad are dropped, so that the next job reads them anew. */
export async function forgetUnavailable(
  { circuits }: Pick<PartitionSteps, 'circuits'>,
  { circuitId }: Job,
  error: unknown,
): Promise<void> {
  if (ProverError.is(error) && error.code === 'ERR_SRS_UNAVAILABLE') await circuits.forget(circuitId)
}

/** A failure of a step, as embedders get it; what an abort brought about stays as it is. */
export function typed(error: unknown, signal: AbortSignal, where: 'host' | 'device'): unknown {
  return signal.aborted ? error : asProverError(error, where)
}
