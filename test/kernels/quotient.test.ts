import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COSET_GENERATOR, inverseOfSize, rootOfUnity, vanishingOnCoset } from '../../src/cpu/ntt/domain.ts'
import { computeQuotient } from '../../src/cpu/ntt/quotient.ts'
import { Transforms } from '../../src/cpu/ntt/transform.ts'
import { ComputePool } from '../../src/cpu/thread-pool.ts'
import { FR_MODULUS, frInv, frMul, frPow, frSub } from '../../src/field/fr.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { frStream, getVector, putVector, slowTransform } from '../support/fr-vectors.ts'

/** As bellperson's prover does it: seven transforms, c among them. */
function referenceQuotient(log2: number, a: readonly bigint[], b: readonly bigint[]): bigint[] {
  const root = rootOfUnity(log2)
  const inverse = (values: readonly bigint[]): bigint[] =>
    slowTransform(values, frInv(root)).map((x) => frMul(x, inverseOfSize(log2)))
  const shifted = (values: readonly bigint[], by: bigint): bigint[] =>
    values.map((x, i) => frMul(x, frPow(by, BigInt(i))))
  const onCoset = (values: readonly bigint[]): bigint[] =>
    slowTransform(shifted(inverse(values), COSET_GENERATOR), root)
  const c = a.map((x, i) => frMul(x, b[i] as bigint))
  const [x, y, z] = [a, b, c].map(onCoset) as [bigint[], bigint[], bigint[]]
  const divisor = frInv(vanishingOnCoset(log2))
  const values = x.map((value, i) => frMul(frSub(frMul(value, y[i] as bigint), z[i] as bigint), divisor))
  return shifted(inverse(values), frInv(COSET_GENERATOR))
}

describe.each(['fma', 'integer'] as const)('quotient (%s)', (backend) => {
  let pool: ComputePool
  beforeAll(async () => {
    pool = await ComputePool.create({ threads: 2, backend })
  })
  afterAll(() => pool.close())
  const idle: Run = { signal: new AbortController().signal, unit: () => {} }

  it.each([1, 2, 3, 5, 8, 11])('with six transforms equals seven, for 2^%i rows', async (log2) => {
    const length = 2 ** log2
    const random = frStream(log2)
    const before = pool.arena.usedBytes
    const transforms = await Transforms.create(pool, idle)
    const cases = [
      [Array.from({ length }, random), Array.from({ length }, random)],
      // Padded with zeros, and values at the ends of the field.
      [0, 1].map(() => Array.from({ length }, (_, i) => (i < length / 2 ? (i % 2 === 0 ? FR_MODULUS - 1n : 1n) : 0n))),
      [Array.from({ length }, () => FR_MODULUS - 1n), Array.from({ length }, () => 1n)],
    ] as [bigint[], bigint[]][]
    for (const [x, y] of cases) {
      const [a, b, c] = [x, y, x].map((values) => putVector(pool, values)) as [number, number, number]
      new Uint8Array(pool.memory.buffer, c, length * 32).fill(0xff)
      const shares: number[] = []
      await computeQuotient(transforms, log2, { a, b, c }, { ...idle, unit: (share) => shares.push(share) })
      const h = getVector(pool, b, length)
      expect(h).toEqual(referenceQuotient(log2, x, y))
      expect(h.at(-1)).toBe(0n)
      expect(shares).toEqual([...shares].sort((s, t) => s - t))
      expect(shares.at(-1)).toBe(1)
      for (const address of [a, b, c]) pool.arena.free(address)
    }
    await transforms.release()
    expect(pool.arena.usedBytes).toBe(before)
  })

  it('stops between units when the signal aborts', async () => {
    const log2 = 15
    const transforms = await Transforms.create(pool, idle)
    const [a, b, c] = [0, 1, 2].map(() => putVector(pool, Array(2 ** log2).fill(1n))) as [number, number, number]
    const controller = new AbortController()
    const run: Run = { signal: controller.signal, unit: (share) => share > 0.4 && controller.abort('enough') }
    await expect(computeQuotient(transforms, log2, { a, b, c }, run)).rejects.toBe('enough')
    for (const address of [a, b, c]) pool.arena.free(address)
    await transforms.release()
  })
})
