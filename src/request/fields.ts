/** Checks of single fields of a request. Each returns the value with its type, or throws naming the field. */
import { types } from 'node:util'
import { InvalidRequestError } from '../errors.ts'
import { isCanonicalScalar, scalarHex } from '../synthesis/scalar-bytes.ts'

/** A short form of any value for messages: never the content of a buffer. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength} bytes`
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object') return value.constructor?.name ?? 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}

/**
 * The error for a field that is not what it must be.
 * @param hint appended to the message
 */
export function invalidField(field: string, expected: string, value: unknown, hint = ''): InvalidRequestError {
  const received = describe(value)
  return new InvalidRequestError(`${field} must be ${expected}, got ${received}${hint}`, {
    details: { field, expected, received },
  })
}

/** Thrown where a caller's buffer is not what it was when the request was checked. */
export function changedMeanwhile(place: number, sector: bigint, partition?: number): InvalidRequestError {
  const field = `vanillaProofs[${place}]`
  return new InvalidRequestError(
    `${field} (sector ${sector}) changed while the request was taken over; leave its bytes alone until the job is queued`,
    { details: { field, sector, ...(partition !== undefined && { partition }) } },
  )
}

export function checkObject(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidField(field, 'an object', value)
  return value as Record<string, unknown>
}

const U64_LIMIT = 1n << 64n

/** An actor or sector number. Numbers are refused: beyond 2^53 they are silently another one. */
export function checkU64(value: unknown, field: string): bigint {
  if (typeof value !== 'bigint') throw invalidField(field, 'a bigint (1000n)', value)
  if (value < 0n || value >= U64_LIMIT) throw invalidField(field, 'from 0n to 2n ** 64n - 1n', value)
  return value
}

export function checkBytes(value: unknown, field: string): Uint8Array {
  if (!types.isUint8Array(value)) throw invalidField(field, 'a Uint8Array', value)
  return value
}

/**
 * A canonical scalar, copied.
 * @param hint appended to the message of a value that is not below r
 */
export function checkScalar(value: unknown, field: string, hint = ''): Uint8Array {
  const bytes = checkBytes(value, field)
  if (bytes.length !== 32) throw invalidField(field, '32 bytes', value)
  if (!isCanonicalScalar(bytes)) {
    const expected = '32 bytes little-endian below r'
    const received = scalarHex(bytes)
    throw new InvalidRequestError(`${field} is not a canonical field element: it must be ${expected}${hint}`, {
      details: { field, expected, received },
    })
  }
  return new Uint8Array(bytes)
}

export function checkArray(value: unknown, field: string, of: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidField(field, `an array of ${of}`, value)
  if (value.length === 0) throw invalidField(field, `a list with at least one ${of}`, value)
  return value
}
