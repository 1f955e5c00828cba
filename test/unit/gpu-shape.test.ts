/** How a circuit's shape is cut for the kernels of the WebGPU device. */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { type CircuitShape, DEFINES_NOTHING, type RowMatrix } from '../../src/circuit/shape.ts'
import { FR_MODULUS } from '../../src/field/fr.ts'
import { assignmentBytes } from '../../src/webgpu/assignment/assignment-bytes.ts'
import { rankDirectory } from '../../src/webgpu/assignment/dense-values.ts'
import { shapeInstances } from '../../src/webgpu/assignment/instances.ts'
import { rowRanges } from '../../src/webgpu/assignment/row-ranges.ts'
import { templateCounts, termWords } from '../../src/webgpu/assignment/template-parts.ts'
import { layoutOf } from '../../src/webgpu/elements.ts'
import { planTransform } from '../../src/webgpu/ntt/transform.ts'
import { forestShape } from '../support/forest-circuit.ts'

const GIB = 2 ** 30

describe('terms of rows', () => {
  /** Top bit: the integer + 2^15 in the lower bits; otherwise the number in the table. */
  const decode = (word: number, { coefficients }: CircuitShape): bigint => {
    if (word < 2 ** 31) return coefficients[word] as bigint
    const small = BigInt(word - 2 ** 31 - 2 ** 15)
    return small < 0n ? small + FR_MODULUS : small
  }

  it.each(['porep-2k', 'snap-2k', 'wpost-2k'] as const)(
    'keep their coefficients, and sums within what digits hold: %s',
    (id) => {
      const shape = circuitShape(id)
      let smallOnes = 0
      for (const template of templateCounts(shape.root).keys()) {
        const matrix: RowMatrix = template.matrix
        const words = termWords(template, shape.coefficients)
        for (let i = 0; i < 3 * matrix.rows; i++) {
          // Multiples of r: the integer times a value below r, or a product, which is within 1.1 r.
          let bound = 0
          for (let t = matrix.termStart[i] as number; t < (matrix.termStart[i + 1] as number); t++) {
            const word = words[2 * t + 1] as number
            const wanted = shape.coefficients[matrix.termCoefficient[t] as number]
            if (words[2 * t] !== matrix.termVariable[t] || decode(word, shape) !== wanted) {
              throw new Error(`term ${t} of ${template.name}`)
            }
            if (word >= 2 ** 31) smallOnes++
            bound += word < 2 ** 31 ? 1.1 : Math.abs(word - 2 ** 31 - 2 ** 15)
          }
          // Factors of a defined variable are multiplied: the top digit counts 2^252 and may be 2^13; r is 7.3 of these. Others are only reduced.
          const most = matrix.defines[Math.floor(i / 3)] === DEFINES_NOTHING ? 4096 : 2 ** 13 / 7.3
          if (bound > most) throw new Error(`combination ${i} of ${template.name} may reach ${bound} r`)
        }
      }
      expect(smallOnes).toBeGreaterThan(1000)
    },
  )
})

describe('rows over shards', () => {
  it.each([9, 10, 11])('finds the instances that have rows in a shard of 2^%i', (log2) => {
    const shape = forestShape(3)
    const domain = 2 ** shape.log2Domain
    const layout = layoutOf({ bindingBytes: 32 * 2 ** log2 }, domain)
    const seen = new Set<number>()
    for (const instances of shapeInstances(shape)) {
      const ranges = rowRanges(instances, layout, domain)
      for (let i = 0; i < instances.instances; i++) {
        const base = instances.records[i * instances.recordWords] as number
        for (const offset of instances.own.rowOffsets) {
          const row = base + offset
          const holding = ranges.filter(
            ({ firstRow, rows, first, count }) =>
              row >= firstRow && row < firstRow + rows && i >= first && i < first + count,
          )
          if (holding.length !== 1 || seen.has(row)) throw new Error(`row ${row} in ${holding.length} ranges`)
          seen.add(row)
        }
      }
    }
    expect(seen.size).toBe(shape.constraints)
  })
})

describe('passes of a transform', () => {
  it('take every level once, in blocks that a shard holds', () => {
    for (const shardLog2 of [1, 3, 7, 22, 25]) {
      for (let log2 = 1; log2 <= shardLog2 + 2; log2++) {
        const layout = layoutOf({ bindingBytes: 32 * 2 ** shardLog2 }, 2 ** log2)
        const { topBits, passes, rootsLog2 } = planTransform(log2, layout)
        const end = layout.shards === 1 ? log2 : shardLog2
        let level = end - (log2 - topBits)
        expect(level).toBeGreaterThanOrEqual(0)
        for (const pass of passes) {
          expect(pass.level).toBe(level)
          expect(pass.bits).toBeLessThanOrEqual(8)
          level += pass.bits
        }
        expect(level).toBe(end)
        expect(topBits).toBeLessThanOrEqual(8)
        // The shards are what the first pass has to join; half of the powers fit one.
        if (layout.shards > 1) expect(topBits).toBeGreaterThanOrEqual(Math.log2(layout.shards))
        expect(rootsLog2 - 1).toBeLessThanOrEqual(shardLog2)
      }
    }
    // 2^27 on a card whose bindings hold 2^25: three levels, then 8 + 8 + 8.
    expect(planTransform(27, { shards: 4, log2: 25 })).toEqual({
      topBits: 3,
      passes: [1, 9, 17].map((level) => ({ level, bits: 8 })),
      rootsLog2: 24,
    })
  })
})

describe('densities', () => {
  it('count the bits before each 1024', () => {
    const dense = new Uint8Array(8 * Math.ceil(2500 / 64))
    for (let i = 0; i < 2500; i += 3) dense[i >> 3] = (dense[i >> 3] as number) | (1 << (i & 7))
    // Multiples of 3 below 1024, 2048 and 2500.
    expect([...rankDirectory(dense, 2500)]).toEqual([0, 342, 683, 834])
  })
})

describe('memory of a partition', () => {
  it('of porep-32g stays within 16 GiB', { timeout: 60_000 }, () => {
    const shape = circuitShape('porep-32g')
    const bytes = assignmentBytes(shape, 2 * GIB - 4)
    // Four, three and three shards of 2^25 elements, of which z's last one is short: 130,170,221 values of 32 bytes are 3.88 GiB.
    expect(bytes.quotient / GIB).toBeGreaterThan(12)
    expect(bytes.quotient / GIB).toBeLessThan(12.1)
    expect(bytes.assign / GIB).toBeGreaterThan(8 + 3.88)
    expect(bytes.assign / GIB).toBeLessThan(8 + 4.1)
    expect(bytes.quotientWithValues - bytes.quotient).toBe(bytes.sums - (bytes.quotient - 8 * GIB))
    expect(bytes.shape + Math.max(bytes.assign, bytes.quotient)).toBeLessThan(16 * GIB)
    expect(bytes.shape + bytes.quotientWithValues).toBeGreaterThan(16 * GIB)
  })
})
