/**
 * Values that callers give as options, one kind of value a function: each comes back checked, or
 * {@link InvalidOptionsError} names the option, what it takes and what it got.
 */
import { asError, InvalidOptionsError, ProverError } from './errors.ts'
import { nearestName } from './known-names.ts'

/**
 * Options are the caller's objects: to read a field may run a getter or a proxy's trap, and that may throw anything.
 */
export function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (ProverError.is(cause)) throw cause
    throw new InvalidOptionsError(`the options can't be read: ${asError(cause).message}`, {
      details: { field: 'options' },
      cause,
    })
  }
}

/**
 * Refuses an option.
 * @param field its path
 * @param expected what it takes
 * @param hint appended to the message
 * @throws {InvalidOptionsError} always
 */
export function refuse(field: string, expected: string, value: unknown, hint = ''): never {
  const received = describe(value)
  throw new InvalidOptionsError(`option ${field}: expected ${expected}, got ${received}${hint}`, {
    details: { field, expected, received },
  })
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}

/** A misspelt option would be ignored without a word, so unknown names are refused. */
export function section(value: unknown, name: string, known: readonly string[]): Record<string, unknown> {
  const field = name === '' ? 'options' : name
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(field, 'an object', value)
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const meant = nearestName(key, known)
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`
    refuse(name === '' ? key : `${name}.${key}`, `one of ${known.join(', ')}`, key, hint)
  }
  return value as Record<string, unknown>
}

/** The value, or what stands for one that is left out. */
export const orDefault = (value: unknown, fallback: unknown): unknown => (value === undefined ? fallback : value)

/** An integer of a range; `or` names what else the option takes. */
export function integer(value: unknown, field: string, least: number, most: number, or = ''): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return refuse(field, `an integer ${range}${or === '' ? '' : ` ${or}`}`, value)
}

/** `'auto'`, which is the default, or what `check` makes of the value. */
export function auto(value: unknown, field: string, check: (value: unknown, field: string) => number): number | 'auto' {
  return orDefault(value, 'auto') === 'auto' ? 'auto' : check(value, field)
}

/** True or false. */
export function flag(value: unknown, field: string, byDefault: boolean): boolean {
  if (value === undefined) return byDefault
  return typeof value === 'boolean' ? value : refuse(field, 'true or false', value)
}

/** The first choice is the default. */
export function choice<const T extends string>(value: unknown, field: string, choices: readonly [T, ...T[]]): T {
  if (value === undefined) return choices[0]
  const found = choices.find((candidate) => candidate === value)
  return found ?? refuse(field, choices.map((c) => `'${c}'`).join(' or '), value)
}
