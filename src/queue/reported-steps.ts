/** The steps of partitions as the engine tells of them: events, log lines, progress. */
import type { Circuits } from '../budget/circuits.ts'
import type { MemoryBudget } from '../budget/memory-budget.ts'
import type { GpuPool } from '../device/gpu-pool.ts'
import type { GpuUnavailableError } from '../errors.ts'
import type { EventName, EventPayload, GuardedEmitter, StallPhase } from '../events.ts'
import type { Logger } from '../logger.ts'
import type { Synthesizer } from '../synthesis/synthesis-pool.ts'
import type { Job } from './job.ts'
import type { JobDesk } from './job-desk.ts'
import type { PartitionSteps } from './partition-steps.ts'
import type { SynthesisScheduler } from './synthesis-scheduler.ts'

export interface StepSources {
  readonly scheduler: SynthesisScheduler
  readonly circuits: Circuits
  readonly synthesizer: Synthesizer
  readonly budget: MemoryBudget
  readonly events: GuardedEmitter
  readonly logger: Logger
  readonly pool: () => GpuPool
  readonly desk: JobDesk
  readonly stallMs: number
  /** Set where GPUs were asked for that are not there. */
  readonly fallback: GpuUnavailableError | undefined
  /** Counts witnesses that wait for a device. */
  readonly witnesses: { count: number; bytes: number }
}

const STALLS: Readonly<Record<StallPhase, string>> = {
  parameters: 'the parameters do not load',
  synthesis: 'a synthesis worker hangs',
  gpu: 'a device hangs',
  verification: 'a verification worker hangs',
}

/** The steps, with what they tell going to events and log. */
export function reportedSteps(sources: StepSources): PartitionSteps {
  const { scheduler, circuits, synthesizer, budget, events, logger, pool, desk, stallMs, fallback, witnesses } = sources
  /** Work that was given up may go on for a while after its job's outcome: of that nothing is told. */
  const tell = <E extends EventName>(event: E, { ended }: Job, ...payload: EventPayload<E>): void => {
    if (!ended) events.emit(event, ...payload)
  }
  return {
    scheduler,
    circuits,
    synthesizer,
    get pool() {
      return pool()
    },
    stallMs,
    witnessBytes(bytes) {
      witnesses.count += Math.sign(bytes)
      witnesses.bytes += bytes
    },
    started({ job }) {
      desk.started(job)
    },
    memory({ job }, state, requestedBytes) {
      tell('memory', job, { state, job: job.ref, requestedBytes, availableBytes: budget.availableBytes })
    },
    retry({ job, index }, attempt, error) {
      logger.warn({ jobId: job.id, partition: index, attempt, err: error }, 'partition is tried again')
      tell('retry', job, { job: job.ref, index, attempt, error })
    },
    fellBack({ job, index }, error) {
      logger.warn({ jobId: job.id, partition: index, err: error }, 'partition goes to the CPU device')
      tell('fallback', job, { job: job.ref, index, error })
    },
    placed({ job, index }) {
      if (fallback !== undefined) tell('fallback', job, { job: job.ref, index, error: fallback })
    },
    progressed({ job }) {
      desk.meter(job)?.update()
    },
    stalled({ job, index, gpu }, phase, silentMs, file) {
      const where = { ...(phase === 'gpu' && gpu !== undefined && { gpu }), ...(file !== undefined && { file }) }
      logger.error({ jobId: job.id, partition: index, phase, ...where, silentMs }, STALLS[phase])
      tell('stalled', job, { job: job.ref, index, phase, ...where, silentMs })
    },
    verified({ gpu }) {
      if (gpu !== undefined) pool().verified(gpu)
    },
    verifyFailed(partition, why = 'a finished proof does not verify') {
      const { job, index, gpu = 0 } = partition
      partition.avoid = gpu
      pool().verifyFailed(gpu, job.circuitId)
      logger.error({ jobId: job.id, partition: index, gpu }, why)
      tell('verifyFailed', job, { job: job.ref, index, gpu })
    },
    diagnosed({ job, index }, diagnosis) {
      logger.error({ jobId: job.id, partition: index, ...diagnosis }, 'a proof that did not verify was made anew')
      tell('diagnosed', job, { job: job.ref, index, ...diagnosis })
    },
  }
}
