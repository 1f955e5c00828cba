import { describe, expect, it } from 'vitest'
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateTime } from '../../src/budget/estimate-time.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { encodeG1 } from '../../src/curve/encoding.ts'
import { G1 } from '../../src/curve/points.ts'
import { frFromBytes } from '../../src/field/fr.ts'
import { distinctPoints, measureRates, measuringCircuit, randomWitness } from '../../src/groth16/device-rates.ts'

const idle = new AbortController()
const none = {
  log2Domain: 20,
  rowNs: 0,
  scalarNs: 0,
  sumMs: { g1: 0, g2: 0 },
  quotientNs: 0,
  sumNs: { g1: 0, g2: 0 },
  bitNs: { g1: 0, g2: 0 },
  importNs: { g1: 0, g2: 0 },
  scatter: 0,
}
const estimate = (circuitId: CircuitId, rates: Partial<typeof none>) => {
  const size = circuitSize(circuitId)
  if (size === undefined) throw new Error(`no circuit ${circuitId}`)
  return estimateTime(circuitId, size, { ...none, ...rates })
}

describe('an estimate of time', () => {
  it('counts rows and transforms of each partition', () => {
    // 10 · 130,278,541 rows at 2 ns.
    expect(estimate('porep-32g', { rowNs: 2 })).toEqual({ partitions: 10, proofMs: 2605.57082, importMs: 0 })
    // A domain of 2^19 has 19 levels, one of 2^20 twenty: 524,288 · 10 · 19 / 20 ns.
    expect(estimate('winning-32g', { quotientNs: 10 }).proofMs).toBeCloseTo(4.980736, 9)
    // 4,884 scalars at 1 µs.
    expect(estimate('winning-32g', { scalarNs: 1000 }).proofMs).toBeCloseTo(4.884, 9)
    // Four sums in G1 and one in G2, in each of 16 partitions.
    expect(estimate('snap-32g', { sumMs: { g1: 8, g2: 12 } })).toMatchObject({ partitions: 16, proofMs: 16 * 44 })
    expect(estimate('wpost-32g', { rowNs: 1 }).partitions).toBe(1)
  })

  it('tells bits from full scalars, and one group from the other', () => {
    // wpost-2k: h has 32,767 points; l, a and b_g1 22,128, 16,793 and 16,029, of which 120 in 22,128 are bits.
    const share = 120 / 22_128
    const others = 22_128 + 23 + 16_770 + 1 + 16_028
    const full = estimate('wpost-2k', { sumNs: { g1: 1000, g2: 0 } }).proofMs
    expect(full).toBeCloseTo((32_767 + others * (1 - share)) / 1000, 9)
    expect(estimate('wpost-2k', { bitNs: { g1: 1000, g2: 0 } }).proofMs).toBeCloseTo((others * share) / 1000, 9)
    expect(estimate('wpost-2k', { sumNs: { g1: 0, g2: 1000 } }).proofMs).toBeCloseTo((16_029 * (1 - share)) / 1000, 9)
    const { importMs, proofMs } = estimate('wpost-2k', { importNs: { g1: 1000, g2: 2000 } })
    expect(importMs).toBeCloseTo((32_767 + others + 2 * 16_029) / 1000, 9)
    expect(proofMs).toBe(0)
  })
})

describe('the circuit that devices are measured on', () => {
  it.each(['bit', 'wide'] as const)('fills its domain: %s', (kind) => {
    const shape = measuringCircuit(14, kind)
    // 255 blocks of 64 variables and the row of ONE: 16,321 rows of 16,384.
    expect(shape).toMatchObject({ constraints: 16_320, inputs: 1, aux: 16_320, log2Domain: 14 })
    const [bits, wide] = kind === 'bit' ? [16_320, 0] : [0, 16_320]
    expect(shape.root.totals).toMatchObject({ bits, wide, derived: 0 })
    expect([shape.density.aAuxCount, shape.density.bAuxCount]).toEqual([16_320, 16_320])
  })

  it('gets a witness of canonical scalars and of bits', () => {
    const { inputs, wide, bits: none } = randomWitness(measuringCircuit(14, 'wide'))
    expect(frFromBytes(inputs)).toBe(1n)
    expect([none.length, wide.length]).toEqual([0, 16_320 * 32])
    // Not canonical ones are refused.
    for (let at = 0; at < wide.length; at += 32) frFromBytes(wide, at)
    const { bits } = randomWitness(measuringCircuit(14, 'bit'))
    expect(bits.length).toBe(16_320 / 8)
    const set = bits.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)
    // 8160 ± 64 is one standard deviation.
    expect(Math.abs(set - 8160)).toBeLessThan(700)
  })

  it('has points that are multiples of the generator in turn', async () => {
    const read = distinctPoints('g1')
    const multiple = (n: number) => encodeG1(G1.BASE.multiplyUnsafe(BigInt(n)))
    const target = new Uint8Array(96 * 2100).fill(0xff)
    await read(1000, target)
    // Number 1000 is 1001 times the generator, and the 1025th is the first again.
    for (const [at, n] of [
      [0, 1001],
      [23, 1024],
      [24, 1],
      [1024, 1001],
      [1048, 1],
      [2099, 28],
    ] as const)
      expect(target.subarray(96 * at, 96 * at + 96)).toEqual(multiple(n))
  })

  it('is measured on the CPU device, which keeps nothing of it', async () => {
    const device = await CpuDevice.create({ threads: 1 })
    const shares: number[] = []
    const measure = () =>
      measureRates(device, { log2Domain: 12 }, { signal: idle.signal, unit: (share) => void shares.push(share) })
    try {
      await measure()
      shares.length = 0
      // Tables of the domain are kept.
      const used = device.usedBytes
      const { log2Domain, rowNs, quotientNs, sumMs, sumNs, bitNs, importNs, scatter } = await measure()
      expect(scatter).toBeGreaterThanOrEqual(0)
      expect(device.usedBytes).toBe(used)
      expect(log2Domain).toBe(12)
      for (const rate of [rowNs, quotientNs, importNs.g1, importNs.g2]) expect(rate).toBeGreaterThan(0)
      for (const ms of [sumMs.g1, sumMs.g2]) expect(ms).toBeGreaterThanOrEqual(0)
      // A bit costs half an addition, a full scalar dozens.
      expect(bitNs.g1).toBeLessThan(sumNs.g1)
      expect(bitNs.g2).toBeLessThan(sumNs.g2)
    } finally {
      await device.close()
    }
    expect(shares.at(-1)).toBe(1)
    expect([...shares].sort((a, b) => a - b)).toEqual(shares)
  })

  it('stops when told to', async () => {
    const device = await CpuDevice.create({ threads: 1 })
    try {
      const signal = AbortSignal.abort(new Error('enough'))
      await expect(measureRates(device, {}, { signal, unit: () => {} })).rejects.toThrow('enough')
    } finally {
      await device.close()
    }
  })
})
