/** Options of the engine: their types, defaults and checks. Sizes are …Bytes, times …Ms. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { guardedLogger, type Logger, silentLogger } from './logger.ts'
import { auto, choice, flag, integer, orDefault, reading, refuse, section } from './option-values.ts'

/** What an engine may use of the host's memory. */
export interface MemoryOptions {
  /**
   * The whole budget. Less than the smallest circuit takes is refused: 134 MiB where GPUs prove, 51 on the CPU and 9 a
   * thread beyond the first.
   * @default 'auto': the smaller of cgroup limit and system RAM, less `safetyMarginBytes`
   */
  totalBytes?: number | 'auto' | undefined
  /** @default the smaller of 5 GiB and a quarter of the machine */
  safetyMarginBytes?: number | undefined
  /**
   * A cache entry idle for less than this stays, unless the first waiter outranks its last user or nothing is in
   * flight.
   * @default 300_000
   */
  evictionMinIdleMs?: number | undefined
}

/** How many witnesses are made at once, and ahead. */
export interface SynthesisOptions {
  /** Partitions synthesized at once, on top of what the budget allows. @default 'auto': half the cores, at most 4 */
  concurrency?: number | 'auto' | undefined
  /** Synthesized partitions that may wait for a device. @default 1 */
  lookahead?: number | undefined
}

/** Picks an adapter. */
export interface GpuSelector {
  /** Substring of the adapter's device name. */
  adapter?: string | undefined
  /**
   * Which of several adapters that match, from 0; of identical ones a thread can have the first only.
   * @default the first free one
   */
  ordinal?: number | undefined
}

/** Which devices an engine gets, and what it may use of them. */
export interface GpuOptions {
  /** 'auto': every hardware GPU, else the CPU device. 'cpu': the CPU device only. @default 'auto' */
  devices?: 'auto' | 'cpu' | readonly GpuSelector[] | undefined
  /**
   * 'auto', 'process': a child process for each GPU, whose driver then can't end this process. 'thread': a thread of
   * this one.
   * @default 'auto'
   */
  isolation?: 'auto' | 'thread' | 'process' | undefined
  /** Accept software adapters (SwiftShader, llvmpipe): for tests. @default false */
  allowSoftware?: boolean | undefined
  /**
   * Device memory the engine may use on each device. 'auto': as much as the driver gives; what is kept there is planned
   * for 85 % of the card, where its driver says how much that is, else for 1 GiB of points.
   * @default 'auto'
   */
  memoryBytes?: number | 'auto' | undefined
  /**
   * What happens when no GPU can do a partition: the CPU device where it can, with an event, or the error.
   * @default 'cpu'
   */
  fallback?: 'cpu' | 'never' | undefined
  /** Limits asked for when a GPU is opened. @default what the adapter offers */
  requiredLimits?: Readonly<Record<string, number>> | undefined
}

/** How the CPU device computes. */
export interface CpuOptions {
  /** Threads of the CPU device. @default 'auto': availableParallelism() */
  threads?: number | 'auto' | undefined
  /**
   * 'auto': use it where the runtime has it and fma is exact. 'enable': also set the V8 flag that Node 20 needs
   * (process-wide).
   * @default 'auto'
   */
  relaxedSimd?: 'auto' | 'enable' | 'never' | undefined
}

/** Options of an engine. */
export interface EngineOptions {
  /**
   * Folder with the `v28-*.params` and `.vk` files.
   * @default process.env.FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters
   */
  parameterCache?: string | URL | undefined
  /** Accept development parameters (known toxic waste: proofs are worthless on a real network). @default false */
  allowDevelopmentParameters?: boolean | undefined
  memory?: MemoryOptions | undefined
  synthesis?: SynthesisOptions | undefined
  gpu?: GpuOptions | undefined
  cpu?: CpuOptions | undefined
  /**
   * Jobs that may wait, from the call of `prove` to their first reservation: past that `prove` rejects with
   * `QueueFullError`. A job that would begin at once (nothing of its rank waits, a device or its lookahead is free, its
   * memory is there) is accepted in any case: 0 means that nothing may wait.
   * @default Infinity
   */
  maxQueued?: number | undefined
  /** @default none: nothing is logged */
  logger?: Logger | undefined
}

