/** Field kernels of every module against bigint arithmetic: random and edge values, digits at their bounds. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { FieldEmitter } from '../../src/cpu/assembly/kernels/field.ts'
import { inverseModulo, modulo } from '../../src/cpu/assembly/kernels/field.ts'
import { bytesAt, callKernel, KERNEL_MODULES, kernelInstance } from './kernel-instance.ts'

const ROUNDS = 300

describe.each(KERNEL_MODULES)('%s', (moduleName) => {
  const instance = kernelInstance(moduleName)
  describe.each(['fq', 'fr'] as const)('%s', (fieldName) => {
    const field: FieldEmitter = instance.fields[fieldName]
    const { modulus: p, lanes, blockBytes, bytes } = field
    const inverseRadix = inverseModulo(field.radix, p)
    const block = [0, 1, 2, 3].map(() => instance.arena.allocate(blockBytes)) as [number, number, number, number]
    const plain = [0, 1].map(() => instance.arena.allocate(bytes)) as [number, number]
    const [out, a, b] = block

    const put = (address: number, values: readonly bigint[]): void => {
      bytesAt(instance, address, blockBytes).set(field.encode(values))
    }
    const take = (address: number): bigint[] => field.decode(bytesAt(instance, address, blockBytes))
    const reduced = (address: number): bigint[] => take(address).map((value) => modulo(value, p))
    const call = (suffix: string, ...args: number[]): number => callKernel(instance, `${fieldName}_${suffix}`, ...args)
    const random = (): bigint => modulo(BigInt(`0x${randomBytes(64).toString('hex')}`), p)

    /** What tidy values may be, extremes first. */
    const edges = lanes === 2 ? [0n, 1n, -1n, p / 2n, -(p / 2n), p / 2n - 1n] : [0n, 1n, p - 1n, p, p / 2n, p - 2n]
    const pick = (round: number): bigint[] => {
      const one = (i: number): bigint => edges[i % edges.length] as bigint
      if (round < edges.length ** 2) return [one(round), one(round + 3)]
      return lanes === 2 ? [random() - p / 2n, random() - p / 2n] : [random()]
    }
    const second = (round: number): bigint[] =>
      round < edges.length ** 2
        ? [edges[Math.floor(round / edges.length)] as bigint, edges[(round * 5) % edges.length] as bigint]
        : pick(round)

    const isTidy = (address: number): boolean =>
      take(address).every((value) =>
        lanes === 2 ? value ** 2n * 3n < p ** 2n : value >= 0n && value * 100n < p * 101n,
      )

    it('multiplies, squares, adds, subtracts, negates', () => {
      for (let round = 0; round < ROUNDS; round++) {
        const [x, y] = [pick(round), second(round)]
        const lane = (i: number): [bigint, bigint] => [x[i % lanes] as bigint, y[i % lanes] as bigint]
        const expected = (compute: (x: bigint, y: bigint) => bigint): bigint[] =>
          Array.from({ length: lanes }, (_, i) => modulo(compute(...lane(i)), p))
        put(a, x)
        put(b, y)
        for (const [suffix, compute] of [
          ['mul', (x: bigint, y: bigint) => x * y * inverseRadix],
          ['add', (x: bigint, y: bigint) => x + y],
          ['sub', (x: bigint, y: bigint) => x - y],
        ] as const) {
          call(suffix, out, a, b)
          expect(reduced(out), suffix).toEqual(expected(compute))
          expect(isTidy(out)).toBe(true)
        }
        call('sqr', out, a)
        expect(reduced(out)).toEqual(expected((x) => x * x * inverseRadix))
        call('neg', out, a)
        expect(reduced(out)).toEqual(expected((x) => -x))
        // The output may lie on an input.
        call('mul', a, a, a)
        expect(reduced(a)).toEqual(expected((x) => x * x * inverseRadix))
      }
    })

    it('tidies multiples of the modulus to zero and tells zero', () => {
      for (let k = lanes === 2 ? -4n : 0n; k <= 4n; k++) {
        put(a, [k * p, k * p + 1n])
        call('tidy', out, a)
        expect(reduced(out)).toEqual(lanes === 2 ? [0n, 1n] : [0n])
        expect(call('is_zero', out)).toBe(1)
      }
      put(a, [1n, p])
      expect(call('is_zero', a)).toBe(lanes === 2 ? 2 : 0)
    })

    it('inverts', () => {
      for (const x of [1n, 2n, p - 1n, random(), random()]) {
        put(a, [lanes === 2 && x > p / 2n ? x - p : x, 0n])
        call('inv', out, a)
        // Montgomery: (x R^-1)^-1 R = x^-1 R^2.
        const expected = modulo(inverseModulo(x, p) * field.radix * field.radix, p)
        expect(reduced(out)).toEqual(lanes === 2 ? [expected, 0n] : [expected])
      }
      put(a, [0n, 0n])
      call('inv', out, a)
      expect(reduced(out).every((value) => value === 0n)).toBe(true)
    })

    it('imports and exports plain little-endian integers, and the Montgomery form', () => {
      for (const values of [
        [0n, 1n],
        [p - 1n, 2n],
        [random(), random()],
        [random(), p - 1n],
      ]) {
        values.forEach((value, lane) => {
          bytesAt(instance, plain[lane] as number, bytes).set(littleEndian(value, bytes))
        })
        call('import', a, ...plain.slice(0, lanes))
        expect(reduced(a)).toEqual(values.slice(0, lanes))
        call('to_mont', b, a)
        expect(reduced(b)).toEqual(values.slice(0, lanes).map((value) => modulo(value * field.radix, p)))
        call('from_mont', b, b)
        bytesAt(instance, plain[0], bytes).fill(0xff)
        bytesAt(instance, plain[1], bytes).fill(0xff)
        call('export', b, ...plain.slice(0, lanes))
        for (let lane = 0; lane < lanes; lane++) {
          expect([...bytesAt(instance, plain[lane] as number, bytes)]).toEqual([
            ...littleEndian(values[lane] as bigint, bytes),
          ])
        }
      }
    })

    it('exports every representative canonically', () => {
      for (const value of [p, -p, 2n * p - 1n, -1n, p + 1n].filter((value) => lanes === 2 || value >= 0n)) {
        put(a, [value])
        call('export', a, ...plain.slice(0, lanes))
        expect([...bytesAt(instance, plain[0], bytes)]).toEqual([...littleEndian(modulo(value, p), bytes)])
      }
    })
  })
})

function littleEndian(value: bigint, bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn))
}
