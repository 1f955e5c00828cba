/** No change to a real update's vanilla proof passes, crashes or hangs: each is refused with a typed error. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidRequestError, type ProverError } from '../../src/errors.ts'
import type { SnapUpdateRequest } from '../../src/request/proof-request.ts'
import { snapRequest } from '../support/fixtures.ts'
import { check, expectAnyValueRefused, expectEditsRefused, expectEveryByteBound, flipped } from '../support/fuzz.ts'
import { syntheticSnapRequest } from '../support/synthetic-snap.ts'

describe('a changed vanilla proof', () => {
  const real = snapRequest()
  const [proof] = real.vanillaProofs as [Uint8Array]
  const withProof = (bytes: Uint8Array): SnapUpdateRequest => ({ ...real, vanillaProofs: [bytes] })

  it('is refused whichever byte differs', () => expectEveryByteBound(proof, withProof), 120_000)

  it('is refused when cut, extended or overwritten at random', () => expectEditsRefused(proof, withProof), 60_000)

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
    const ids = ['minerId', 'sectorNumber']
    expectAnyValueRefused(snapRequest(), (field, value) => ids.includes(field) && typeof value === 'bigint')
  })
})
