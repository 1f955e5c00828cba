import { describe, expect, it } from 'vitest'
import { InvalidRequestError } from '../../src/errors.ts'
import { prepareInputs, verifyPrepared, verifyProofs } from '../../src/groth16/verify.ts'
import { parseVerifyingKey } from '../../src/params/verifying-key.ts'
import { fromHex, type ProofVector, proofVector, vectorFile, vectorJson } from '../support/vectors.ts'

const thirdparty = vectorJson('thirdparty/winning-32GiB.json')
const VECTORS: Readonly<Record<string, ProofVector>> = {
  'window 2 KiB': proofVector('2KiB/a', 'window', 'window-2KiB'),
  'window 2 KiB, two partitions': proofVector('2KiB/a', 'window-3', 'window-2KiB'),
  'winning 2 KiB': proofVector('2KiB/a', 'winning', 'winning-2KiB'),
  'porep 2 KiB': proofVector('2KiB/a', 'porep', 'porep-2KiB'),
  'update 2 KiB': proofVector('2KiB/a', 'update', 'update-2KiB'),
  'winning 32 GiB': proofVector('32GiB', 'winning', 'winning-32GiB'),
  'winning 32 GiB of a third party': {
    vk: vectorFile('thirdparty/winning-32GiB.vk'),
    proof: fromHex(thirdparty.proof),
    publicInputs: [thirdparty.public_inputs.map(fromHex)],
  },
}
const prepare = (vk: Uint8Array) => parseVerifyingKey(vk, { file: 'test.vk' })
const window = VECTORS['window 2 KiB'] as ProofVector
const window3 = VECTORS['window 2 KiB, two partitions'] as ProofVector
const windowKey = prepare(window.vk)

const flipBit = (bytes: Uint8Array, bit: number): Uint8Array => {
  const flipped = bytes.slice()
  flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
  return flipped
}

describe('proofs of other provers', () => {
  it.each(Object.entries(VECTORS))('%s verifies', (_, { vk, proof, publicInputs }) => {
    expect(verifyProofs(prepare(vk), publicInputs, proof)).toBe(true)
  })

  it('stay as they are, also in a Buffer, whose slices are no copies', () => {
    const [proof, vk] = [Buffer.from(window3.proof), Buffer.from(window3.vk)]
    const key = prepare(vk)
    vk.fill(0)
    for (const _ of [1, 2]) expect(verifyProofs(key, window3.publicInputs, proof)).toBe(true)
    expect(new Uint8Array(proof)).toEqual(window3.proof)
  })
})

describe('inputs that were prepared', () => {
  it.each(Object.entries(VECTORS))('of %s verify its proof, and no changed one', (_, { vk, proof, publicInputs }) => {
    const key = prepare(vk)
    const inputs = prepareInputs(key, publicInputs)
    expect(verifyPrepared(key, inputs, proof)).toBe(true)
    expect(verifyPrepared(key, inputs, flipBit(proof, 8 * 100 + 3))).toBe(false)
    expect(verifyPrepared(key, inputs, proof.subarray(1))).toBe(false)
  })

  it('verify no proof of others', () => {
    const [first, second] = window3.publicInputs as [Uint8Array[], Uint8Array[]]
    const exchanged = prepareInputs(windowKey, [second, first])
    expect(verifyPrepared(windowKey, exchanged, window3.proof)).toBe(false)
    const [inputs] = window.publicInputs as [Uint8Array[]]
    const changed = prepareInputs(windowKey, [[flipBit(inputs[0] as Uint8Array, 9), ...inputs.slice(1)]])
    expect(verifyPrepared(windowKey, changed, window.proof)).toBe(false)
  })

  it('verify nothing once they are damaged: whoever holds them is to verify without', () => {
    const inputs = prepareInputs(windowKey, window3.publicInputs)
    // Off the curve; and another point of it.
    for (const sum of [flipBit(inputs.sum, 8 * 60), windowKey.ic.slice(0, 96)]) {
      expect(verifyPrepared(windowKey, { ...inputs, sum }, window3.proof)).toBe(false)
    }
  })

  it('of several partitions have a random weight each, one partition the weight 1', () => {
    const [a, b] = [prepareInputs(windowKey, window3.publicInputs), prepareInputs(windowKey, window3.publicInputs)]
    expect(new Set([...a.weights, ...b.weights]).size).toBe(4)
    expect(a.sum).not.toEqual(b.sum)
    expect(prepareInputs(windowKey, window.publicInputs).weights).toEqual([1n])
  })

  it('are checked as those of a verification are', () => {
    expect(() => prepareInputs(windowKey, [[]])).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field: 'publicInputs[0]' }) }),
    )
    expect(() => prepareInputs(windowKey, [])).toThrow(InvalidRequestError)
  })
})

