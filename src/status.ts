/** A plain snapshot of everything an engine has in hand: cheap enough to poll twice a second. */
import type { MemoryBudget } from './budget/memory-budget.ts'
import type { ResidentRow } from './budget/residency.ts'
import type { CircuitId, ProofKind } from './circuit/circuit-id.ts'
import type { PointResidency } from './device/device-client.ts'
import type { DeviceRow } from './device/gpu-pool.ts'
import type { PartitionState } from './events.ts'
import type { EndedJobs, JobStatus } from './queue/job-status.ts'
import type { SrsEntryStatus } from './srs/srs-store.ts'

/** What an engine has in hand. Plain data: it survives JSON, but for dates. */
export interface EngineStatus {
  readonly state: 'starting' | 'running' | 'closing' | 'closed'
  readonly uptimeMs: number
  readonly memory: {
    readonly totalBytes: number
    readonly usedBytes: number
    readonly availableBytes: number
    /** Part of `usedBytes`: the vanilla proofs of jobs in hand. */
    readonly inputBytes: number
    /** Requests that wait for memory. */
    readonly waiting: number
  }
  readonly synthesis: { readonly maxConcurrent: number; readonly active: number }
  readonly queue: { readonly queued: number; readonly active: number }
  /** Jobs in hand in order of service, then those that ended within the last minute, the latest first. */
  readonly jobs: readonly JobStatus[]
  /** One row a worker. */
  readonly gpus: readonly DeviceRow[]
  /** Circuit shapes held. */
  readonly shapes: readonly { readonly circuitId: CircuitId; readonly bytes: number }[]
  /**
   * Bytes between phases: witnesses waiting for a device; buffers that GPUs keep for what crosses to them, as of their
   * last batches.
   */
  readonly buffers: { readonly witnesses: number; readonly witnessBytes: number; readonly stagingBytes: number }
  readonly srs: readonly {
    readonly circuitId: CircuitId
    readonly bytes: number
    readonly residency: 'device' | 'host' | 'streamed'
    readonly development: boolean
    readonly idleMs: number
    readonly evictable: boolean
  }[]
  /** Why there is no GPU, if there is none. */
  readonly gpuUnavailable?: string
  readonly totals: {
    readonly completed: Readonly<Record<ProofKind, number>>
    readonly failed: Readonly<Record<ProofKind, number>>
  }
}

/** What a snapshot is made of. */
export interface StatusSources {
  readonly state: EngineStatus['state']
  readonly uptimeMs: number
  readonly budget: MemoryBudget
  readonly inputBytes: number
  readonly maxConcurrentSyntheses: number
  /** In hand, in order of service. */
  readonly jobs: readonly JobStatus[]
  readonly ended: EndedJobs
  readonly now: number
  readonly devices: readonly DeviceRow[]
  readonly residents: readonly ResidentRow[]
  readonly parameters: readonly SrsEntryStatus[]
  readonly witnesses: { readonly count: number; readonly bytes: number }
  readonly stagingBytes: number
  /** Bytes of a resident circuit that are its points; 0 if they are streamed. */
  readonly pointBytes: (circuitId: CircuitId) => number
  /** Where GPUs have a circuit's points. */
  readonly residency: (circuitId: CircuitId) => PointResidency | undefined
  readonly gpuUnavailable: string | undefined
}

/** The status at this moment; sums and rows of one snapshot agree. */
export function snapshot(sources: StatusSources): EngineStatus {
  const { budget, jobs, ended, residents, parameters, pointBytes, gpuUnavailable } = sources
  const resident = new Map(residents.map((row) => [row.circuitId, row]))
  return {
    state: sources.state,
    uptimeMs: sources.uptimeMs,
    memory: {
      totalBytes: budget.totalBytes,
      usedBytes: budget.usedBytes,
      availableBytes: budget.availableBytes,
      inputBytes: sources.inputBytes,
      waiting: budget.waiting,
    },
    synthesis: { maxConcurrent: sources.maxConcurrentSyntheses, active: countPartitions(jobs, 'synthesizing') },
    queue: {
      queued: jobs.filter(({ state }) => state === 'queued').length,
      active: jobs.filter(({ state }) => state === 'active').length,
    },
    jobs: [...jobs, ...ended.rows(sources.now)],
    gpus: sources.devices,
    shapes: residents.map(({ circuitId, bytes }) => ({ circuitId, bytes: bytes - pointBytes(circuitId) })),
    buffers: {
      witnesses: sources.witnesses.count,
      witnessBytes: sources.witnesses.bytes,
      stagingBytes: sources.stagingBytes,
    },
    srs: parameters.map(({ circuitId, development, references, idleMs }) => {
      return {
        circuitId,
        ...residencyOf(circuitId, sources),
        development,
        idleMs,
        evictable: references === 0 && resident.get(circuitId)?.evictable === true,
      }
    }),
    ...(gpuUnavailable !== undefined && { gpuUnavailable }),
    totals: { completed: { ...ended.completed }, failed: { ...ended.failed } },
  }
}

/** Kept points of a circuit, and whether those are all of them: with a part on the device the rest is streamed. */
function residencyOf(
  circuitId: CircuitId,
  { residency, pointBytes }: StatusSources,
): { readonly bytes: number; readonly residency: 'device' | 'streamed' } {
  const onGpu = residency(circuitId)
  const bytes = onGpu?.keptBytes ?? pointBytes(circuitId)
  return { bytes, residency: bytes > 0 && (onGpu?.streamedBytes ?? 0) === 0 ? 'device' : 'streamed' }
}

function countPartitions(jobs: readonly JobStatus[], state: PartitionState): number {
  return jobs.reduce(
    (count, { partitions }) => count + partitions.filter((partition) => partition.state === state).length,
    0,
  )
}
