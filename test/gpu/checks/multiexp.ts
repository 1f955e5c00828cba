import assert from 'node:assert/strict'
import { encodeG1, encodeG2 } from '../../../src/curve/encoding.ts'
import type { Group } from '../../../src/webgpu/curve/batch-affine.ts'
import { importPoints } from '../../../src/webgpu/curve/import-points.ts'
import { type MultiexpOptions, multiexp } from '../../../src/webgpu/msm/multiexp.ts'
import { mostPoints, multiexpBytes, planMultiexp } from '../../../src/webgpu/msm/plan.ts'
import { FQ, FR, invert, mod } from '../../../src/webgpu/prelude/digit-field.ts'
import { bufferOf, type Check, dirtyBuffer, plainWords, Random, readWords } from '../harness.ts'
import { type Affine, affineOf, packPoints, randomPoints, referenceSum, toNoble, unpackPoints } from '../points.ts'
import { bitSumChecks, underStress } from './bit-sums.ts'

const run = { signal: new AbortController().signal, unit: () => {} }

const encoded = (group: Group, point: Affine): Uint8Array =>
  group === 'g1' ? encodeG1(toNoble('g1', point) as never) : encodeG2(toNoble('g2', point) as never)

const r = FR.modulus
/** Parameters of units, and what is read back. */
const SMALL_BYTES = 2 ** 17

const SCALARS: Record<string, (i: number, random: Random) => bigint> = {
  random: (_, random) => random.below(r),
  edges: (i) => [0n, 1n, 2n, r - 1n, r - 2n, (r - 1n) / 2n, (r + 1n) / 2n][i % 7] as bigint,
  'all 0': () => 0n,
  'all 1': () => 1n,
  'all equal': () => 0x1234567890abcdefn ** 3n,
}

const sum =
  (
    group: Group,
    count: number,
    scalarsOf: string,
    window: number | undefined,
    slicePairs: number | undefined,
    more: MultiexpOptions & { readonly bindingBytes?: number } = {},
  ): Check =>
  async (gpu) => {
    const random = new Random()
    // Few distinct points, so that equal and opposite ones meet in buckets.
    const distinct = randomPoints(group, Math.min(count, 40) || 1, random)
    const points = Array.from({ length: count }, (_, i) => distinct[i % distinct.length])
    const scalar = SCALARS[scalarsOf] as (i: number, random: Random) => bigint
    const skipped = 3
    const scalars = Array.from({ length: count + skipped }, (_, i) =>
      i < skipped ? r - 5n : scalar(i - skipped, random),
    )
    const words = new Uint32Array(8 * scalars.length)
    for (const [i, value] of scalars.entries()) words.set(plainWords(value, 8), 8 * i)
    const pointBuffer = await bufferOf(gpu, packPoints(points, group), 'points')
    const scalarBuffer = await bufferOf(gpu, words, 'scalars')
    const { bindingBytes = Number.POSITIVE_INFINITY, ...others } = more
    gpu.trim()
    const { usedBytes: used, allocatedBytes: allocated } = gpu
    const bytes = await underStress(gpu, bindingBytes, () =>
      multiexp(gpu, group, pointBuffer, scalarBuffer, skipped, count, run, { window, slicePairs, ...others }),
    )
    assert.equal(gpu.usedBytes, used, 'every work buffer is released')
    const limit = Math.min(gpu.bindingBytes, bindingBytes)
    if (count > 0 && count <= Math.min(mostPoints(group, limit), more.tilePoints ?? count)) {
      const input = { group, count, bindingBytes: limit, memoryBytes: more.memoryBytes }
      const most = multiexpBytes(planMultiexp(input, { window, slicePairs, ...more })) + SMALL_BYTES
      const grown = gpu.allocatedBytes - allocated
      assert.ok(grown <= most, `${grown} bytes were allocated where ${most} were counted`)
      assert.ok(grown >= most / 5, `${most} bytes were counted where ${grown} were allocated`)
    }
    gpu.release(pointBuffer)
    gpu.release(scalarBuffer)
    const terms = points.map((point, i) => ({ point, scalar: scalars[i + skipped] as bigint }))
    assert.deepEqual(affineOf(group, bytes), referenceSum(group, terms))
  }

