import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { InvalidOptionsError } from '../../src/errors.ts'
import type { Logger } from '../../src/logger.ts'
import {
  type EngineOptions,
  resolveAbortOptions,
  resolveCloseOptions,
  resolveOptions,
  resolveProveOptions,
  resolveSignal,
} from '../../src/options.ts'

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
    expect(resolveOptions({ parameterCache: './here' }).parameterCache).toBe(join(process.cwd(), 'here'))
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
    [{ parameterCache: new URL('file://host/x') }, 'parameterCache', '"file://host/x"'],
    [{ parameterCache: '/x\0y' }, 'parameterCache', JSON.stringify('/x\0y')],
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
    [{ maxQueued: () => 1 }, 'maxQueued', 'a function'],
    [null, 'options', 'null'],
  ])('%o', (options, field, received) => {
    const error = refusal(options)
    expect(error.code).toBe('ERR_INVALID_OPTIONS')
    expect(error.details).toMatchObject({ field, received })
    expect(error.details.expected).toBeTruthy()
    expect(error.message).toContain(field)
  })

  test('a misspelt option gets the name that is meant, if one is near', () => {
    expect(refusal({ paramterCache: '/x' }).message).toMatch(/; did you mean parameterCache\?$/)
    expect(refusal({ memory: { total_bytes: 1 } }).message).toMatch(/; did you mean totalBytes\?$/)
    expect(refusal({ memory: { total: 1 } }).message).not.toContain('did you mean')
  })

  test('options of preload', () => {
    const { signal } = new AbortController()
    expect(resolveAbortOptions({ signal })).toBe(signal)
    expect(resolveAbortOptions({})).toBeUndefined()
    for (const wrong of [{ sginal: signal }, { signal: 5 }, signal, null]) {
      expect(() => resolveAbortOptions(wrong as never)).toThrow(InvalidOptionsError)
    }
  })

  test('options of prove', () => {
    const { signal } = new AbortController()
    const onProgress = (): void => {}
    expect(resolveProveOptions({ signal, onProgress })).toEqual({ signal, onProgress })
    expect(resolveProveOptions({})).toEqual({ signal: undefined, onProgress: undefined })
    for (const wrong of [{ onProgress: 5 }, { onprogress: onProgress }, signal, null]) {
      expect(() => resolveProveOptions(wrong as never)).toThrow(InvalidOptionsError)
    }
  })

  test('a signal that is none, and options of close', () => {
    expect(() => resolveSignal({ signal: {} as AbortSignal })).toThrow(InvalidOptionsError)
    expect(() => resolveSignal(null as never)).toThrow(InvalidOptionsError)
    expect(() => resolveSignal(5 as never)).toThrow(InvalidOptionsError)
    expect(() => resolveSignal(new AbortController().signal as never)).toThrow('{ signal }')
    expect(resolveSignal(undefined)).toBeUndefined()
    expect(resolveCloseOptions({ timeoutMs: 5 })).toEqual({ force: false, timeoutMs: 5 })
    expect(() => resolveCloseOptions({ timeoutMs: -5 })).toThrow(InvalidOptionsError)
    expect(() => resolveCloseOptions({ force: 1 as unknown as boolean })).toThrow(InvalidOptionsError)
  })

  test('an option that throws when it is read', () => {
    const cause = new Error('a getter')
    const throwing = {
      get signal(): never {
        throw cause
      },
      get maxQueued(): never {
        throw cause
      },
    }
    expect(refusal(throwing).cause).toBe(cause)
    expect(() => resolveSignal(throwing)).toThrow(InvalidOptionsError)
  })
})

describe('a logger', () => {
  const failing = (fail: () => unknown): Logger => ({
    trace: fail,
    debug: fail,
    info: fail,
    warn: fail,
    error: fail,
    child: () => failing(fail),
  })

  test('gets the lines, as its own method', () => {
    const lines: unknown[] = []
    class Recording {
      level = 'recorded'
      trace(): void {}
      debug(): void {}
      info(...line: unknown[]): void {
        lines.push([this.level, ...line])
      }
      warn(): void {}
      error(): void {}
      child(bindings: object): Recording {
        return Object.assign(new Recording(), bindings)
      }
    }
    const { logger } = resolveOptions({ logger: new Recording() })
    logger.info({ a: 1 }, 'with fields')
    logger.child({ level: 'child' }).info('alone')
    expect(lines).toEqual([
      ['recorded', { a: 1 }, 'with fields'],
      ['child', 'alone'],
    ])
  })

  test('that throws or rejects harms nothing', async () => {
    const throwing = (): never => {
      throw new Error('disk full')
    }
    for (const fail of [throwing, async () => throwing()]) {
      const { logger } = resolveOptions({ logger: failing(fail) })
      for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) logger[level]({}, 'line')
      logger.child({}).info('line')
    }
    resolveOptions({ logger: { ...failing(throwing), child: throwing } })
      .logger.child({})
      .info('line')
    // A rejection that nobody takes fails the test's process.
    await new Promise(setImmediate)
  })
})
