/**
 * `wgzk/prometheus`: an engine's figures for a Prometheus registry (needs the package `prom-client`).
 *
 * Gauges and totals are read from `engine.status()` when the registry is scraped, so nothing runs in between; durations
 * and faults come from events. Names and labels are cuzk's where cuzk has them.
 *
 * @module
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, register as defaultRegister, Gauge, Histogram, type Registry } from 'prom-client'
import type { Engine } from '../engine.ts'
import { channelName, type EventMessage, type EventName } from '../events.ts'
import { reading, section } from '../option-values.ts'
import type { EngineStatus } from '../status.ts'

export interface PrometheusOptions {
  /** @default prom-client's own default registry */
  readonly register?: Registry | undefined
  /** Labels of every metric, e.g. to tell two engines of a process apart; they need a registry each. @default none */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** From a WinningPoSt's seconds to a PoRep's half hour. */
const DURATION_BUCKETS = [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600]

/** A metric that is read when it is scraped: a counter if its name ends with `_total`, else a gauge. */
interface Row {
  readonly name: string
  readonly help: string
  /** One value, or one for each value of a label. */
  readonly read: (status: EngineStatus) => number | readonly (readonly [Readonly<Record<string, string>>, number])[]
  readonly labels?: readonly string[]
}

const byKind = (counts: Readonly<Record<string, number>>): readonly (readonly [{ proof_kind: string }, number])[] =>
  // cuzk writes kinds with underscores in labels.
  Object.entries(counts).map(([kind, count]) => [{ proof_kind: kind.replaceAll('-', '_') }, count] as const)

const READ: readonly Row[] = [
  {
    name: 'cuzk_proofs_completed_total',
    help: 'Proofs completed since the engine started',
    labels: ['proof_kind'],
    read: ({ totals }) => byKind(totals.completed),
  },
  {
    name: 'cuzk_proofs_failed_total',
    help: 'Proofs failed since the engine started',
    labels: ['proof_kind'],
    read: ({ totals }) => byKind(totals.failed),
  },
  {
    name: 'cuzk_uptime_seconds',
    help: 'Time since the engine was created',
    read: ({ uptimeMs }) => uptimeMs / 1000,
  },
  { name: 'cuzk_queue_depth', help: 'Jobs that wait', read: ({ queue }) => queue.queued },
  { name: 'cuzk_running_jobs', help: 'Jobs that are worked on', read: ({ queue }) => queue.active },
  {
    name: 'cuzk_gpu_workers',
    help: 'Devices by state',
    labels: ['state'],
    read: ({ gpus }) => {
      const counts: Record<string, number> = {
        starting: 0,
        idle: 0,
        proving: 0,
        lost: 0,
        excluded: 0,
        quarantined: 0,
      }
      for (const { state } of gpus) counts[state] = (counts[state] ?? 0) + 1
      return Object.entries(counts).map(([state, count]) => [{ state }, count] as const)
    },
  },
  {
    name: 'cuzk_memory_total_bytes',
    help: 'The memory budget',
    read: ({ memory }) => memory.totalBytes,
  },
  { name: 'cuzk_memory_used_bytes', help: 'Reserved of the budget', read: ({ memory }) => memory.usedBytes },
  { name: 'cuzk_memory_waiting', help: 'Requests that wait for memory', read: ({ memory }) => memory.waiting },
  {
    name: 'cuzk_synthesis_active',
    help: 'Partitions being synthesized',
    read: ({ synthesis }) => synthesis.active,
  },
  {
    name: 'cuzk_srs_bytes',
    help: 'Parameters held, by circuit; 0 where they are streamed from their file',
    labels: ['circuit_id'],
    read: ({ srs }) => srs.map(({ circuitId, bytes }) => [{ circuit_id: circuitId }, bytes] as const),
  },
  {
    name: 'cuzk_gpu_verify_failures_total',
    help: 'Proofs that did not verify, by device',
    labels: ['gpu'],
    read: ({ gpus }) => gpus.map(({ ordinal, verifyFailures }) => [{ gpu: String(ordinal) }, verifyFailures] as const),
  },
]

/**
 * Adds an engine's metrics to a registry.
 * @returns takes them out again; call it when the engine is closed
 * @throws {InvalidOptionsError} an option is misspelt
 */
export function collectPrometheus(engine: Engine, options: PrometheusOptions = {}): () => void {
  reading(() => section(options, '', ['register', 'labels']))
  const { register = defaultRegister, labels = {} } = options
  const fixed = Object.keys(labels)
  const registers = [register]
  for (const { name, help, read, labels: own = [] } of READ) {
    const rows = (): readonly (readonly [Readonly<Record<string, string>>, number])[] => {
      const values = read(engine.status())
      return typeof values === 'number' ? [[{}, values]] : values
    }
    const configuration = { name, help, labelNames: [...fixed, ...own], registers }
    if (name.endsWith('_total')) {
      new Counter({
        ...configuration,
        collect() {
          this.reset()
          for (const [label, value] of rows()) this.inc({ ...labels, ...label }, value)
        },
      })
    } else {
      new Gauge({
        ...configuration,
        collect() {
          this.reset()
          for (const [label, value] of rows()) this.set({ ...labels, ...label }, value)
        },
      })
    }
  }
  const durations = new Histogram({
    name: 'cuzk_proof_duration_seconds',
    help: 'From prove() to the verified proof',
    labelNames: [...fixed, 'proof_kind'],
    buckets: DURATION_BUCKETS,
    registers,
  })
  const phases = new Histogram({
    name: 'cuzk_partition_phase_seconds',
    help: 'What a partition spends in each state',
    labelNames: [...fixed, 'proof_kind', 'phase'],
    buckets: DURATION_BUCKETS,
    registers,
  })
  const faults = new Counter({
    name: 'cuzk_faults_total',
    help: 'Retries, stalls, wrong proofs, fallbacks, deadlines at risk',
    labelNames: [...fixed, 'fault'],
    registers,
  })
  const label = (kind: string): string => kind.replaceAll('-', '_')
  const ends = [
    listen(engine, 'completed', ({ job, result }) => {
      durations.observe({ ...labels, proof_kind: label(job.kind) }, result.timings.totalMs / 1000)
    }),
    listen(engine, 'partition', ({ job, previous, elapsedMs }) => {
      phases.observe({ ...labels, proof_kind: label(job.kind), phase: previous }, elapsedMs / 1000)
    }),
    ...(['retry', 'stalled', 'verifyFailed', 'fallback', 'deadlineAtRisk'] as const).map((fault) =>
      listen(engine, fault, () => faults.inc({ ...labels, fault })),
    ),
  ]
  return () => {
    for (const end of ends) end()
    const names = [...READ.map(({ name }) => name), 'cuzk_proof_duration_seconds', 'cuzk_partition_phase_seconds']
    for (const name of [...names, 'cuzk_faults_total']) register.removeSingleMetric(name)
  }
}

/** Listens to one engine's events on their diagnostics channel. @returns what ends it */
function listen<E extends EventName>(
  engine: Engine,
  event: E,
  listener: (event: NonNullable<EventMessage<E>['event']>) => void,
): () => void {
  const onMessage = (message: unknown): void => {
    const { engine: source, event: payload } = message as EventMessage<E>
    if (source === engine) listener(payload as NonNullable<EventMessage<E>['event']>)
  }
  subscribe(channelName(event), onMessage)
  return () => unsubscribe(channelName(event), onMessage)
}
