/** Curve kernels against @noble/curves: import, export, complete and batch-affine additions, every exceptional case. */
import { describe, expect, it } from 'vitest'
import { FQ_MODULUS } from '../../src/cpu/assembly/kernels/field.ts'
import type { Group } from '../../src/cpu/msm/group-kernels.ts'
import { groupKernels } from '../../src/cpu/msm/group-kernels.ts'
import { PairAdder } from '../../src/cpu/msm/pair-adder.ts'
import { accumulatorBytes, ProjectiveAccumulators } from '../../src/cpu/msm/projective.ts'
import { bytesAt, KERNEL_MODULES, kernelInstance } from './kernel-instance.ts'
import { encode, exportPoint, generator, importPoints, infinity, multiple, type ReferencePoint } from './points.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe.each(KERNEL_MODULES)('%s', (moduleName) => {
  const instance = kernelInstance(moduleName)
  describe.each(['g1', 'g2'] as Group[])('%s', (group) => {
    const kernels = groupKernels(instance, group)
    const { lanes, pointBytes, encodedBytes } = kernels
    const scalars = [1n, 2n, 3n, -1n, -2n, 0x1234_5678_9abcn, 77n ** 40n, 2n ** 250n, -(3n ** 100n)]
    const references = scalars.map((scalar) => multiple(group, scalar))
    const encodings = references.map((point) => point.toBytes(false))
    const points = importPoints(instance, group, encodings)
    const addressOf = (i: number): number => points + i * pointBytes

    it('imports and exports', () => {
      encodings.forEach((encoded, i) => {
        expect(hex(exportPoint(instance, group, addressOf(i)))).toBe(hex(encoded))
      })
    })

    it('exports infinity', () => {
      const zero = instance.arena.allocate(pointBytes)
      bytesAt(instance, zero, pointBytes).fill(0)
      expect(hex(exportPoint(instance, group, zero))).toBe(hex(encode(group, infinity(group))))
    })

    it('refuses coordinates that are not below p, flags, infinity and points off the curve', () => {
      const good = encodings[5] as Uint8Array
      const refuse = (change: (bytes: Uint8Array) => void): number => {
        const room = instance.arena.allocate(2 * encodedBytes)
        const out = instance.arena.allocate(2 * pointBytes)
        const bytes = bytesAt(instance, room, 2 * encodedBytes)
        bytes.set(good)
        bytes.set(good, encodedBytes)
        change(bytes.subarray(encodedBytes * (lanes - 1)))
        const second = [room + encodedBytes, out + pointBytes] as const
        const bad =
          lanes === 2 ? kernels.importPoints(room, second[0], out, second[1]) : kernels.importPoints(room, out)
        return bad >> (lanes - 1)
      }
      const modulus = Buffer.from(FQ_MODULUS.toString(16).padStart(96, '0'), 'hex')
      expect(refuse(() => {})).toBe(0)
      for (let part = 0; part < encodedBytes; part += 48) {
        expect(refuse((bytes) => bytes.set(modulus, part)) & 1).toBe(1)
        expect(refuse((bytes) => bytes.fill(0xff, part, part + 48)) & 1).toBe(1)
        expect(refuse((bytes) => bytes.set([(bytes[part] as number) | 0x20], part)) & 1).toBe(1)
        // The last byte of a coordinate changed: below p still, but not on the curve.
        expect(refuse((bytes) => bytes.set([(bytes[part + 47] as number) ^ 1], part + 47))).toBe(4)
      }
      expect(refuse((bytes) => bytes.set(encode(group, infinity(group)))) & 1).toBe(1)
      expect(refuse((bytes) => bytes.fill(0, 0, encodedBytes))).toBe(4)
      // p − 1 is a coordinate, if not of a point.
      const less = Buffer.from((FQ_MODULUS - 1n).toString(16).padStart(96, '0'), 'hex')
      expect(refuse((bytes) => bytes.set(less, 0))).toBe(4)
    })

    it('adds projectively in every case', () => {
      const block = instance.arena.allocate(accumulatorBytes(kernels, 2))
      const out = instance.arena.allocate(pointBytes)
      const accumulators = new ProjectiveAccumulators(instance, kernels, block, 2)
      const value = (): string => {
        accumulators.store(0, out)
        return hex(exportPoint(instance, group, out))
      }
      expect(value()).toBe(hex(encode(group, infinity(group))))
      let expected: ReferencePoint = infinity(group)
      for (const i of [0, 0, 1, 3, 4, 4, 5, 3, 7, 8]) {
        accumulators.addPoint(0, addressOf(i))
        expected = expected.add(references[i] as ReferencePoint)
        expect(value()).toBe(hex(expected.toBytes(false)))
      }
      accumulators.addPoint(0, addressOf(6) + 1)
      expected = expected.add((references[6] as ReferencePoint).negate())
      accumulators.add(0, 0)
      expect(value()).toBe(hex(expected.double().toBytes(false)))
      accumulators.multiply(1, 0, 12345)
      accumulators.clear(0)
      accumulators.add(0, 1)
      expect(value()).toBe(hex(expected.double().multiply(12345n).toBytes(false)))
    })

    it('adds pairs in batches: all signs, P = Q, P = −Q', () => {
      const adder = new PairAdder(instance, kernels)
      const pairs: { a: number; b: number; aSign: number; bSign: number }[] = []
      for (let a = 0; a < scalars.length; a++) {
        for (let b = 0; b < scalars.length; b++) {
          for (const signs of [0, 1, 2, 3]) pairs.push({ a, b, aSign: signs & 1, bSign: signs >> 1 })
        }
      }
      const out = instance.arena.allocate(pairs.length * pointBytes)
      const sums = pairs.map(({ a, b, aSign, bSign }, i) => {
        adder.add(addressOf(a) + aSign, addressOf(b) + bSign, out + i * pointBytes)
        return signed(references[a] as ReferencePoint, aSign).add(signed(references[b] as ReferencePoint, bSign))
      })
      adder.flush()
      const infinities = adder.takeInfinities()
      const zero = hex(encode(group, infinity(group)))
      sums.forEach((sum, i) => {
        const encoded = hex(encode(group, sum))
        expect(hex(exportPoint(instance, group, out + i * pointBytes)), JSON.stringify(pairs[i], String)).toBe(encoded)
        expect(infinities.has(out + i * pointBytes)).toBe(encoded === zero)
      })
      expect(infinities.size).toBeGreaterThan(10)
      expect(adder.hasInfinities).toBe(false)
    })

    it.each([1, 2, 3, 2047, 2048, 2049, 4097])('adds %i pairs', (count) => {
      const adder = new PairAdder(instance, kernels)
      const out = instance.arena.allocate((count + 1) * pointBytes)
      bytesAt(instance, out + count * pointBytes, pointBytes).fill(0xaa)
      // 1 + 2 = 3 and so on: few distinct sums, so that the reference is cheap.
      const kinds = [
        [0, 1],
        [5, 6],
        [7, 2],
        [8, 5],
      ] as const
      for (let i = 0; i < count; i++) {
        const [a, b] = kinds[i % kinds.length] as readonly [number, number]
        adder.add(addressOf(a), addressOf(b), out + i * pointBytes)
      }
      adder.flush()
      const expected = kinds.map(([a, b]) =>
        hex((references[a] as ReferencePoint).add(references[b] as ReferencePoint).toBytes(false)),
      )
      for (let i = 0; i < count; i++) {
        expect(hex(exportPoint(instance, group, out + i * pointBytes))).toBe(expected[i % kinds.length])
      }
      expect(bytesAt(instance, out + count * pointBytes, pointBytes).every((byte) => byte === 0xaa)).toBe(true)
      instance.arena.free(out)
    })

    it('starts from the generator of the reference', () => {
      expect(hex(exportPoint(instance, group, points))).toBe(hex(generator(group).toBytes(false)))
    })
  })
})

function signed(point: ReferencePoint, sign: number): ReferencePoint {
  return sign === 1 ? point.negate() : point
}
