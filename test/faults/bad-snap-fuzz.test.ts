/** No change to a real update's vanilla proof passes, crashes or hangs: each is refused with a typed error. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidRequestError, ProverError } from '../../src/errors.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { SnapUpdateRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { snapRequest } from '../support/fixtures.ts'
import { rememberingHasher } from '../support/remembering-hasher.ts'
import { syntheticSnapRequest } from '../support/synthetic-snap.ts'

const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const hasher = rememberingHasher()

/** Takes a request through every check before a device. */
async function check(request: SnapUpdateRequest): Promise<'passed' | ProverError> {
  try {
    for (const partition of await takeOver(validateRequest(request))) await checkAndSynthesize(partition, hasher, idle)
    return 'passed'
  } catch (error) {
    if (ProverError.is(error)) return error
    throw error
  }
}

/** `bytes` with one bit flipped. */
function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice()
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
  return copy
}

describe('a changed vanilla proof', () => {
  const real = snapRequest()
  const [proof] = real.vanillaProofs as [Uint8Array]
  const withProof = (bytes: Uint8Array): SnapUpdateRequest => ({ ...real, vanillaProofs: [bytes] })

  it('is refused whichever byte differs: every byte is bound by some check', async () => {
    expect(await check(real)).toBe('passed')
    for (let at = 0; at < proof.length; at++) {
      // Another bit in each byte, so that all eight are met in turn.
      const error = await check(withProof(flipped(proof, 8 * at + ((at + (at >> 3)) & 7))))
      expect(error, `byte ${at}`).toBeInstanceOf(InvalidRequestError)
    }
  }, 120_000)

  it('is refused when cut, extended or overwritten at random', async () => {
    const change = fc.oneof(
      fc.record({ kind: fc.constant('cut' as const), at: fc.nat(proof.length - 1) }),
      fc.record({ kind: fc.constant('extend' as const), by: fc.uint8Array({ minLength: 1, maxLength: 300 }) }),
      fc.record({
        kind: fc.constant('overwrite' as const),
        at: fc.nat(proof.length - 1),
        by: fc.uint8Array({ minLength: 1, maxLength: 300 }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(change, async (edit) => {
        let bytes: Uint8Array
        if (edit.kind === 'cut') bytes = proof.slice(0, edit.at)
        else if (edit.kind === 'extend') bytes = Uint8Array.from([...proof, ...edit.by])
        else {
          bytes = proof.slice()
          bytes.set(edit.by.subarray(0, proof.length - edit.at), edit.at)
        }
        fc.pre(Buffer.compare(bytes, proof) !== 0)
        expect(await check(withProof(bytes))).toBeInstanceOf(InvalidRequestError)
      }),
      { numRuns: 300 },
    )
  }, 60_000)

  it('is refused, by its partition’s name, when any bits of one of several differ', async () => {
    const request = syntheticSnapRequest('8m')
    const bits = 8 * (request.vanillaProofs[0] as Uint8Array).length
    await fc.assert(
      fc.asyncProperty(
        fc.nat(request.vanillaProofs.length - 1),
        fc.uniqueArray(fc.nat(bits - 1), { minLength: 1, maxLength: 5 }),
        async (partition, flips) => {
          const vanillaProofs = request.vanillaProofs.map((bytes, k) =>
            k === partition ? flips.reduce(flipped, bytes) : bytes,
          )
          const error = await check({ ...request, vanillaProofs })
          expect(error).toBeInstanceOf(InvalidRequestError)
          expect((error as ProverError).details).toMatchObject({ partition, sector: request.sectorNumber })
        },
      ),
      { numRuns: 100 },
    )
  }, 60_000)

  it('is refused with any other commitments', async () => {
    const commitment = fc.constantFrom('commROld', 'commRNew', 'commDNew')
    await fc.assert(
      fc.asyncProperty(commitment, fc.nat(253), async (name, bit) => {
        const change = { [name]: flipped(real[name as 'commROld'], bit) }
        expect(await check({ ...real, ...change })).toBeInstanceOf(InvalidRequestError)
      }),
      { numRuns: 100 },
    )
  }, 60_000)
})

describe('any value in place of a field', () => {
  it('is refused with a typed error', () => {
    const real = snapRequest()
    const ids = ['minerId', 'sectorNumber']
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(real)),
        fc.anything({ withBigInt: true, withTypedArray: true }),
        (field, value) => {
          fc.pre(!(ids.includes(field) && typeof value === 'bigint'))
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
  })
})
