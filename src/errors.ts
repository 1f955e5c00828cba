/**
 * Every failure that reaches an embedder is a {@link ProverError}: a stable `code`, whether a retry can help, and where
 * the fault is. One subclass a code, so that both `instanceof` and `switch (error.code)` read well.
 *
 * Errors cross threads as plain objects ({@link toErrorObject}, {@link fromErrorObject}); the brand is a registered
 * symbol, so {@link ProverError.is} also holds for an error made by another copy of this package.
 */

/** Stable identifiers of everything that can go wrong. `docs/errors.md` has cause and remedy of each. */
export type ProverErrorCode =
  | 'ERR_INVALID_OPTIONS'
  | 'ERR_INVALID_REQUEST'
  | 'ERR_UNSUPPORTED_PROOF'
  | 'ERR_QUEUE_FULL'
  | 'ERR_BUDGET_EXCEEDED'
  | 'ERR_SRS_UNAVAILABLE'
  | 'ERR_SYNTHESIS_FAILED'
  | 'ERR_GPU_UNAVAILABLE'
  | 'ERR_GPU_DEVICE_LOST'
  | 'ERR_GPU_VALIDATION'
  | 'ERR_PROOF_INVALID'
  | 'ERR_GPU_OUT_OF_MEMORY'
  | 'ERR_WORKER_EXITED'
  | 'ERR_REQUEST_CONFLICT'
  | 'ERR_DEADLINE_EXCEEDED'
  | 'ERR_DEVELOPMENT_PARAMETERS'
  | 'ERR_ENGINE_CLOSED'

/** Where a fault is, as far as it is known. */
export interface ProverErrorDetails {
  /** Path of the request's or option's field at fault: `vanillaProofs[2].comm_r`, `randomness`, `memory.totalBytes`. */
  readonly field?: string
  readonly sector?: bigint
  readonly partition?: number
  /** Index of the challenge within its sector; of a seal or an update, within its partition. */
  readonly challenge?: number
  readonly file?: string
  readonly expected?: string
  readonly received?: string
  readonly device?: string
}

/** What an error is made with, beside its message. */
export interface ProverErrorOptions {
  readonly details?: ProverErrorDetails | undefined
  /** What it was caused by, as of every `Error`. */
  readonly cause?: unknown
  readonly jobId?: string | undefined
}

const BRAND = Symbol.for('wgzk.ProverError')

/** Base of all errors thrown or rejected with by this package, except `signal.reason` of an aborted call. */
export class ProverError<C extends ProverErrorCode = ProverErrorCode> extends Error {
  readonly code: C
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean
  readonly jobId?: string
  readonly details: ProverErrorDetails

  constructor(code: C, retryable: boolean, message: string, options: ProverErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = retryable
    this.details = options.details ?? {}
    if (options.jobId !== undefined) this.jobId = options.jobId
    Object.defineProperty(this, 'name', { value: new.target.name, configurable: true })
    Object.defineProperty(this, BRAND, { value: true })
  }

  /** True for any `ProverError`, also one of another realm or another installed copy. */
  static is(value: unknown): value is ProverError {
    return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[BRAND] === true
  }

  toJSON(): {
    name: string
    code: C
    message: string
    retryable: boolean
    details: Record<string, unknown>
    jobId?: string
    cause?: unknown
  } {
    const { cause, jobId } = this
    // JSON has no bigint: sector numbers become decimal strings.
    const details = Object.fromEntries(
      Object.entries(this.details).map(([key, value]) => [key, typeof value === 'bigint' ? String(value) : value]),
    )
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      details,
      ...(jobId !== undefined && { jobId }),
      ...(cause !== undefined && {
        cause: cause instanceof Error ? (ProverError.is(cause) ? cause.toJSON() : cause.message) : String(cause),
      }),
    }
  }
}

/** An option, a signal or a listener is unusable. Never retryable. */
export class InvalidOptionsError extends ProverError<'ERR_INVALID_OPTIONS'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_INVALID_OPTIONS', false, message, options)
  }
}

/** The caller's data is wrong; `details` names the place. Never retryable. */
export class InvalidRequestError extends ProverError<'ERR_INVALID_REQUEST'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_INVALID_REQUEST', false, message, options)
  }
}

/** A valid request that this version, or this machine's devices, can't prove. */
export class UnsupportedProofError extends ProverError<'ERR_UNSUPPORTED_PROOF'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_UNSUPPORTED_PROOF', false, message, options)
  }
}

/** `maxQueued` jobs wait already. Retry later. */
export class QueueFullError extends ProverError<'ERR_QUEUE_FULL'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_QUEUE_FULL', true, message, options)
  }
}

/** The job needs more memory than the engine's whole budget: it can never run here. */
export class BudgetExceededError extends ProverError<'ERR_BUDGET_EXCEEDED'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_BUDGET_EXCEEDED', false, message, options)
  }
}

/**
 * A parameter file or verifying key is missing, truncated, foreign, or has a wrong digest. Retryable once the file is
 * mended.
 */
export class SrsUnavailableError extends ProverError<'ERR_SRS_UNAVAILABLE'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_SRS_UNAVAILABLE', true, message, options)
  }
}

/** The witness does not satisfy the circuit, or an untyped failure outside of a device. Never retryable. */
export class SynthesisError extends ProverError<'ERR_SYNTHESIS_FAILED'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_SYNTHESIS_FAILED', false, message, options)
  }
}

/** No device, or none whose limits suffice. */
export class GpuUnavailableError extends ProverError<'ERR_GPU_UNAVAILABLE'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_GPU_UNAVAILABLE', true, message, options)
  }
}

