/** `wgzk/opentelemetry` on an engine with fake devices, and a tracer that keeps what it is told. */
import { type Context, type Span, type SpanOptions, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { InvalidRequestError } from '../../src/errors.ts'
import { traceProofs } from '../../src/integrations/opentelemetry.ts'
import { FakeMachine } from '../support/fake-device.ts'
import { windowRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

interface Recorded {
  readonly name: string
  readonly parent: string | undefined
  readonly attributes: Record<string, unknown>
  readonly events: string[]
  status: SpanStatusCode
  ends: number
}

class Recorder {
  readonly spans: Recorded[] = []
  readonly #of = new Map<Span, Recorded>()

  readonly tracer = {
    startSpan: (name: string, options: SpanOptions = {}, context?: Context): Span => {
      const parent = context === undefined ? undefined : trace.getSpan(context)
      const recorded: Recorded = {
        name,
        parent: parent === undefined ? undefined : this.#of.get(parent)?.name,
        attributes: { ...options.attributes },
        events: [],
        status: SpanStatusCode.UNSET,
        ends: 0,
      }
      const span = {
        addEvent: (event: string) => recorded.events.push(event),
        setStatus: ({ code }: { code: SpanStatusCode }) => {
          recorded.status = code
        },
        setAttribute: (key: string, value: unknown) => {
          recorded.attributes[key] = value
        },
        setAttributes: (attributes: object) => Object.assign(recorded.attributes, attributes),
        recordException: () => recorded.events.push('exception'),
        end: () => recorded.ends++,
      } as unknown as Span
      this.spans.push(recorded)
      this.#of.set(span, recorded)
      return span
    },
  } as Tracer
}

test('a span a job, one a partition below it, one a phase below that; each ended once', async () => {
  const recorder = new Recorder()
  const stop = traceProofs({ tracer: recorder.tracer })
  const engine = await new FakeMachine().fail('prove', 2, { kind: 'die' }).engine()
  await engine.prove({ ...syntheticWindowRequest('2k', 4), requestId: 'mine' })
  const { spans } = recorder
  const [job] = spans
  expect(job).toMatchObject({ name: 'wgzk.prove', parent: undefined, events: ['active', 'retry'] })
  expect(job?.attributes).toMatchObject({
    'wgzk.proof_kind': 'window-post',
    'wgzk.circuit_id': 'wpost-2k',
    'wgzk.request_id': 'mine',
    'wgzk.partitions': 2,
  })
  const count = (name: string, parent: string): number =>
    spans.filter((span) => span.name === name && span.parent === parent).length
  expect(count('wgzk.partition', 'wgzk.prove')).toBe(2)
  expect(count('wgzk.synthesize', 'wgzk.partition')).toBe(2)
  expect(count('wgzk.prove', 'wgzk.partition')).toBe(3)
  expect(spans.every(({ ends }) => ends === 1)).toBe(true)
  stop()
  await engine.prove(windowRequest())
  expect(spans.length).toBe(13)
  await engine.close()
})

test('a wrong proof, its second try and what that says are told of on the job’s span', async () => {
  const recorder = new Recorder()
  const stop = traceProofs({ tracer: recorder.tracer })
  const engine = await new FakeMachine().fail('prove', 1, { kind: 'wrong' }).engine()
  await engine.prove(windowRequest())
  expect(recorder.spans[0]?.events).toEqual(['active', 'verifyFailed', 'retry', 'diagnosed'])
  stop()
  await engine.close()
})

test('a job that fails has its code and an error status', async () => {
  const recorder = new Recorder()
  const stop = traceProofs({ tracer: recorder.tracer })
  const error = new InvalidRequestError('a path leads elsewhere')
  const engine = await new FakeMachine().fail('synthesize', 1, { kind: 'throw', error }).engine()
  await engine.prove(windowRequest()).catch(() => {})
  const [job] = recorder.spans
  expect(job).toMatchObject({ status: SpanStatusCode.ERROR, ends: 1, events: ['active', 'exception'] })
  expect(job?.attributes['wgzk.error']).toBe('ERR_INVALID_REQUEST')
  expect(recorder.spans.every(({ ends }) => ends === 1)).toBe(true)
  stop()
  await engine.close()
})

test('a misspelt option is refused, with what is meant', () => {
  expect(() => traceProofs({ trace: trace.getTracer('mine') } as object)).toThrow(
    expect.objectContaining({
      code: 'ERR_INVALID_OPTIONS',
      message: 'option trace: expected one of tracer, got "trace"; did you mean tracer?',
    }),
  )
})
