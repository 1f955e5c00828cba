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
          // Factors of a defined variable are multiplied: the top digit counts 2^252 and may be 2^13; r is 7.3 of
          // these. Others are only reduced.
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

describe('groups of levels of a transform', () => {
  it('take every level once, an odd one at the very end', () => {
    for (const most of [2, 6, 14]) {
      for (let log2 = 1; log2 <= 28; log2++) {
        const { groups, rootsLog2 } = planTransform(log2, most)
        let next = 0
        for (const { level, bits } of groups) {
          expect(level).toBe(next)
          expect(bits).toBeLessThanOrEqual(most)
          next += bits
          if (next < log2) expect(bits % 2).toBe(0)
        }
        expect(next).toBe(log2)
        expect(groups.length).toBe(Math.ceil(log2 / most))
        expect(rootsLog2).toBe(Math.max(...groups.map(({ bits }) => bits)))
      }
    }
    expect(planTransform(27)).toEqual({
      groups: [
        { level: 0, bits: 14 },
        { level: 14, bits: 13 },
      ],
      rootsLog2: 14,
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
    // Four, three and three shards of 2^25 elements, of which z's last one is short: 130,170,221 values of 32 bytes are
    // 3.88 GiB.
    expect(bytes.quotient / GIB).toBeGreaterThan(12)
    expect(bytes.quotient / GIB).toBeLessThan(12.1)
    expect(bytes.assign / GIB).toBeGreaterThan(8 + 3.88)
    expect(bytes.assign / GIB).toBeLessThan(8 + 4.1)
    expect(bytes.quotientWithValues - bytes.quotient).toBe(bytes.sums - (bytes.quotient - 8 * GIB))
    expect(bytes.shape + Math.max(bytes.assign, bytes.quotient)).toBeLessThan(16 * GIB)
    // Where z stays beside three polynomials, all but nothing of it is left.
    expect(bytes.shape + bytes.quotientWithValues).toBeGreaterThan(15.9 * GIB)
  })
})
