import { describe, expect, it } from 'vitest'
import { shortSum, sumOfWindows } from '../../src/cpu/local-kernels.ts'
import { encodeG1, encodeG2 } from '../../src/curve/encoding.ts'
import { G1, G2 } from '../../src/curve/points.ts'
import { FR_MODULUS } from '../../src/field/fr.ts'

const multiples = [3n, 0n, 12_345n, 2n ** 250n + 77n]
const scalars = [7n, FR_MODULUS - 1n, 2n ** 254n + 1n, 0n]

describe.each(['g1', 'g2'] as const)('short sums in %s', (group) => {
  const encode = (multiple: bigint): Uint8Array =>
    group === 'g1'
      ? encodeG1(G1.BASE.multiplyUnsafe(multiple % FR_MODULUS))
      : encodeG2(G2.BASE.multiplyUnsafe(multiple % FR_MODULUS))
  const points = multiples.map(encode)

  it('of multiples of a few points, infinity among them', () => {
    const total = multiples.reduce((sum, multiple, i) => sum + multiple * (scalars[i] as bigint), 0n)
    expect(shortSum(group, points, scalars)).toEqual(encode(total))
    expect(shortSum(group, points, [0n, 0n, 0n, 0n])).toEqual(encode(0n))
  })

  it('of windows, empty ones among them', () => {
    const [p, q, r] = [points[0], points[2], points[3]] as [Uint8Array, Uint8Array, Uint8Array]
    expect(sumOfWindows(group, 4, [[p, q], [], [r]])).toEqual(encode(3n + 12_345n + 2n ** 8n * (2n ** 250n + 77n)))
    expect(sumOfWindows(group, 1, [])).toEqual(encode(0n))
  })

  it('refuses what is no point', () => {
    expect(() => sumOfWindows(group, 1, [[new Uint8Array((points[0] as Uint8Array).length).fill(1)]])).toThrow(
      'not on the curve',
    )
  })
})