describe('changed proofs', () => {
  it('one bit of each byte of a proof, and each bit of the flag bytes', () => {
    const bits = Array.from({ length: 192 }, (_, byte) => 8 * byte + (byte % 8))
    for (const flagByte of [0, 48, 144]) for (let bit = 0; bit < 8; bit++) bits.push(8 * flagByte + bit)
    const accepted = bits.filter((bit) => verifyProofs(windowKey, window.publicInputs, flipBit(window.proof, bit)))
    expect(accepted).toEqual([])
  })

  it('one bit of the second of two proofs', () => {
    for (const bit of [8 * 192 + 5, 8 * 250 + 1, 8 * 383]) {
      expect(verifyProofs(windowKey, window3.publicInputs, flipBit(window3.proof, bit))).toBe(false)
    }
  })

  it('two partitions exchanged', () => {
    const swapped = new Uint8Array([...window3.proof.subarray(192), ...window3.proof.subarray(0, 192)])
    expect(verifyProofs(windowKey, window3.publicInputs, swapped)).toBe(false)
  })

  it('wrong length', () => {
    expect(verifyProofs(windowKey, window.publicInputs, window.proof.subarray(1))).toBe(false)
    expect(verifyProofs(windowKey, window.publicInputs, new Uint8Array(193))).toBe(false)
    expect(verifyProofs(windowKey, window.publicInputs, new Uint8Array(0))).toBe(false)
    expect(verifyProofs(windowKey, window.publicInputs, window3.proof)).toBe(false)
  })

  it.each([
    ['A', 0, 48],
    ['B', 48, 96],
    ['C', 144, 48],
  ])('%s at infinity', (_, at, length) => {
    const proof = window.proof.slice()
    proof.fill(0, at, at + length)
    proof[at] = 0xc0
    expect(verifyProofs(windowKey, window.publicInputs, proof)).toBe(false)
  })

  it('a point of the curve outside the subgroup', () => {
    // x = 4: 4³ + 4 = 68 is a square modulo p, and (4, √68) has no order r.
    const proof = window.proof.slice()
    proof.fill(0, 0, 48)
    proof[0] = 0x80
    proof[47] = 4
    expect(verifyProofs(windowKey, window.publicInputs, proof)).toBe(false)
  })
})

describe('changed public inputs', () => {
  it('one bit of each', () => {
    const [inputs] = window.publicInputs as [Uint8Array[]]
    for (const i of inputs.keys()) {
      const changed = inputs.map((input, k) => (k === i ? flipBit(input, (37 * i) % 250) : input))
      expect(verifyProofs(windowKey, [changed], window.proof), `input ${i}`).toBe(false)
    }
  })

  it('too few or too many are an error that names the partition', () => {
    const [first, second] = window3.publicInputs as [Uint8Array[], Uint8Array[]]
    for (const wrong of [second.slice(1), [...second, new Uint8Array(32)]]) {
      expect(() => verifyProofs(windowKey, [first, wrong], window3.proof)).toThrow(
        expect.objectContaining({
          code: 'ERR_INVALID_REQUEST',
          details: {
            field: 'publicInputs[1]',
            expected: '22 public inputs',
            received: `${wrong.length} public inputs`,
          },
        }),
      )
    }
    expect(() => verifyProofs(windowKey, [], new Uint8Array(0))).toThrow(InvalidRequestError)
  })

  it('one that is not canonical is an error, though it is the same number', () => {
    const [inputs] = window.publicInputs as [Uint8Array[]]
    // r itself, little-endian
    const order = fromHex('01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73')
    const changed = [...inputs.slice(0, 3), order, ...inputs.slice(4)]
    expect(() => verifyProofs(windowKey, [changed], window.proof)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field: 'publicInputs[0][3]' }) }),
    )
  })
})

describe('changed keys', () => {
  it('one bit of every seventh byte', () => {
    const accepted: number[] = []
    for (let byte = 0; byte < window.vk.length; byte += 7) {
      try {
        const key = prepare(flipBit(window.vk, 8 * byte + (byte % 8)))
        if (verifyProofs(key, window.publicInputs, window.proof)) accepted.push(byte)
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_SRS_UNAVAILABLE', details: { file: 'test.vk' } })
      }
    }
    expect(accepted).toEqual([])
  })
})
