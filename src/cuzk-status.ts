/** The status in the words of cuzk's `GET /status`, so that its dashboards and scripts read this engine too. */
import type { ProofKind } from './circuit/circuit-id.ts'
import type { PartitionState } from './events.ts'
import type { EngineStatus } from './status.ts'

/** A cache entry in cuzk's words. */
export interface CuzkAllocation {
  circuit_id: string
  bytes: number
  last_used_secs_ago: number
  evictable: boolean
}

/** cuzk's status JSON, field by field; times are in seconds where their names say so, sizes in bytes. */
export interface CuzkStatus {
  uptime_secs: number
  memory: { total_bytes: number; used_bytes: number; available_bytes: number }
  synthesis: { max_concurrent: number; active: number }
  pipelines: {
    job_id: string
    proof_kind: ProofKind
    started_secs_ago: number
    total_partitions: number
    partitions_done: number
    partitions: { index: number; state: PartitionState; synth_ms: number | null; gpu_ms: number | null }[]
  }[]
  gpu_workers: {
    /** Counts all workers of the engine. */
    worker_id: number
    /** The device it works on. */
    gpu_ordinal: number
    /** Counts the workers of one device: always 0, since one worker serves a device. */
    gpu_sub_id: number
    state: 'idle' | 'proving'
    current_job: string | null
    current_partition: number | null
    busy_secs: number | null
  }[]
  allocations: { srs: CuzkAllocation[]; pce: CuzkAllocation[] }
  counters: {
    total_completed: number
    total_failed: number
    completed_by_kind: Record<string, number>
    failed_by_kind: Record<string, number>
    queue_depth: number
  }
  buffers: {
    synth_in_flight: number
    provers_in_flight: number
    shells_in_flight: number
    aux_in_flight: number
    pending_handles: number
  }
}

/**
 * Turns `engine.status()` into cuzk's status JSON.
 *
 * What has no counterpart is told by the nearest: a circuit's shape stands under `pce`; what waits for a device counts
 * as provers and aux in flight; shells and pending handles are always 0, since a partition leaves nothing behind on its
 * device.
 */
export function toCuzkStatus(status: EngineStatus): CuzkStatus {
  const { memory, synthesis, jobs, gpus, srs, shapes, totals, queue, buffers } = status
  const idle = new Map(srs.map((entry) => [entry.circuitId, entry]))
  const allocation = (circuitId: EngineStatus['srs'][number]['circuitId'], bytes: number): CuzkAllocation => {
    const entry = idle.get(circuitId)
    return {
      circuit_id: circuitId,
      bytes,
      last_used_secs_ago: (entry?.idleMs ?? 0) / 1000,
      evictable: entry?.evictable ?? false,
    }
  }
  return {
    uptime_secs: status.uptimeMs / 1000,
    memory: {
      total_bytes: memory.totalBytes,
      used_bytes: memory.usedBytes,
      available_bytes: memory.availableBytes,
    },
    synthesis: { max_concurrent: synthesis.maxConcurrent, active: synthesis.active },
    // As there, a job is listed from its start on.
    pipelines: jobs
      .filter(({ state }) => state !== 'queued')
      .map(({ job, startedMsAgo, total, partitions }) => ({
        job_id: job.id,
        proof_kind: job.kind,
        started_secs_ago: startedMsAgo / 1000,
        total_partitions: total,
        partitions_done: partitions.filter(({ state }) => state === 'done').length,
        partitions: partitions.map(({ index, state, synthesisMs, gpuMs }) => ({
          index,
          state,
          synth_ms: wholeMs(synthesisMs),
          gpu_ms: wholeMs(gpuMs),
        })),
      })),
    gpu_workers: gpus.map(({ ordinal, device, state, jobId, partition, busyMs }) => ({
      worker_id: ordinal,
      gpu_ordinal: device,
      gpu_sub_id: 0,
      state: state === 'proving' ? 'proving' : 'idle',
      current_job: jobId ?? null,
      current_partition: partition ?? null,
      busy_secs: busyMs === undefined ? null : busyMs / 1000,
    })),
    allocations: {
      srs: srs.map(({ circuitId, bytes }) => allocation(circuitId, bytes)),
      pce: shapes.map(({ circuitId, bytes }) => allocation(circuitId, bytes)),
    },
    counters: {
      total_completed: sum(totals.completed),
      total_failed: sum(totals.failed),
      completed_by_kind: { ...totals.completed },
      failed_by_kind: { ...totals.failed },
      queue_depth: queue.queued,
    },
    buffers: {
      synth_in_flight: synthesis.active,
      provers_in_flight: buffers.witnesses,
      shells_in_flight: 0,
      aux_in_flight: buffers.witnesses,
      pending_handles: 0,
    },
  }
}

const wholeMs = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms))

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0)
