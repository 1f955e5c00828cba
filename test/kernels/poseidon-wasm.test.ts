import { describe, expect, it } from 'vitest'
import { customTag } from '../../src/circuit/poseidon/constants.ts'
import { poseidonHash } from '../../src/circuit/poseidon/hash.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { FR_MODULUS, frFromBytes, frToBytes } from '../../src/field/fr.ts'
import { frStream } from '../support/fr-vectors.ts'

const hasher = new WasmPoseidonHasher()

function hashAll(arity: number, groups: readonly (readonly bigint[])[], domainTag?: bigint): bigint[] {
  const preimages = Uint8Array.from(groups.flat().flatMap((value) => [...frToBytes(value)]))
  const digests = new Uint8Array(32 * groups.length)
  hasher.hash(arity, preimages, digests, domainTag)
  return groups.map((_, i) => frFromBytes(digests, 32 * i))
}

/** Hashes of 0, 1, …, arity − 1 that neptune's own tests have. */
const NEPTUNE: Record<number, bigint> = {
  2: 0x396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ffn,
  4: 0x58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075dn,
  8: 0x2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6n,
  11: 0x0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163n,
}

describe.each([2, 4, 8, 11])('Poseidon of arity %i in WebAssembly', (arity) => {
  it('gives neptune’s hash', () => {
    expect(hashAll(arity, [Array.from({ length: arity }, (_, i) => BigInt(i))])).toEqual([NEPTUNE[arity]])
  })

  it('equals the plain definition at the edges and at random', () => {
    const next = frStream(arity)
    const same = (value: bigint): bigint[] => new Array<bigint>(arity).fill(value)
    const groups = [same(0n), same(1n), same(FR_MODULUS - 1n), Array.from({ length: arity }, next)]
    expect(hashAll(arity, groups)).toEqual(groups.map((group) => poseidonHash(group)))
    expect(hashAll(arity, groups, customTag(1))).toEqual(groups.map((group) => poseidonHash(group, customTag(1))))
  })
})

it('hashes more groups than one call takes', () => {
  const groups = Array.from({ length: 600 }, (_, i) => [BigInt(i), BigInt(i * i)])
  const hashes = hashAll(2, groups)
  for (const i of [0, 255, 256, 511, 512, 599]) expect(hashes[i]).toBe(poseidonHash(groups[i] as bigint[]))
})

it('refuses lengths that don’t fit and arities without constants', () => {
  expect(() => hasher.hash(2, new Uint8Array(63), new Uint8Array(32))).toThrow(RangeError)
  expect(() => hasher.hash(3, new Uint8Array(96), new Uint8Array(32))).toThrow(RangeError)
  expect(() => hasher.hash(36, new Uint8Array(36 * 32), new Uint8Array(32))).toThrow(RangeError)
})
