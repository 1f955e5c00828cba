/**
 * Whatever is done to a commit-phase-1 output, reading it ends at once: it is refused by a typed error, or read as it
 * was.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidRequestError } from '../../src/errors.ts'
import { sealProofOf } from '../../src/request/porep/seal-proofs.ts'
import { proverId } from '../../src/request/prover-id.ts'
import { decodeBase64 } from '../../src/synthesis/base64.ts'
import type { PorepPartition } from '../../src/synthesis/porep/porep-partition.ts'
import { readSeal, readSealCommitments } from '../../src/synthesis/porep/read-seal.ts'
import { outputJson, porepRequest } from '../support/porep.ts'

const { minerId, sectorNumber, registeredProof } = porepRequest()
const rules = sealProofOf(registeredProof)
const json = outputJson()

function attempt(vanillaProof: Uint8Array): PorepPartition[] | InvalidRequestError {
  try {
    return readSeal({ rules, sectorNumber, proverId: proverId(minerId), vanillaProof })
  } catch (error) {
    if (error instanceof InvalidRequestError) return error
    throw error
  }
}

const original = attempt(json) as PorepPartition[]

/** Bytes that mean something in JSON, and others. */
const byte = fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\0129-.eE \n')), fc.nat(255))

describe('a reader of commit-phase-1 outputs', () => {
  it('refuses or reads what has a byte replaced', () => {
    fc.assert(
      fc.property(fc.nat(json.length - 1), byte, (at, value) => {
        const bytes = json.slice()
        bytes[at] = value
        const result = attempt(bytes)
        // Another digit is a value that later checks refuse.
        if (!(result instanceof InvalidRequestError)) expect(result.length).toBe(original.length)
        else expect(result.details.field?.startsWith('vanillaProof')).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('refuses what is cut, doubled or has a piece less', () => {
    fc.assert(
      fc.property(fc.nat(json.length - 2), fc.nat(300), (at, length) => {
        expect(attempt(json.subarray(0, at))).toBeInstanceOf(InvalidRequestError)
        const less = Buffer.concat([json.subarray(0, at), json.subarray(at + 1 + length)])
        const twice = Buffer.concat([json.subarray(0, at + 1 + length), json.subarray(at)])
        for (const bytes of [less, twice]) {
          const result = attempt(new Uint8Array(bytes))
          // A digit more or less may leave a number.
          if (!(result instanceof InvalidRequestError)) expect(result.length).toBe(original.length)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('refuses noise, of text or bytes', () => {
    const noise = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.string({ minLength: 1 }).map((text) => new Uint8Array(Buffer.from(text))),
      fc.json().map((text) => new Uint8Array(Buffer.from(text))),
      fc.array(byte, { minLength: 1 }).map((bytes) => Uint8Array.from([0x7b, ...bytes])),
    )
    fc.assert(
      fc.property(noise, (bytes) => {
        expect(attempt(bytes)).toBeInstanceOf(InvalidRequestError)
      }),
      { numRuns: 1000 },
    )
  })

  it('survives depth', () => {
    const deep = Buffer.from(`{"x":${'['.repeat(1e6)}${']'.repeat(1e6)},${Buffer.from(json).toString().slice(1)}`)
    expect(attempt(new Uint8Array(deep))).toEqual(original)
    expect(attempt(new Uint8Array(Buffer.from('['.repeat(1e6))))).toBeInstanceOf(InvalidRequestError)
  })

  it('gives the public part without the proofs', () => {
    const input = { rules, sectorNumber, proverId: proverId(minerId), vanillaProof: json }
    expect(readSealCommitments(input)).toEqual(original[0]?.commitments)
  })
})

describe('base64', () => {
  it('is decoded as Node decodes it', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeBase64(new Uint8Array(Buffer.from(Buffer.from(bytes).toString('base64'))))).toEqual(bytes)
      }),
    )
  })

  it.each([
    'A',
    'AA',
    'AAA',
    'A===',
    '====',
    'AA=A',
    'A=AA',
    'AAAA====',
    'AB==',
    'AAB=',
    'AA-A',
    'AA A',
    'AAA\n',
    'Aé==',
  ])('is refused: %j', (text) => {
    expect(decodeBase64(new Uint8Array(Buffer.from(text, 'latin1')))).toBeUndefined()
  })
})
