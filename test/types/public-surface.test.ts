/** What embedders write against: the types of the public surface. Checked by the compiler, also where nothing runs. */
import { describe, expectTypeOf, test } from 'vitest'
import {
  type CircuitId,
  Engine,
  type EngineEvents,
  type EngineOptions,
  type EngineStatus,
  type JobProgress,
  type Logger,
  type PorepC2Request,
  type ProofRequest,
  type ProofResult,
  type ProofStatement,
  ProverError,
  type ProverErrorCode,
  statementOf,
  verifyProof,
  type WindowPostRequest,
  type WinningPostRequest,
} from '../../src/index.ts'

describe('types', () => {
  test('a result has the kind of its request', () => {
    const prove = Engine.prototype.prove<WindowPostRequest>
    expectTypeOf(prove).returns.resolves.toEqualTypeOf<ProofResult<'window-post'>>()
    expectTypeOf<ProofResult<'window-post'>['kind']>().toEqualTypeOf<'window-post'>()
    expectTypeOf<ProofResult['verified']>().toEqualTypeOf<true>()
    expectTypeOf<ProofResult['proof']>().toEqualTypeOf<Uint8Array>()
  })

  test('requests are a union on kind', () => {
    expectTypeOf<Extract<ProofRequest, { kind: 'winning-post' }>>().toEqualTypeOf<WinningPostRequest>()
    expectTypeOf<Extract<ProofRequest, { kind: 'porep-c2' }>>().toEqualTypeOf<PorepC2Request>()
    expectTypeOf<WindowPostRequest['registeredProof']>().extract<'StackedDrgWindow32GiBV1_1'>().toBeString()
    expectTypeOf<'StackedDrgWindow32GiBV2'>().not.toExtend<WindowPostRequest['registeredProof']>()
    expectTypeOf<'wpost-32g'>().toExtend<CircuitId>()
  })

  test('options take undefined, as spread objects have it', () => {
    expectTypeOf<{ maxQueued: undefined; memory: undefined; cpu: { threads: undefined } }>().toExtend<EngineOptions>()
    expectTypeOf(Engine.create)
      .parameter(0)
      .toExtend<(EngineOptions & { signal?: AbortSignal | undefined }) | undefined>()
    expectTypeOf(Engine.create).returns.resolves.toEqualTypeOf<Engine>()
  })

  test('an engine can only be created, and is disposed of asynchronously', () => {
    expectTypeOf<Engine>().toExtend<AsyncDisposable>()
    // @ts-expect-error the constructor is private
    expectTypeOf<ConstructorParameters<typeof Engine>>()
  })

  test('listeners know their payload', () => {
    expectTypeOf<Parameters<EngineEvents['progress']>[0]>().toEqualTypeOf<JobProgress>()
    expectTypeOf<Parameters<EngineEvents['failed']>[0]['error']>().toEqualTypeOf<ProverError>()
    expectTypeOf<EngineEvents['drained']>().parameters.toEqualTypeOf<[]>()
    expectTypeOf(Engine.prototype.status).returns.toEqualTypeOf<EngineStatus>()
  })

  test('errors narrow by brand and by code', () => {
    const error: unknown = undefined
    if (ProverError.is(error)) {
      expectTypeOf(error.code).toEqualTypeOf<ProverErrorCode>()
      expectTypeOf(error.details.sector).toEqualTypeOf<bigint | undefined>()
    }
  })

  test('verification takes a request or a statement', () => {
    expectTypeOf(statementOf).returns.toEqualTypeOf<ProofStatement>()
    expectTypeOf(verifyProof).parameter(0).toEqualTypeOf<ProofRequest | ProofStatement>()
  })

  test('a pino-like logger fits', () => {
    interface Pino {
      level: string
      trace(fields: object, message?: string, ...rest: unknown[]): void
      trace(message: string): void
      debug: Pino['trace']
      info: Pino['trace']
      warn: Pino['trace']
      error: Pino['trace']
      fatal: Pino['trace']
      child(bindings: Record<string, unknown>, options?: object): Pino
    }
    expectTypeOf<Pino>().toExtend<Logger>()
  })
})
