import { expect, it } from 'vitest'
import { givesWay } from '../../src/webgpu/assignment/assignment-bytes.ts'

const MIB = 2 ** 20

it('makes room for the third polynomial where it is wanted, and where a polynomial is large unless z was counted beside it', () => {
  const small = 16 * MIB
  expect(givesWay(small, false, { usedBytes: 100 * MIB, plannedBytes: Number.POSITIVE_INFINITY })).toBe(false)
  // 100 + 16 MiB and the parameters of a unit: 116 MiB are too few, 117 enough.
  expect(givesWay(small, false, { usedBytes: 100 * MIB, plannedBytes: 116 * MIB })).toBe(true)
  expect(givesWay(small, false, { usedBytes: 100 * MIB, plannedBytes: 117 * MIB })).toBe(false)
  expect(givesWay(small, true, { usedBytes: 100 * MIB, plannedBytes: 116 * MIB })).toBe(true)
  // Of 2^25 scalars of 32 bytes on.
  expect(givesWay(2 ** 25 * 32, false, { usedBytes: 0, plannedBytes: Number.POSITIVE_INFINITY })).toBe(true)
  expect(givesWay(2 ** 25 * 32, true, { usedBytes: 0, plannedBytes: Number.POSITIVE_INFINITY })).toBe(false)
  expect(givesWay(2 ** 24 * 32, false, { usedBytes: 0, plannedBytes: Number.POSITIVE_INFINITY })).toBe(false)
})
