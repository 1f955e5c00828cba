/**
 * `wgzk/opentelemetry`: traces of every proof of the process (needs the package `@opentelemetry/api` and, to see
 * anything, an SDK).
 *
 * One span a job, `wgzk.prove`, under the span that was active when `prove()` was called; below it one a partition, and
 * below that one a phase: `wait`, `synthesize`, `wait for device`, `prove`. Fed by diagnostics channels: no engine need
 * be named.
 *
 * @module
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { asError, ProverError } from '../errors.ts'
import { channelName, type EventMessage, type EventName, type JobRef, type PartitionState } from '../events.ts'
import { reading, section } from '../option-values.ts'

export interface OpenTelemetryOptions {
  /** @default the global provider's tracer `wgzk` */
  readonly tracer?: Tracer | undefined
}

/** A partition's time in a state, as the name of its span. */
const PHASES: Readonly<Partial<Record<PartitionState, string>>> = {
  pending: 'wait',
  synthesizing: 'synthesize',
  synth_done: 'wait for device',
  gpu: 'prove',
}

interface Trace {
  readonly span: Span
  readonly partitions: Map<number, Span>
}

/**
 * Starts tracing.
 * @returns ends it; spans of jobs in hand are ended then
 * @throws {InvalidOptionsError} an option is misspelt
 */
export function traceProofs(options: OpenTelemetryOptions = {}): () => void {
  reading(() => section(options, '', ['tracer']))
  const { tracer = trace.getTracer('wgzk') } = options
  const traces = new Map<string, Trace>()

  const begin = (job: JobRef): void => {
    const attributes = {
      'wgzk.job.id': job.id,
      'wgzk.proof_kind': job.kind,
      'wgzk.circuit_id': job.circuitId,
      ...(job.requestId !== undefined && { 'wgzk.request_id': job.requestId }),
    }
    traces.set(job.id, { span: tracer.startSpan('wgzk.prove', { attributes }), partitions: new Map() })
  }
  const end = (job: JobRef, error?: unknown): void => {
    const found = traces.get(job.id)
    if (found === undefined) return
    traces.delete(job.id)
    for (const partition of found.partitions.values()) partition.end()
    if (error !== undefined) fail(found.span, error)
    found.span.end()
  }
  const note = (job: JobRef, name: string, attributes: Record<string, string | number> = {}): void => {
    traces.get(job.id)?.span.addEvent(name, attributes)
  }

  const ends = [
    listen('queued', ({ job }) => begin(job)),
    listen('active', ({ job }) => note(job, 'active')),
    listen('partition', ({ job, index, state, previous, elapsedMs, gpu }) => {
      const found = traces.get(job.id)
      if (found === undefined) return
      const now = Date.now()
      const parent = found.partitions.get(index) ?? startPartition(tracer, found, index, now - elapsedMs)
      const name = PHASES[previous]
      if (name !== undefined) {
        const attributes = {
          'wgzk.partition': index,
          ...(previous === 'gpu' && gpu !== undefined && { 'wgzk.gpu': gpu }),
        }
        const below = trace.setSpan(context.active(), parent)
        tracer.startSpan(`wgzk.${name}`, { attributes, startTime: now - elapsedMs }, below).end(now)
      }
      if (state === 'failed') parent.setStatus({ code: SpanStatusCode.ERROR })
      if (state !== 'done' && state !== 'failed') return
      parent.end(now)
      found.partitions.delete(index)
    }),
    listen('retry', ({ job, index, attempt, error }) =>
      note(job, 'retry', { 'wgzk.partition': index, 'wgzk.attempt': attempt, 'wgzk.error': error.code }),
    ),
    listen('stalled', ({ job, index, phase, gpu }) =>
      note(job, 'stalled', {
        'wgzk.partition': index,
        'wgzk.phase': phase,
        ...(gpu !== undefined && { 'wgzk.gpu': gpu }),
      }),
    ),
    listen('verifyFailed', ({ job, index, gpu }) =>
      note(job, 'verifyFailed', { 'wgzk.partition': index, 'wgzk.gpu': gpu }),
    ),
    listen('diagnosed', ({ job, index, gpu, parameters, again }) =>
      note(job, 'diagnosed', {
        'wgzk.partition': index,
        'wgzk.gpu': gpu,
        'wgzk.parameters': parameters,
        'wgzk.again': again,
      }),
    ),
    listen('completed', ({ job, result }) => {
      traces
        .get(job.id)
        ?.span.setAttributes({ 'wgzk.partitions': result.partitions, 'wgzk.development': result.development })
      end(job)
    }),
    listen('failed', ({ job, error }) => end(job, error)),
    listen('cancelled', ({ job, reason }) => end(job, reason ?? 'cancelled')),
  ]
  return () => {
    for (const stop of ends) stop()
    for (const { span, partitions } of traces.values()) {
      for (const partition of partitions.values()) partition.end()
      span.end()
    }
    traces.clear()
  }
}

function startPartition(tracer: Tracer, { span, partitions }: Trace, index: number, startTime: number): Span {
  const below = trace.setSpan(context.active(), span)
  const started = tracer.startSpan('wgzk.partition', { attributes: { 'wgzk.partition': index }, startTime }, below)
  partitions.set(index, started)
  return started
}

function fail(span: Span, error: unknown): void {
  const { message } = asError(error)
  span.setStatus({ code: SpanStatusCode.ERROR, message })
  if (error instanceof Error) span.recordException(error)
  if (ProverError.is(error)) span.setAttribute('wgzk.error', error.code)
}

function listen<E extends EventName>(
  event: E,
  listener: (event: NonNullable<EventMessage<E>['event']>) => void,
): () => void {
  const onMessage = (message: unknown): void => {
    listener((message as EventMessage<E>).event as NonNullable<EventMessage<E>['event']>)
  }
  subscribe(channelName(event), onMessage)
  return () => unsubscribe(channelName(event), onMessage)
}
