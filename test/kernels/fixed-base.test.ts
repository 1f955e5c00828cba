/** Multiples of a fixed base against @noble/curves. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { fixedBaseMultiples } from '../../src/cpu/fixed-base/fixed-base.ts'
import type { Group } from '../../src/cpu/msm/group-kernels.ts'
import { ENCODED_BYTES } from '../../src/cpu/msm/group-kernels.ts'
import { inlinePool } from './inline-pool.ts'
import { KERNEL_MODULES, kernelInstance } from './kernel-instance.ts'
import { encode, infinity, multiple, R } from './points.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const random = (seed: string): bigint => BigInt(`0x${createHash('sha512').update(seed).digest('hex')}`) % R
const littleEndian = (values: readonly bigint[]): Uint8Array =>
  Uint8Array.from(
    values.flatMap((value) => Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn))),
  )

const EDGES = [0n, 1n, 2n, 3n, R - 1n, R - 2n, R / 2n, R / 2n + 1n, 2n ** 254n, 2n ** 14n, 2n ** 15n - 1n, 0xffff_ffffn]
const run = { signal: new AbortController().signal, unit: (): void => {} }

describe.each(KERNEL_MODULES)('%s', (moduleName) => {
  const instance = kernelInstance(moduleName)
  const pool = inlinePool(instance)
  describe.each(['g1', 'g2'] as Group[])('%s', (group) => {
    const size = ENCODED_BYTES[group]
    const log = random('base')
    const base = encode(group, multiple(group, log))

    const multiples = async (scalars: readonly bigint[]): Promise<string[]> => {
      const used = instance.arena.usedBytes
      const out = new Uint8Array(scalars.length * size)
      const shares: number[] = []
      const reporting = { signal: run.signal, unit: (share: number) => void shares.push(share) }
      await fixedBaseMultiples(pool, group, base, littleEndian(scalars), out, reporting)
      expect(instance.arena.usedBytes).toBe(used)
      if (scalars.length > 0) expect(shares.at(-1)).toBe(1)
      return scalars.map((_, i) => hex(out.subarray(i * size, (i + 1) * size)))
    }
    const expected = (scalars: readonly bigint[]): string[] =>
      scalars.map((scalar) => hex(encode(group, multiple(group, scalar * log))))

    it.each([0, 1, 2, 3, 33])('computes %i random multiples', async (count) => {
      const scalars = Array.from({ length: count }, (_, i) => random(`${count} ${i}`))
      expect(await multiples(scalars)).toEqual(expected(scalars))
    })

    it('takes edge scalars', async () => {
      expect(await multiples(EDGES)).toEqual(expected(EDGES))
      expect(await multiples([0n, 0n, 0n])).toEqual(expected([0n, 0n, 0n]))
    })

    it('computes several units, with a wider window', async () => {
      const few = [...EDGES, ...Array.from({ length: 20 }, (_, i) => random(`few ${i}`))]
      const scalars = Array.from({ length: 2500 }, (_, i) => few[i % few.length] as bigint)
      const points = expected(few)
      expect(await multiples(scalars)).toEqual(scalars.map((_, i) => points[i % few.length]))
    })

    it('takes infinity for a base', async () => {
      const out = new Uint8Array(2 * size)
      await fixedBaseMultiples(pool, group, encode(group, infinity(group)), littleEndian([5n, 0n]), out, run)
      expect(hex(out)).toBe(hex(encode(group, infinity(group))).repeat(2))
    })

    it('refuses a base off the curve and lengths that do not fit', async () => {
      const off = base.slice()
      off[size - 1] = (off[size - 1] as number) ^ 1
      const used = instance.arena.usedBytes
      await expect(fixedBaseMultiples(pool, group, off, littleEndian([5n]), new Uint8Array(size), run)).rejects.toThrow(
        'curve',
      )
      expect(instance.arena.usedBytes).toBe(used)
      await expect(
        fixedBaseMultiples(pool, group, base, new Uint8Array(31), new Uint8Array(size), run),
      ).rejects.toThrow(RangeError)
      await expect(
        fixedBaseMultiples(pool, group, base, littleEndian([5n]), new Uint8Array(2 * size), run),
      ).rejects.toThrow(RangeError)
    })
  })
})
