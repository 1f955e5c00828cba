/** The subset of pino's interface that the engine calls; a pino instance is assignable as it is. */

/** Writes one line: pino's order of arguments. */
export interface LogFn {
  (fields: object, message?: string): void
  (message: string): void
}

/** Where log lines go. */
export interface Logger {
  trace: LogFn
  debug: LogFn
  info: LogFn
  warn: LogFn
  error: LogFn
  /** A logger that adds these fields to every line. */
  child(bindings: Record<string, unknown>): Logger
}

const ignore: LogFn = () => {}

/** Writes nothing: the default, since a library does not own its host's output. */
export const silentLogger: Logger = {
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
}

/**
 * The caller's logger, made harmless: what it throws or rejects with is dropped, since nowhere is left to tell of it.
 */
export function guardedLogger(logger: Logger): Logger {
  const guard =
    (level: 'trace' | 'debug' | 'info' | 'warn' | 'error'): LogFn =>
    (...line: [object | string, string?]): void => {
      try {
        const returned: unknown = (logger[level] as (...line: unknown[]) => unknown)(...line)
        if (returned instanceof Promise) returned.catch(() => {})
      } catch {}
    }
  const guarded: Logger = {
    trace: guard('trace'),
    debug: guard('debug'),
    info: guard('info'),
    warn: guard('warn'),
    error: guard('error'),
    child(bindings) {
      try {
        return guardedLogger(logger.child(bindings))
      } catch {
        return guarded
      }
    },
  }
  return guarded
}
