import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { InvalidOptionsError } from '../../src/errors.ts'
import { type EngineOptions, resolveCloseOptions, resolveOptions, resolveSignal } from '../../src/options.ts'

afterEach(() => vi.unstubAllEnvs())

const refusal = (options: unknown): InvalidOptionsError => {
  try {
    resolveOptions(options as EngineOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionsError)
    return error as InvalidOptionsError
  }
  throw new Error('the options were accepted')
}

describe('defaults', () => {
  test('no options give the documented defaults', () => {
    vi.stubEnv('FIL_PROOFS_PARAMETER_CACHE', '')
    const resolved = resolveOptions()
    expect(resolved).toMatchObject({
      parameterCache: '/var/tmp/filecoin-proof-parameters',
      allowDevelopmentParameters: false,
      memory: { totalBytes: 'auto', safetyMarginBytes: 'auto', evictionMinIdleMs: 300_000 },
      synthesis: { lookahead: 1 },
      gpu: { devices: 'auto', isolation: 'auto', allowSoftware: false, memoryBytes: 'auto', fallback: 'cpu' },
      cpu: { relaxedSimd: 'auto' },
      maxQueued: Number.POSITIVE_INFINITY,
    })
    expect(resolved.synthesis.concurrency).toBeGreaterThanOrEqual(1)
    expect(resolved.cpu.threads).toBeGreaterThanOrEqual(1)
  })

  test('the parameter folder comes from the option, else the environment', () => {
    vi.stubEnv('FIL_PROOFS_PARAMETER_CACHE', '/from/env')
    expect(resolveOptions().parameterCache).toBe('/from/env')
    expect(resolveOptions({ parameterCache: '/from/option' }).parameterCache).toBe('/from/option')
    expect(resolveOptions({ parameterCache: pathToFileURL('/a b/c') }).parameterCache).toBe('/a b/c')
  })

  test('an option that is undefined counts as absent', () => {
    expect(resolveOptions({ maxQueued: undefined, memory: undefined, cpu: { threads: undefined } })).toEqual(
      resolveOptions(),
    )
  })
})

describe('refusals name the option, what was expected and what came', () => {
  test.each<[unknown, string, string]>([
    [{ paramterCache: '/x' }, 'paramterCache', '"paramterCache"'],
    [{ parameterCache: new URL('https://example.com/') }, 'parameterCache', '"https://example.com/"'],
    [{ parameterCache: 5 }, 'parameterCache', '5'],
    [{ allowDevelopmentParameters: 'yes' }, 'allowDevelopmentParameters', '"yes"'],
    [{ memory: 8 }, 'memory', '8'],
    [{ memory: { totalBytes: '8GiB' } }, 'memory.totalBytes', '"8GiB"'],
    [{ memory: { totalBytes: 0 } }, 'memory.totalBytes', '0'],
    [{ memory: { safetyMarginBytes: -1 } }, 'memory.safetyMarginBytes', '-1'],
    [{ memory: { evictionMinIdleMs: 1.5 } }, 'memory.evictionMinIdleMs', '1.5'],
    [{ memory: { total: 1 } }, 'memory.total', '"total"'],
    [{ synthesis: { concurrency: 0 } }, 'synthesis.concurrency', '0'],
    [{ synthesis: { lookahead: Number.NaN } }, 'synthesis.lookahead', 'NaN'],
    [{ gpu: { devices: 'gpu0' } }, 'gpu.devices', '"gpu0"'],
    [{ gpu: { devices: [] } }, 'gpu.devices', 'an array'],
    [{ gpu: { devices: [{ adapter: '' }] } }, 'gpu.devices[0].adapter', '""'],
    [{ gpu: { devices: [{}, { ordinal: -1 }] } }, 'gpu.devices[1].ordinal', '-1'],
    [{ gpu: { isolation: 'fork' } }, 'gpu.isolation', '"fork"'],
    [{ gpu: { fallback: 'gpu' } }, 'gpu.fallback', '"gpu"'],
    [{ gpu: { requiredLimits: { maxBufferSize: '1' } } }, 'gpu.requiredLimits.maxBufferSize', '"1"'],
    [{ cpu: { threads: 0 } }, 'cpu.threads', '0'],
    [{ cpu: { relaxedSimd: true } }, 'cpu.relaxedSimd', 'true'],
    [{ maxQueued: -1 }, 'maxQueued', '-1'],
    [{ logger: { info() {} } }, 'logger', 'an object'],
    [null, 'options', 'null'],
  ])('%o', (options, field, received) => {
    const error = refusal(options)
    expect(error.code).toBe('ERR_INVALID_OPTIONS')
    expect(error.details).toMatchObject({ field, received })
    expect(error.details.expected).toBeTruthy()
    expect(error.message).toContain(field)
  })

  test('a signal that is none, and options of close', () => {
    expect(() => resolveSignal({ signal: {} as AbortSignal })).toThrow(InvalidOptionsError)
    expect(resolveSignal(undefined)).toBeUndefined()
    expect(resolveCloseOptions({ timeoutMs: 5 })).toEqual({ force: false, timeoutMs: 5 })
    expect(() => resolveCloseOptions({ timeoutMs: -5 })).toThrow(InvalidOptionsError)
    expect(() => resolveCloseOptions({ force: 1 as unknown as boolean })).toThrow(InvalidOptionsError)
  })
})