const imports =
  (group: Group): Check =>
  async (gpu) => {
    const points = randomPoints(group, 67, new Random())
    const bytes = Buffer.concat(points.map((point) => encoded(group, point)))
    const load = async (data: Uint8Array): Promise<{ bad: number | undefined; points: Affine[] }> => {
      const source = await bufferOf(gpu, new Uint32Array(new Uint8Array(data).buffer), 'encoded')
      const target = await dirtyBuffer(gpu, data.byteLength, 'points')
      const bad = await importPoints(gpu, group, source, target, points.length)
      const packed = await readWords(gpu, target, data.byteLength / 4)
      gpu.release(source)
      gpu.release(target)
      return { bad, points: unpackPoints(packed, group) }
    }
    const good = await load(bytes)
    assert.equal(good.bad, undefined)
    assert.deepEqual(good.points, points)
    const size = bytes.length / points.length
    const spoil = async (index: number, change: (point: Buffer) => unknown): Promise<number | undefined> => {
      const copy = Buffer.from(bytes)
      change(copy.subarray(index * size, (index + 1) * size))
      return (await load(copy)).bad
    }
    const p = Buffer.from(
      '1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab',
      'hex',
    )
    assert.equal(
      await spoil(5, (point) => point.writeUInt8(point.readUInt8(size - 1) ^ 1, size - 1)),
      5,
      'off the curve',
    )
    for (let end = 48; end <= size; end += 48) {
      const at = end - 1
      assert.equal(await spoil(9, (point) => point.writeUInt8(point.readUInt8(at) ^ 1, at)), 9, `byte ${at}`)
    }
    if (group === 'g2') {
      // y0² − y1² stays, or 2 y0 y1 does.
      const [x0, x1, y0, y1] = points[7] as [bigint, bigint, bigint, bigint]
      for (const y of [
        [y0, FQ.modulus - y1],
        [mod(2n * y0, FQ.modulus), mod(y1 * invert(2n, FQ.modulus), FQ.modulus)],
      ] as const) {
        const spoiled = [x1, x0, y[1], y[0]].map((part) => part.toString(16).padStart(96, '0')).join('')
        assert.equal(await spoil(7, (point) => point.set(Buffer.from(spoiled, 'hex'))), 7, 'half of the equation holds')
      }
    }
    assert.equal(await spoil(66, (point) => p.copy(point, size - 48)), 66, 'a coordinate equal to p')
    assert.equal(await spoil(0, (point) => point.fill(0).writeUInt8(0x40)), 0, 'infinity')
    assert.equal(
      await spoil(1, (point) => point.writeUInt8(point.readUInt8(0) | 0x80)),
      1,
      'the flag of a compressed point',
    )
  }

export const multiexpChecks: Record<string, Check> = {
  'g1: points from big-endian bytes': imports('g1'),
  'g2: points from big-endian bytes': imports('g2'),
  'g1: sum of 0 points': sum('g1', 0, 'random', 4, 128),
  'g1: sum of 1 point': sum('g1', 1, 'random', 4, 128),
  'g1: sum of 2 points': sum('g1', 2, 'edges', 3, 128),
  'g1: sum of 3 points': sum('g1', 3, 'random', 5, 128),
  'g1: sum of 65 points, edge scalars': sum('g1', 65, 'edges', 4, 512),
  'g1: sum of 63 points, all scalars 0': sum('g1', 63, 'all 0', 4, 512),
  'g1: sum of 127 points, all scalars 1': sum('g1', 127, 'all 1', 4, 512),
  'g1: sum of 128 points, all scalars equal': sum('g1', 128, 'all equal', 7, 512),
  'g1: sum of 257 points': sum('g1', 257, 'random', 6, 4096),
  'g1: sum of 100 points in tiles of 32': sum('g1', 100, 'random', 4, 512, { tilePoints: 32 }),
  'g1: sum of 130 points, 10 windows at once': sum('g1', 130, 'random', 6, 512, { windowsAtOnce: 10 }),
  'g1: sum of 300 points, small bindings': sum('g1', 300, 'random', undefined, undefined, { bindingBytes: 2 ** 16 }),
  'g1: sum of 100 points, a window at a time': sum('g1', 100, 'edges', undefined, undefined, { memoryBytes: 2 ** 10 }),
  'g1: sum of 300 points, rounds merged': sum('g1', 300, 'random', 4, undefined, { windowsAtOnce: 32 }),
  'g1: sum of 200 points, all scalars equal, rounds merged': sum('g1', 200, 'all equal', 4, 64, { windowsAtOnce: 22 }),
  'g1: sum of 150 points, all scalars 1, rounds merged': sum('g1', 150, 'all 1', 4, 64, { windowsAtOnce: 40 }),
  'g2: sum of 33 points': sum('g2', 33, 'edges', 4, 512),
  ...bitSumChecks,
}
