/** Changes to real requests, and what becomes of them in all checks before a device. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { InvalidRequestError, ProverError } from '../../src/errors.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { ProofRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { idle } from './prove.ts'
import { rememberingHasher } from './remembering-hasher.ts'

const hasher = rememberingHasher()

/** Takes a request through every check before a device. */
export async function check(request: ProofRequest): Promise<'passed' | ProverError> {
  try {
    for (const partition of await takeOver(validateRequest(request))) await checkAndSynthesize(partition, hasher, idle)
    return 'passed'
  } catch (error) {
    if (ProverError.is(error)) return error
    throw error
  }
}

/** `bytes` with one bit flipped. */
export function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice()
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
  return copy
}

/** Every byte of a vanilla proof is bound by some check: one bit of each in turn, another one each time. */
export async function expectEveryByteBound(
  bytes: Uint8Array,
  request: (bytes: Uint8Array) => ProofRequest,
): Promise<void> {
  expect(await check(request(bytes))).toBe('passed')
  for (let at = 0; at < bytes.length; at++) {
    const error = await check(request(flipped(bytes, 8 * at + ((at + (at >> 3)) & 7))))
    expect(error, `byte ${at}`).toBeInstanceOf(InvalidRequestError)
  }
}

/** Other bytes: cut, with something after them, or with something else in their midst. */
function edited(bytes: Uint8Array): fc.Arbitrary<Uint8Array> {
  const at = fc.nat(bytes.length - 1)
  const by = fc.uint8Array({ minLength: 1, maxLength: 300 })
  const changes = fc.oneof(
    at.map((end) => bytes.slice(0, end)),
    by.map((more) => Uint8Array.from([...bytes, ...more])),
    fc.tuple(at, by).map(([from, other]) => {
      const copy = bytes.slice()
      copy.set(other.subarray(0, bytes.length - from), from)
      return copy
    }),
  )
  return changes.filter((changed) => Buffer.compare(changed, bytes) !== 0)
}

/** What is cut, extended or overwritten at random is refused. */
export async function expectEditsRefused(
  bytes: Uint8Array,
  request: (bytes: Uint8Array) => ProofRequest,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(edited(bytes), async (changed) => {
      expect(await check(request(changed))).toBeInstanceOf(InvalidRequestError)
    }),
    { numRuns: 300 },
  )
}

/**
 * Any value in place of a field is refused with a typed error.
 * @param mayPass values that are right there
 */
export function expectAnyValueRefused(real: ProofRequest, mayPass: (field: string, value: unknown) => boolean): void {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(real)),
      fc.anything({ withBigInt: true, withTypedArray: true }),
      (field, value) => {
        fc.pre(!mayPass(field, value))
        let caught: unknown
        try {
          validateRequest({ ...real, [field]: value })
        } catch (error) {
          caught = error
        }
        expect(ProverError.is(caught), `${field}: ${String(caught)}`).toBe(true)
      },
    ),
    { numRuns: 2000 },
  )
}
