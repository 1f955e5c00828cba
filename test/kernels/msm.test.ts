/** Multiexp against known discrete logarithms: Σ s_i (t_i G) = (Σ s_i t_i) G. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { SCALAR_BYTES } from '../../src/cpu/msm/digits.ts'
import type { Group } from '../../src/cpu/msm/group-kernels.ts'
import { POINT_BYTES } from '../../src/cpu/msm/group-kernels.ts'
import { digitsBytes, multiexp, multiexpSync } from '../../src/cpu/msm/multiexp.ts'
import { inlinePool } from './inline-pool.ts'
import { bytesAt, KERNEL_MODULES, kernelInstance } from './kernel-instance.ts'
import { encode, importPoints, multiple, R } from './points.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** A scalar below r from a seed. */
const random = (seed: string): bigint => BigInt(`0x${createHash('sha512').update(seed).digest('hex')}`) % R

function littleEndian(value: bigint): Uint8Array {
  return Uint8Array.from({ length: SCALAR_BYTES }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn))
}

describe.each(KERNEL_MODULES)('%s', (moduleName) => {
  const instance = kernelInstance(moduleName)
  const pool = inlinePool(instance)
  describe.each(['g1', 'g2'] as Group[])('%s', (group) => {
    // Base points t G of which all tests take some; t is chosen so that no two agree.
    const logs = Array.from({ length: 64 }, (_, i) => random(`log ${i}`))
    const bases = importPoints(
      instance,
      group,
      logs.map((log) => encode(group, multiple(group, log))),
    )

    /** Lays out points (with repetition) and scalars. */
    const place = (choice: readonly number[], scalars: readonly bigint[]): { points: number; at: number } => {
      const size = POINT_BYTES[group]
      const points = instance.arena.allocate(Math.max(1, choice.length) * size)
      const at = instance.arena.allocate(Math.max(1, choice.length) * SCALAR_BYTES)
      choice.forEach((base, i) => {
        bytesAt(instance, points + i * size, size).set(bytesAt(instance, bases + base * size, size))
        bytesAt(instance, at + i * SCALAR_BYTES, SCALAR_BYTES).set(littleEndian(scalars[i] as bigint))
      })
      return { points, at }
    }

    const check = async (choice: readonly number[], scalars: readonly bigint[]): Promise<void> => {
      const { points, at } = place(choice, scalars)
      const used = instance.arena.usedBytes
      const expected = choice.reduce((sum, base, i) => sum + (logs[base] as bigint) * (scalars[i] as bigint), 0n)
      const encoded = hex(encode(group, multiple(group, expected)))
      const shares: number[] = []
      const run = { signal: new AbortController().signal, unit: (share: number) => void shares.push(share) }
      expect(hex(await multiexp(pool, group, points, at, choice.length, run))).toBe(encoded)
      expect(instance.arena.usedBytes).toBe(used)
      if (choice.length > 0) expect(shares.at(-1)).toBe(1)
      const digits = instance.arena.allocate(digitsBytes(choice.length))
      expect(hex(multiexpSync(instance, group, points, at, choice.length, digits))).toBe(encoded)
      for (const address of [digits, points, at]) instance.arena.free(address)
    }

    const distinct = (count: number): number[] => Array.from({ length: count }, (_, i) => i % logs.length)

    it.each([0, 1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 63, 64])('sums %i random multiples', async (count) => {
      await check(
        distinct(count),
        distinct(count).map((i) => random(`scalar ${count} ${i}`)),
      )
    })

    it('takes edge scalars', async () => {
      const scalars = [
        0n,
        1n,
        2n,
        R - 1n,
        R - 2n,
        R / 2n,
        R / 2n + 1n,
        2n ** 254n,
        2n ** 128n,
        0xffffn,
        0x8000n,
        0x7fffn,
      ]
      for (const scalar of scalars) await check([0], [scalar])
      await check(distinct(scalars.length), scalars)
    })

    it.each([
      ['0', 0n],
      ['1', 1n],
      ['r − 1', R - 1n],
      ['one random value', random('equal')],
    ])('takes all scalars equal to %s', async (_, scalar) => {
      await check(
        distinct(64),
        distinct(64).map(() => scalar),
      )
    })

    it('takes equal points, and points that cancel', async () => {
      const count = 50
      await check(
        Array(count).fill(3),
        Array.from({ length: count }, (_, i) => random(`same ${i}`)),
      )
      await check(Array(count).fill(3), Array(count).fill(random('same')))
      await check(
        Array(count).fill(3),
        Array.from({ length: count }, (_, i) => (i % 2 === 0 ? 5n : R - 5n)),
      )
      await check(Array(3).fill(7), [1n, 1n, R - 2n])
    })

    it('sums thousands, with 0 and 1 among them and repeated points', async () => {
      const count = 4099
      const scalars = Array.from({ length: count }, (_, i) =>
        i % 3 === 0 ? 0n : i % 3 === 1 ? 1n : random(`many ${i}`),
      )
      await check(
        Array.from({ length: count }, (_, i) => (i * 7 + (i >> 6)) % logs.length),
        scalars,
      )
    })
  })

  it('stops before it starts if the signal has aborted', async () => {
    const reason = new Error('enough')
    const run = { signal: AbortSignal.abort(reason), unit: () => {} }
    await expect(multiexp(pool, 'g1', 0, 0, 5, run)).rejects.toBe(reason)
  })
})
