import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COSET_GENERATOR, inverseOfSize, ROOT_OF_UNITY, rootOfUnity } from '../../src/cpu/ntt/domain.ts'
import { Transforms, transposedIndex } from '../../src/cpu/ntt/transform.ts'
import { ComputePool } from '../../src/cpu/thread-pool.ts'
import { FR_MODULUS, frInv, frMul, frPow } from '../../src/field/fr.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { frStream, getVector, naiveTransform, putVector, slowTransform } from '../support/fr-vectors.ts'

const run: Run = { signal: new AbortController().signal, unit: () => {} }

describe('domain', () => {
  it('has the root of unity of the Rust crates, of exact order 2^32', () => {
    expect(ROOT_OF_UNITY).toBe(0x16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2bn)
    expect(rootOfUnity(1)).toBe(FR_MODULUS - 1n)
    expect(rootOfUnity(0)).toBe(1n)
    expect(() => rootOfUnity(33)).toThrow(RangeError)
  })
})

describe.each(['fma', 'integer'] as const)('transforms (%s)', (backend) => {
  let pool: ComputePool
  let transforms: Transforms
  let usedBytes: number
  beforeAll(async () => {
    pool = await ComputePool.create({ threads: 2, backend })
    usedBytes = pool.arena.usedBytes
    // Nothing may rest on memory being clear.
    new Uint8Array(pool.memory.buffer).fill(0xff, pool.arena.allocate(2 ** 22))
    transforms = await Transforms.create(pool, run)
  })
  afterAll(() => pool.close())

  const edge = [0n, 1n, FR_MODULUS - 1n]
  const vectors = (length: number, seed: number): bigint[][] => {
    const random = frStream(seed)
    return [
      Array.from({ length }, random),
      Array.from({ length }, () => FR_MODULUS - 1n),
      Array.from({ length }, () => 0n),
      Array.from({ length }, (_, i) => edge[i % 3] as bigint),
      Array.from({ length }, (_, i) => (i === length - 1 ? 1n : 0n)),
    ]
  }
  const transposed = (log2: number, values: readonly bigint[]): bigint[] => {
    const out: bigint[] = []
    for (const [k, value] of values.entries()) out[transposedIndex(log2, k)] = value
    return out
  }

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('of 2^%i elements equal the definition', async (log2) => {
    const length = 2 ** log2
    for (const values of vectors(length, log2)) {
      const address = putVector(pool, values)
      await transforms.analyse(log2, address, { to: address }, run)
      const coefficients = naiveTransform(values, frInv(rootOfUnity(log2))).map((x) => frMul(x, inverseOfSize(log2)))
      expect(getVector(pool, address, length)).toEqual(transposed(log2, coefficients))

      await transforms.synthesise(log2, address, run)
      expect(getVector(pool, address, length)).toEqual(values)
      pool.arena.free(address)
    }
  })

  it.each([1, 4, 7])('of 2^%i elements scale, shift to a coset, multiply and subtract', async (log2) => {
    const length = 2 ** log2
    const random = frStream(100 + log2)
    const [x, y, z] = [0, 1, 2].map(() => Array.from({ length }, random)) as [bigint[], bigint[], bigint[]]
    const [a, b, c] = [x, y, z].map((values) => putVector(pool, values)) as [number, number, number]
    const out = putVector(pool, x)

    const scale = random()
    const product = x.map((value, i) => frMul(value, y[i] as bigint))
    const expected = naiveTransform(product, frInv(rootOfUnity(log2))).map((value, k) =>
      frMul(frMul(value, inverseOfSize(log2)), frMul(scale, frPow(COSET_GENERATOR, BigInt(k)))),
    )
    await transforms.analyse(log2, a, { times: b, to: out, scale, shift: COSET_GENERATOR }, run)
    expect(getVector(pool, out, length)).toEqual(transposed(log2, expected))
    expect(getVector(pool, a, length)).toEqual(x)

    await transforms.analyse(
      log2,
      a,
      { times: b, to: a, scale, shift: COSET_GENERATOR, natural: { to: out, minus: c } },
      run,
    )
    const difference = expected.map((value, k) => {
      const minus = z[transposedIndex(log2, k)] as bigint
      return value >= minus ? value - minus : value - minus + FR_MODULUS
    })
    expect(getVector(pool, out, length)).toEqual(difference)
    for (const address of [a, b, c, out]) pool.arena.free(address)
  })

  it.each([10, 13])('of 2^%i elements equal a transform by halving', async (log2) => {
    const length = 2 ** log2
    const values = Array.from({ length }, frStream(log2))
    const address = putVector(pool, values)
    await transforms.analyse(log2, address, { to: address, scale: 1n << BigInt(log2) }, run)
    const expected = transposed(log2, slowTransform(values, frInv(rootOfUnity(log2))))
    expect(getVector(pool, address, length)).toEqual(expected)
    pool.arena.free(address)
  })

  it.each([14, 15, 16, 17])('of 2^%i elements: back and forth is the identity', async (log2) => {
    const length = 2 ** log2
    const address = putVector(pool, Array.from({ length }, frStream(log2)))
    const before = new Uint8Array(pool.memory.buffer, address, length * 32).slice()
    await transforms.analyse(log2, address, { to: address }, run)
    await transforms.synthesise(log2, address, run)
    expect(Buffer.compare(new Uint8Array(pool.memory.buffer, address, length * 32).slice(), before)).toBe(0)
    pool.arena.free(address)
  })

  it('work beyond 2 GiB, where addresses are negative as signed integers', async () => {
    const high = await ComputePool.create({ threads: 1, backend })
    try {
      // Never written, so it takes address space only; everything after it lies above.
      high.arena.allocate(2 ** 31)
      const values = Array.from({ length: 2 ** 9 }, frStream(9))
      const address = putVector(high, values)
      expect(address).toBeGreaterThan(2 ** 31)
      const its = await Transforms.create(high, run)
      await its.analyse(9, address, { to: address, scale: 2n ** 9n }, run)
      const expected = transposed(9, slowTransform(values, frInv(rootOfUnity(9))))
      expect(getVector(high, address, 2 ** 9)).toEqual(expected)
      await its.synthesise(9, address, run)
      expect(getVector(high, address, 2 ** 9)).toEqual(values.map((value) => frMul(value, 2n ** 9n)))
    } finally {
      await high.close()
    }
  })

  it('frees its tables', async () => {
    await transforms.release()
    expect(pool.arena.usedBytes).toBe(usedBytes + 2 ** 22)
  })
})
