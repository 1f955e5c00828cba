/** Sums of groups with few slots: groups that wait for room, groups larger than all slots, infinities on the way. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  REDUCTION_ACCUMULATORS,
  reduceBuckets,
  reductionPoints,
  TOTAL,
  WEIGHTED,
} from '../../src/cpu/msm/bucket-reduction.ts'
import { groupKernels } from '../../src/cpu/msm/group-kernels.ts'
import { sumGroups } from '../../src/cpu/msm/group-sums.ts'
import { PairAdder } from '../../src/cpu/msm/pair-adder.ts'
import { accumulatorBytes, ProjectiveAccumulators } from '../../src/cpu/msm/projective.ts'
import { KERNEL_MODULES, kernelInstance } from './kernel-instance.ts'
import { encode, exportPoint, importPoints, multiple, R } from './points.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const random = (seed: string): bigint => BigInt(`0x${createHash('sha512').update(seed).digest('hex')}`) % R
/** Small numbers from a fixed sequence. */
function* sequence(): Generator<number, never> {
  for (let state = 1; ; state = (state * 48_271) % 0x7fff_ffff) yield state >> 4
}

describe.each(KERNEL_MODULES)('%s', (moduleName) => {
  const group = 'g1'
  const instance = kernelInstance(moduleName)
  const kernels = groupKernels(instance, group)
  const { pointBytes } = kernels
  const logs = Array.from({ length: 32 }, (_, i) => random(`log ${i}`))
  const bases = importPoints(
    instance,
    group,
    logs.map((log) => encode(group, multiple(group, log))),
  )
  const block = instance.arena.allocate(accumulatorBytes(kernels, REDUCTION_ACCUMULATORS))
  const out = instance.arena.allocate(pointBytes)

  /** The value behind a reference, which may be negated or 0. */
  const decoded = (reference: number): string => {
    const accumulators = new ProjectiveAccumulators(instance, kernels, block, 1)
    accumulators.addPoint(0, reference)
    accumulators.store(0, out)
    return hex(exportPoint(instance, group, out))
  }

  it.each([
    ['as they come', [0, 1, 2, 3, 5, 64, 129, 128, 31, 0, 127, 90]],
    ['with some that exceed the slots', [7, 1000, 0, 129, 1, 777, 2, 128, 1500]],
    ['that cancel', [-2, -4, 3, -64, -1000, 1, -6]],
  ] as const)('sums groups %s', (_, lengths) => {
    const capacity = 256 + 64
    const slots = { address: instance.arena.allocate(capacity * pointBytes), capacity, pointBytes }
    const results = instance.arena.allocate(lengths.length * pointBytes)
    const numbers = sequence()
    const references: number[] = []
    const starts = [0]
    const sums = lengths.map((length) => {
      let sum = 0n
      for (let i = 0; i < Math.abs(length); i++) {
        // A negative length: every point is followed by its negation.
        const base = length < 0 ? (i >> 1) % 32 : numbers.next().value % 32
        const sign = length < 0 ? i & 1 : numbers.next().value & 1
        references.push(bases + base * pointBytes + sign)
        sum += sign === 1 ? -(logs[base] as bigint) : (logs[base] as bigint)
      }
      starts.push(references.length)
      return hex(encode(group, multiple(group, sum)))
    })
    const found = new Uint32Array(lengths.length)
    const place = (g: number): number => results + g * pointBytes
    const adder = new PairAdder(instance, kernels)
    sumGroups(adder, Uint32Array.from(references), Uint32Array.from(starts), lengths.length, slots, place, found)
    expect([...found].map(decoded)).toEqual(sums)
  })

  it.each([1, 2, 127, 128, 129, 130, 513, 1024, 1025, 9000])('weighs %i buckets', (count) => {
    const numbers = sequence()
    let [weighted, total] = [0n, 0n]
    // Some empty, some negated, equal ones side by side.
    const buckets = Uint32Array.from({ length: count }, (_, i) => {
      const number = numbers.next().value
      if (number % 5 === 0 && count > 2) return 0
      const base = number % 3 === 0 ? 4 : number % 32
      const sign = (number >> 5) & 1
      const value = sign === 1 ? -(logs[base] as bigint) : (logs[base] as bigint)
      weighted += BigInt(i + 1) * value
      total += value
      return bases + base * pointBytes + sign
    })
    const room = instance.arena.allocate((reductionPoints(count) + 1) * pointBytes)
    const accumulators = new ProjectiveAccumulators(instance, kernels, block, REDUCTION_ACCUMULATORS)
    reduceBuckets(new PairAdder(instance, kernels), accumulators, buckets, room, pointBytes)
    for (const [accumulator, expected] of [
      [WEIGHTED, weighted],
      [TOTAL, total],
    ] as const) {
      accumulators.store(accumulator, out)
      expect(hex(exportPoint(instance, group, out))).toBe(hex(encode(group, multiple(group, expected))))
    }
    instance.arena.free(room)
  })
})
