/** No change to a real vanilla proof passes, crashes or hangs: each is refused with a typed error. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidRequestError, ProverError } from '../../src/errors.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { ProofRequest, WindowPostRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { postGeometry } from '../../src/synthesis/post-geometry.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { inclusionProofOffset, vanillaLayout } from '../../src/synthesis/vanilla-post.ts'
import { windowRequest, winning32Request } from '../support/fixtures.ts'
import { rememberingHasher } from '../support/remembering-hasher.ts'

const idle: Run = { signal: new AbortController().signal, unit: () => {} }

const hasher = rememberingHasher()

/** Takes a request through every check before a device. */
async function check(request: ProofRequest): Promise<'passed' | ProverError> {
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
  const window = windowRequest()
  const [first, second] = window.vanillaProofs as [Uint8Array, Uint8Array]
  const layout = vanillaLayout(postGeometry('wpost-2k'))
  const withSecond = (bytes: Uint8Array): WindowPostRequest => ({
    ...window,
    sectors: undefined,
    vanillaProofs: [first, bytes],
  })

  it('is refused whichever byte differs: every byte is bound by some check', async () => {
    expect(await check(withSecond(second))).toBe('passed')
    for (let at = 0; at < second.length; at++) {
      // Another bit in each byte, so that all eight are met in turn.
      const error = await check(withSecond(flipped(second, 8 * at + ((at + (at >> 3)) & 7))))
      expect(error, `byte ${at}`).toBeInstanceOf(InvalidRequestError)
    }
  }, 60_000)

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

  it('is refused when cut, extended or overwritten at random', async () => {
    const change = fc.oneof(
      fc.record({ kind: fc.constant('cut' as const), at: fc.integer({ min: 0, max: second.length - 1 }) }),
      fc.record({ kind: fc.constant('extend' as const), by: fc.uint8Array({ minLength: 1, maxLength: 300 }) }),
      fc.record({
        kind: fc.constant('overwrite' as const),
        at: fc.integer({ min: 0, max: second.length - 1 }),
        by: fc.uint8Array({ minLength: 1, maxLength: 300 }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(change, async (edit) => {
        let bytes: Uint8Array
        if (edit.kind === 'cut') bytes = second.slice(0, edit.at)
        else if (edit.kind === 'extend') bytes = Uint8Array.from([...second, ...edit.by])
        else {
          bytes = second.slice()
          bytes.set(edit.by.subarray(0, second.length - edit.at), edit.at)
        }
        fc.pre(Buffer.compare(bytes, second) !== 0)
        const error = await check(withSecond(bytes))
        expect(error).toBeInstanceOf(InvalidRequestError)
      }),
      { numRuns: 300 },
    )
  }, 60_000)

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

describe('any value in place of a request', () => {
  it('is refused with a typed error', () => {
    const real = windowRequest()
    const fields = Object.keys(real)
    fc.assert(
      fc.property(
        fc.constantFrom(...fields),
        fc.anything({ withBigInt: true, withTypedArray: true }),
        (field, value) => {
          fc.pre(
            !(field === 'partitionIndex' && Number.isInteger(value)) &&
              !(field === 'minerId' && typeof value === 'bigint'),
          )
          fc.pre(!(field === 'sectors' && value === undefined))
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
