/** The subset of pino's interface that the engine calls; a pino instance is assignable as it is. */

export interface LogFn {
  (fields: object, message?: string): void
  (message: string): void
}

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
