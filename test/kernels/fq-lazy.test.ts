/**
 * The functions that batch additions are made of, on operands at the bounds that they are generated for: digits of
 * ±(limb · 2^47), the largest values, sums and differences that were never normalised.
 */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Value } from '../../src/cpu/assembly/kernels/field.ts'
import { inverseModulo, modulo, FQ_MODULUS as P } from '../../src/cpu/assembly/kernels/field.ts'
import { fmaFields } from '../../src/cpu/assembly/kernels/modules.ts'
import { type FunctionBuilder, ModuleBuilder } from '../../src/cpu/assembly/kernels/wat.ts'
import { bytesAt, callKernel, KERNEL_MODULES, kernelInstance } from './kernel-instance.ts'

const HALF_DIGIT = 2n ** 47n
const ROUNDS = 400

/** Digits of a fused-double operand: extremes in most rounds, random ones in the others. */
function extremeDigits(round: number, limb: bigint, bound: number): bigint[] {
  const top = BigInt(Math.floor(Number(P >> 336n) * bound))
  const random = (limit: bigint): bigint =>
    modulo(BigInt(`0x${randomBytes(16).toString('hex')}`), 2n * limit + 1n) - limit
  return Array.from({ length: 8 }, (_, i) => {
    const limit = i === 7 ? top : limb * HALF_DIGIT
    if (round % 4 === 3) return random(limit)
    if (round % 4 === 0) return (round >> 2) & 1 ? limit : -limit
    if (round % 4 === 1) return (i + (round >> 2)) & 1 ? limit : -limit
    return random(1n) < 0n ? -limit : limit
  })
}

describe.each(KERNEL_MODULES.filter((name) => name !== 'kernels-int'))('%s', (moduleName) => {
  const instance = kernelInstance(moduleName)
  const inverseRadix = inverseModulo(2n ** 384n, P)
  const [out, a, b, z] = [0, 1, 2, 3].map(() => instance.arena.allocate(256)) as [number, number, number, number]

  /** Writes an operand of `components` blocks, two lanes each. @returns its values, by lane and component */
  const put = (address: number, components: number, digits: () => bigint[]): bigint[][] => {
    const values: bigint[][] = [[], []]
    for (let component = 0; component < components; component++) {
      const doubles = new Float64Array(instance.memory.buffer, address + 128 * component, 16)
      for (const lane of [0, 1]) {
        const parts = digits()
        parts.forEach((digit, i) => {
          doubles[2 * i + lane] = Number(digit)
        })
        values[lane]?.push(parts.reduceRight((sum, digit) => (sum << 48n) + digit, 0n))
      }
    }
    return values
  }
  const take = (components: number): bigint[][] => {
    const values: bigint[][] = [[], []]
    for (let component = 0; component < components; component++) {
      const decoded = instance.fields.fq.decode(bytesAt(instance, out + 128 * component, 128))
      for (const lane of [0, 1]) values[lane]?.push(decoded[lane] as bigint)
    }
    return values
  }
  type Element = readonly bigint[]
  const times = (x: Element, y: Element): bigint[] => {
    const [x0, x1 = 0n] = x as [bigint, bigint?]
    const [y0, y1 = 0n] = y as [bigint, bigint?]
    return x.length === 1 ? [x0 * y0] : [x0 * y0 - x1 * y1, x0 * y1 + x1 * y0]
  }

  describe.each([
    ['fq', 1, 3.6, 3.6, 3.6],
    ['fq2', 2, 1.02, 0.51, 0.51],
  ] as const)('%s', (name, components, wideBound, tightBound, factorBound) => {
    /** limb and bound of each operand, as the generator declares them. */
    const functions = [
      { name: 'mul_lazy', a: [2n, wideBound], b: [1n, tightBound], z: undefined },
      { name: 'mul_add', a: [1n, factorBound], b: [2n, wideBound], z: [2n, 6] },
      { name: 'sqr_add', a: [1n, factorBound], b: undefined, z: [2n, 6] },
    ] as const
    it.each(functions)('$name is exact at its bounds', ({ name: suffix, ...operands }) => {
      for (let round = 0; round < ROUNDS; round++) {
        const write = (address: number, operand: readonly [bigint, number] | undefined): bigint[][] | undefined =>
          operand === undefined ? undefined : put(address, components, () => extremeDigits(round, ...operand))
        const x = write(a, operands.a) as bigint[][]
        const y = write(b, operands.b) ?? x
        const addend = write(z, operands.z)
        const inputs = [a, ...(operands.b === undefined ? [] : [b]), ...(operands.z === undefined ? [] : [z])]
        callKernel(instance, `${name}_${suffix}`, out, ...inputs)
        const results = take(components)
        for (const lane of [0, 1]) {
          const product = times(x[lane] as bigint[], y[lane] as bigint[])
          const expected = product.map((part, c) => modulo(part * inverseRadix + (addend?.[lane]?.[c] ?? 0n), P))
          const got = results[lane] as bigint[]
          expect(got.map((value) => modulo(value, P))).toEqual(expected)
          // Tidy results are within ±0.51 p; in Fq the lazy product stays within what it takes.
          const limit = suffix === 'mul_lazy' ? BigInt(Math.round(tightBound * 100)) : 51n
          for (const value of got) expect((value < 0n ? -value : value) * 100n <= limit * P).toBe(true)
        }
        const digits = new Float64Array(instance.memory.buffer, out, 14)
        expect(digits.every((digit) => Number.isInteger(digit) && Math.abs(digit) <= 2 ** 47)).toBe(true)
      }
    })
  })
})

describe('the generator', () => {
  const module = new ModuleBuilder()
  const { fq } = fmaFields(module, { fenced: false })
  const operand = (f: FunctionBuilder, limb: number): Value => fq.load(f, '(i32.const 0)', 0, { limb, bound: limb })

  it.each([
    ['one product of sums of three and of two', [[3, 2]], true],
    ['one product of sums of four and of three', [[4, 3]], false],
    [
      'two products of a sum and a normalised value',
      [
        [2, 1],
        [2, 1],
      ],
      true,
    ],
    [
      'two products with sums of three',
      [
        [3, 1],
        [3, 1],
      ],
      false,
    ],
    [
      'two products of sums',
      [
        [2, 2],
        [2, 2],
      ],
      false,
    ],
  ] as const)('judges %s', (_, factors, proven) => {
    module.dry((f) => {
      const make = (): unknown =>
        fq.sum(
          f,
          factors.map(([a, b]) => [operand(f, a), operand(f, b)] as const),
        )
      if (proven) make()
      else expect(make).toThrow('not proven to be exact')
    })
  })
})