/** A device was lost and retries did not help. */
export class GpuDeviceLostError extends ProverError<'ERR_GPU_DEVICE_LOST'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_GPU_DEVICE_LOST', true, message, options)
  }
}

/** A shader or binding was refused, or an untyped failure on a device: a bug of this package, or of the driver. */
export class GpuValidationError extends ProverError<'ERR_GPU_VALIDATION'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_GPU_VALIDATION', false, message, options)
  }
}

/** A finished proof failed verification (also after a retry) and was not returned. */
export class ProofInvalidError extends ProverError<'ERR_PROOF_INVALID'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_PROOF_INVALID', true, message, options)
  }
}

/** The device's memory did not suffice, also after points of other circuits were given up. */
export class GpuOutOfMemoryError extends ProverError<'ERR_GPU_OUT_OF_MEMORY'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_GPU_OUT_OF_MEMORY', true, message, options)
  }
}

/** A worker thread or a device's process ended while it worked for this job, and retries did not help. */
export class WorkerExitedError extends ProverError<'ERR_WORKER_EXITED'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_WORKER_EXITED', true, message, options)
  }
}

/** The `requestId` of a running job came with other content. */
export class RequestConflictError extends ProverError<'ERR_REQUEST_CONFLICT'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_REQUEST_CONFLICT', false, message, options)
  }
}

/** The request's deadline passed. */
export class DeadlineExceededError extends ProverError<'ERR_DEADLINE_EXCEEDED'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_DEADLINE_EXCEEDED', false, message, options)
  }
}

/** Only development parameters were found, and `allowDevelopmentParameters` is not set. */
export class DevelopmentParametersError extends ProverError<'ERR_DEVELOPMENT_PARAMETERS'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_DEVELOPMENT_PARAMETERS', false, message, options)
  }
}

/** The engine is closing or closed. */
export class EngineClosedError extends ProverError<'ERR_ENGINE_CLOSED'> {
  constructor(message: string, options?: ProverErrorOptions) {
    super('ERR_ENGINE_CLOSED', false, message, options)
  }
}

/**
 * Any failure as a {@link ProverError}. One without a type is a state that should not be: a fault of this package, of
 * its runtime or of the machine. No code stands for that alone, so it gets that of the place where it showed, a message
 * that says what it is, and the original as its cause.
 * @param where before or after a device had the work. @default 'host'
 */
export function asProverError(error: unknown, where: 'host' | 'device' = 'host'): ProverError {
  if (ProverError.is(error)) return error
  const message = `internal fault, not a fault of the request: ${asError(error).message}`
  return where === 'device'
    ? new GpuValidationError(message, { cause: error })
    : new SynthesisError(message, { cause: error })
}

type ErrorConstructor = new (message: string, options?: ProverErrorOptions) => ProverError

const CONSTRUCTORS: Record<ProverErrorCode, ErrorConstructor> = {
  ERR_INVALID_OPTIONS: InvalidOptionsError,
  ERR_INVALID_REQUEST: InvalidRequestError,
  ERR_UNSUPPORTED_PROOF: UnsupportedProofError,
  ERR_QUEUE_FULL: QueueFullError,
  ERR_BUDGET_EXCEEDED: BudgetExceededError,
  ERR_SRS_UNAVAILABLE: SrsUnavailableError,
  ERR_SYNTHESIS_FAILED: SynthesisError,
  ERR_GPU_UNAVAILABLE: GpuUnavailableError,
  ERR_GPU_DEVICE_LOST: GpuDeviceLostError,
  ERR_GPU_VALIDATION: GpuValidationError,
  ERR_PROOF_INVALID: ProofInvalidError,
  ERR_GPU_OUT_OF_MEMORY: GpuOutOfMemoryError,
  ERR_WORKER_EXITED: WorkerExitedError,
  ERR_REQUEST_CONFLICT: RequestConflictError,
  ERR_DEADLINE_EXCEEDED: DeadlineExceededError,
  ERR_DEVELOPMENT_PARAMETERS: DevelopmentParametersError,
  ERR_ENGINE_CLOSED: EngineClosedError,
}

/** An error as it crosses a thread: structured clone would keep neither class nor own fields. */
export interface ErrorObject {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly code?: ProverErrorCode | undefined
  readonly details?: ProverErrorDetails | undefined
  readonly jobId?: string | undefined
  readonly cause?: ErrorObject | undefined
}

/** Whatever was thrown, as an error. Callers may throw what has no text at all, such as `Object.create(null)`. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  try {
    return new Error(String(thrown))
  } catch {
    return new Error(`a thrown ${typeof thrown}`)
  }
}

/** Makes any thrown value fit for `postMessage`. */
export function toErrorObject(error: unknown): ErrorObject {
  if (!(error instanceof Error)) return { name: 'Error', message: asError(error).message }
  const prover = ProverError.is(error) ? error : undefined
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    code: prover?.code,
    details: prover?.details,
    jobId: prover?.jobId,
    cause: error.cause === undefined ? undefined : toErrorObject(error.cause),
  }
}

/** The inverse of {@link toErrorObject}: a `ProverError` comes back as its own class. */
export function fromErrorObject(object: ErrorObject): Error {
  const cause = object.cause === undefined ? undefined : fromErrorObject(object.cause)
  const error =
    object.code === undefined
      ? new Error(object.message, cause === undefined ? undefined : { cause })
      : new CONSTRUCTORS[object.code](object.message, { details: object.details, jobId: object.jobId, cause })
  if (object.code === undefined && object.name !== 'Error') error.name = object.name
  if (object.stack !== undefined) error.stack = object.stack
  return error
}