/** Of every call that takes a while. */
export interface AbortOptions {
  /** Aborts the call, which then rejects with `signal.reason`. */
  signal?: AbortSignal | undefined
}

/** How an engine is closed. */
export interface CloseOptions {
  /** Abort running jobs at their next unit instead of letting them finish. @default false */
  force?: boolean | undefined
  /** After this, as with `force`. @default none */
  timeoutMs?: number | undefined
}

/** Every option with its value; sizes that depend on the machine's memory stay 'auto' until that is read. */
export interface ResolvedOptions {
  readonly parameterCache: string
  readonly allowDevelopmentParameters: boolean
  readonly memory: {
    readonly totalBytes: number | 'auto'
    readonly safetyMarginBytes: number | 'auto'
    readonly evictionMinIdleMs: number
  }
  readonly synthesis: { readonly concurrency: number; readonly lookahead: number }
  readonly gpu: {
    readonly devices: 'auto' | 'cpu' | readonly GpuSelector[]
    readonly isolation: 'auto' | 'thread' | 'process'
    readonly allowSoftware: boolean
    readonly memoryBytes: number | 'auto'
    readonly fallback: 'cpu' | 'never'
    readonly requiredLimits: Readonly<Record<string, number>>
  }
  readonly cpu: { readonly threads: number; readonly relaxedSimd: 'auto' | 'enable' | 'never' }
  readonly maxQueued: number
  readonly logger: Logger
}

/** Where Filecoin's software keeps parameters when no one says otherwise. */
const DEFAULT_PARAMETER_CACHE = '/var/tmp/filecoin-proof-parameters'

/** More threads than this gain nothing: the work of a phase is cut into some hundreds of tasks. */
const MAX_THREADS = 256

/**
 * Checks options and fills in defaults.
 * @throws {InvalidOptionsError} naming the option, what was expected and what came.
 */
export function resolveOptions(options: EngineOptions = {}): ResolvedOptions {
  return reading(() => resolved(options))
}

