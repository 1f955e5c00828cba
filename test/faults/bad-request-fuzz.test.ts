/** No change to a real vanilla proof passes, crashes or hangs: each is refused with a typed error. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidRequestError, type ProverError } from '../../src/errors.ts'
import type { WindowPostRequest } from '../../src/request/proof-request.ts'
import { postGeometry } from '../../src/synthesis/post-geometry.ts'
import { inclusionProofOffset, vanillaLayout } from '../../src/synthesis/vanilla-post.ts'
import { windowRequest, winning32Request } from '../support/fixtures.ts'
import { check, expectAnyValueRefused, expectEditsRefused, expectEveryByteBound, flipped } from '../support/fuzz.ts'

describe('a changed vanilla proof', () => {
  const window = windowRequest()
  const [first, second] = window.vanillaProofs as [Uint8Array, Uint8Array]
  const layout = vanillaLayout(postGeometry('wpost-2k'))
  const withSecond = (bytes: Uint8Array): WindowPostRequest => ({
    ...window,
    sectors: undefined,
    vanillaProofs: [first, bytes],
  })

  it('is refused whichever byte differs', () => expectEveryByteBound(second, withSecond), 60_000)

  it('names sector and challenge for any bit of any sibling or leaf', async () => {
    const places = layout.levels.flatMap((level) =>
      Array.from({ length: level.arity - 1 }, (_, k) => level.siblings + 32 * k),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 9 }),
        fc.constantFrom(layout.leaf, ...places),
        fc.integer({ min: 0, max: 255 }),
        async (challenge, place, bit) => {
          const at = inclusionProofOffset(layout, challenge) + place
          const error = await check(withSecond(flipped(second, 8 * at + bit)))
          expect(error).toBeInstanceOf(InvalidRequestError)
          expect((error as ProverError).details).toMatchObject({ sector: 168229961669n, challenge })
        },
      ),
      { numRuns: 200 },
    )
  }, 60_000)

  it('is refused when cut, extended or overwritten at random', () => expectEditsRefused(second, withSecond), 60_000)

  it('is refused when any bits of a WinningPoSt of full size differ', async () => {
    const winning = winning32Request()
    const [proof] = winning.vanillaProofs as [Uint8Array]
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 0, max: 8 * proof.length - 1 }), { minLength: 1, maxLength: 5 }),
        async (bits) => {
          const vanillaProofs = [bits.reduce(flipped, proof)]
          expect(await check({ ...winning, vanillaProofs })).toBeInstanceOf(InvalidRequestError)
        },
      ),
      { numRuns: 100 },
    )
  }, 60_000)
})

describe('any value in place of a field', () => {
  it('is refused with a typed error', () => {
    expectAnyValueRefused(windowRequest(), (field, value) => {
      if (field === 'partitionIndex') return Number.isInteger(value)
      return field === 'minerId' ? typeof value === 'bigint' : field === 'sectors' && value === undefined
    })
  })
})