function resolved(options: EngineOptions): ResolvedOptions {
  const root = section(options, '', [
    'parameterCache',
    'allowDevelopmentParameters',
    'memory',
    'synthesis',
    'gpu',
    'cpu',
    'maxQueued',
    'logger',
    // `Engine.create` takes its signal in the same object.
    'signal',
  ])
  const memory = section(root.memory, 'memory', ['totalBytes', 'safetyMarginBytes', 'evictionMinIdleMs'])
  const synthesis = section(root.synthesis, 'synthesis', ['concurrency', 'lookahead'])
  const gpu = section(root.gpu, 'gpu', [
    'devices',
    'isolation',
    'allowSoftware',
    'memoryBytes',
    'fallback',
    'requiredLimits',
  ])
  const cpu = section(root.cpu, 'cpu', ['threads', 'relaxedSimd'])
  const cores = availableParallelism()
  return {
    parameterCache: parameterDirectory(root.parameterCache, 'parameterCache'),
    allowDevelopmentParameters: flag(root.allowDevelopmentParameters, 'allowDevelopmentParameters', false),
    memory: {
      totalBytes: auto(memory.totalBytes, 'memory.totalBytes', (v, f) => integer(v, f, 1, Number.MAX_SAFE_INTEGER)),
      safetyMarginBytes: auto(memory.safetyMarginBytes, 'memory.safetyMarginBytes', (v, f) =>
        integer(v, f, 0, Number.MAX_SAFE_INTEGER),
      ),
      evictionMinIdleMs: integer(memory.evictionMinIdleMs ?? 300_000, 'memory.evictionMinIdleMs', 0, 2 ** 31 - 1),
    },
    synthesis: {
      // One partition is synthesized on one core; the other half is left to the device's threads and the host.
      concurrency:
        orDefault(synthesis.concurrency, 'auto') === 'auto'
          ? Math.min(4, Math.max(1, cores >> 1))
          : integer(synthesis.concurrency, 'synthesis.concurrency', 1, MAX_THREADS, "or 'auto'"),
      lookahead: integer(synthesis.lookahead ?? 1, 'synthesis.lookahead', 0, 1024),
    },
    gpu: {
      devices: selectors(gpu.devices),
      isolation: choice(gpu.isolation, 'gpu.isolation', ['auto', 'thread', 'process']),
      allowSoftware: flag(gpu.allowSoftware, 'gpu.allowSoftware', false),
      memoryBytes: auto(gpu.memoryBytes, 'gpu.memoryBytes', (v, f) => integer(v, f, 1, Number.MAX_SAFE_INTEGER)),
      fallback: choice(gpu.fallback, 'gpu.fallback', ['cpu', 'never']),
      requiredLimits: limits(gpu.requiredLimits),
    },
    cpu: {
      threads:
        orDefault(cpu.threads, 'auto') === 'auto'
          ? Math.min(MAX_THREADS, cores)
          : integer(cpu.threads, 'cpu.threads', 1, MAX_THREADS, "or 'auto'"),
      relaxedSimd: choice(cpu.relaxedSimd, 'cpu.relaxedSimd', ['auto', 'enable', 'never']),
    },
    maxQueued:
      orDefault(root.maxQueued, Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY
        ? Number.POSITIVE_INFINITY
        : integer(root.maxQueued, 'maxQueued', 0, Number.MAX_SAFE_INTEGER, 'or Infinity'),
    logger: loggerOption(root.logger),
  }
}

/** Options of {@link Engine.close}, checked. */
export function resolveCloseOptions(options: CloseOptions = {}): { force: boolean; timeoutMs: number | undefined } {
  return reading(() => {
    const { force, timeoutMs } = section(options, '', ['force', 'timeoutMs'])
    return {
      force: flag(force, 'force', false),
      timeoutMs: timeoutMs === undefined ? undefined : integer(timeoutMs, 'timeoutMs', 0, 2 ** 31 - 1),
    }
  })
}

/**
 * Options of `verifyProof`, checked.
 * @throws {InvalidOptionsError}
 */
export function resolveVerifyOptions(options: object = {}): {
  readonly directory: string
  readonly allowDevelopment: boolean
  readonly signal: AbortSignal | undefined
} {
  return reading(() => {
    const root = section(options, '', ['parameterCache', 'allowDevelopmentParameters', 'signal'])
    return {
      directory: parameterDirectory(root.parameterCache, 'parameterCache'),
      allowDevelopment: flag(root.allowDevelopmentParameters, 'allowDevelopmentParameters', false),
      signal: resolveSignal(root),
    }
  })
}

/**
 * Options of `developmentSetup`, checked.
 * @throws {InvalidOptionsError}
 */
export function resolveSetupOptions(options: object = {}): {
  readonly directory: string
  readonly onProgress: ((fraction: number) => unknown) | undefined
  readonly signal: AbortSignal | undefined
  readonly threads: number | undefined
  readonly relaxedSimd: 'auto' | 'enable' | 'never'
  readonly device: 'cpu' | 'gpu'
} {
  return reading(() => {
    const root = section(options, '', ['directory', 'onProgress', 'signal', 'threads', 'relaxedSimd', 'device'])
    const { onProgress, threads } = root
    if (onProgress !== undefined && typeof onProgress !== 'function') refuse('onProgress', 'a function', onProgress)
    return {
      directory: parameterDirectory(root.directory, 'directory'),
      onProgress: onProgress as ((fraction: number) => unknown) | undefined,
      signal: resolveSignal(root),
      threads: threads === undefined ? undefined : integer(threads, 'threads', 1, MAX_THREADS),
      relaxedSimd: choice(root.relaxedSimd, 'relaxedSimd', ['auto', 'enable', 'never']),
      device: choice(root.device, 'device', ['cpu', 'gpu']),
    }
  })
}

/**
 * Options of `Engine.prove`, checked.
 * @throws {InvalidOptionsError}
 */
export function resolveProveOptions<T>(options: AbortOptions & { readonly onProgress?: T | undefined }): {
  readonly signal: AbortSignal | undefined
  readonly onProgress: T | undefined
} {
  return reading(() => {
    section(options, '', ['signal', 'onProgress'])
    const signal = resolveSignal(options)
    const { onProgress } = options
    if (onProgress !== undefined && typeof onProgress !== 'function') refuse('onProgress', 'a function', onProgress)
    return { signal, onProgress }
  })
}

/**
 * Options of a call that takes nothing but a signal, checked.
 * @throws {InvalidOptionsError}
 */
export function resolveAbortOptions(options: AbortOptions): AbortSignal | undefined {
  return reading(() => {
    section(options, '', ['signal'])
    return resolveSignal(options)
  })
}

/**
 * An `AbortSignal` or nothing: checked once at the door, since a wrong one would only be noticed when it is needed.
 * @throws {InvalidOptionsError} the options are no object, or the signal is none
 */
export function resolveSignal(options: AbortOptions | undefined): AbortSignal | undefined {
  return reading(() => {
    if (options === undefined) return undefined
    if (typeof options !== 'object' || options === null) refuse('options', 'an object', options)
    // It has no `signal` of its own: the call could never be aborted.
    if (options instanceof AbortSignal) refuse('options', 'an object with the signal in it, { signal }', options)
    const signal: unknown = options.signal
    if (signal === undefined || signal instanceof AbortSignal) return signal
    return refuse('signal', 'an AbortSignal', signal)
  })
}

/**
 * The folder of parameters that an option names, or the default. A relative path is taken from the present working
 * directory, which the process may leave later.
 * @throws {InvalidOptionsError} neither a path nor a file: URL
 */
export function parameterDirectory(value: unknown, field: string): string {
  // A variable that is set but empty counts as absent.
  const given = value ?? (process.env.FIL_PROOFS_PARAMETER_CACHE || DEFAULT_PARAMETER_CACHE)
  if (given instanceof URL) {
    try {
      return fileURLToPath(given)
    } catch {
      // Of another scheme, with a host or with an encoded slash.
      return refuse(field, 'a path or a file: URL', given.href)
    }
  }
  // No path has a NUL in it.
  if (typeof given === 'string' && given !== '' && !given.includes('\0')) return resolve(given)
  return refuse(field, 'a path or a file: URL', given)
}

function selectors(value: unknown): 'auto' | 'cpu' | readonly GpuSelector[] {
  if (value === undefined || value === 'auto') return 'auto'
  if (value === 'cpu') return 'cpu'
  if (!Array.isArray(value) || value.length === 0) {
    return refuse('gpu.devices', "'auto', 'cpu' or a list of selectors that is not empty", value)
  }
  return value.map((entry: unknown, index) => {
    const field = `gpu.devices[${index}]`
    const selector = section(entry, field, ['adapter', 'ordinal'])
    const { adapter, ordinal } = selector
    if (adapter !== undefined && (typeof adapter !== 'string' || adapter === '')) {
      refuse(`${field}.adapter`, 'a part of a device name', adapter)
    }
    if (ordinal !== undefined) integer(ordinal, `${field}.ordinal`, 0, 1023)
    return selector as GpuSelector
  })
}

function limits(value: unknown): Readonly<Record<string, number>> {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('gpu.requiredLimits', 'an object', value)
  }
  for (const [name, limit] of Object.entries(value)) {
    integer(limit, `gpu.requiredLimits.${name}`, 0, Number.MAX_SAFE_INTEGER)
  }
  return value as Readonly<Record<string, number>>
}

function loggerOption(value: unknown): Logger {
  if (value === undefined) return silentLogger
  const logger = value as Record<string, unknown>
  for (const method of ['trace', 'debug', 'info', 'warn', 'error', 'child']) {
    if (typeof value !== 'object' || value === null || typeof logger[method] !== 'function') {
      return refuse('logger', `an object with a method ${method}`, value)
    }
  }
  return guardedLogger(value as Logger)
}
