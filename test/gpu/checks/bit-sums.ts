/** Sums over ranges of a query whose scalars are mostly bits, against bigints. */
import assert from 'node:assert/strict'
import { recordCircuit } from '../../../src/circuit/circuit-shape.ts'
import { LinearCombination } from '../../../src/circuit/linear-combination.ts'
import type { CircuitShape } from '../../../src/circuit/shape.ts'
import { encodeG1 } from '../../../src/curve/encoding.ts'
import type { Run } from '../../../src/groth16/proving-device.ts'
import { pointsIn } from '../../../src/groth16/read-points.ts'
import { type Group, POINT_BYTES } from '../../../src/webgpu/curve/batch-affine.ts'
import { ELEMENT_BYTES } from '../../../src/webgpu/elements.ts'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import { CarriedSum, carriedSumBytes } from '../../../src/webgpu/msm/carried-sum.ts'
import { addSums } from '../../../src/webgpu/msm/combine.ts'
import { multiexp } from '../../../src/webgpu/msm/multiexp.ts'
import { QuerySum, type QuerySumOptions, querySumBytes } from '../../../src/webgpu/msm/query-sum.ts'
import { FR } from '../../../src/webgpu/prelude/digit-field.ts'
import { UnitPace } from '../../../src/webgpu/unit-pace.ts'
import { WebGpuDevice } from '../../../src/webgpu/webgpu-device.ts'
import { bufferOf, type Check, plainWords, Random } from '../harness.ts'
import { type Affine, affineOf, packPoints, randomPoints, referenceSum, toNoble } from '../points.ts'

const run = { signal: new AbortController().signal, unit: () => {} }
const r = FR.modulus

/** Of a unit, under stress. */
const UNIT_ADDITIONS = 600

/**
 * The work with every allocation filled with 0xFF first, in units of a few hundred additions, so that whatever can be
 * cut is cut, and bindings of no more than so many bytes, as if the adapter had no larger ones.
 */
export async function underStress<T>(gpu: Gpu, bindingBytes: number, work: () => Promise<T>): Promise<T> {
  const { bindingBytes: before, allocate, commands, pace } = gpu
  const stressed = gpu as { -readonly [K in keyof Gpu]: Gpu[K] }
  stressed.bindingBytes = Math.min(before, bindingBytes)
  stressed.pace = Object.assign(new UnitPace(), { limit: UNIT_ADDITIONS, note: () => {} })
  stressed.allocate = async (bytes, label) => {
    const buffer = await allocate.call(gpu, bytes, label)
    await gpu.upload(buffer, 0, new Uint8Array(buffer.size).fill(0xff))
    return buffer
  }
  stressed.commands = (label) => {
    const recording = commands.call(gpu, label)
    const dispatch = recording.dispatch
    recording.dispatch = (kernel, data) => {
      for (const range of data.buffers)
        assert.ok(
          range.size <= stressed.bindingBytes,
          `${kernel.name} binds ${range.size} of ${stressed.bindingBytes} bytes`,
        )
      return dispatch.call(recording, kernel, data)
    }
    return recording
  }
  try {
    return await work()
  } finally {
    stressed.bindingBytes = before
    stressed.pace = pace
    delete (stressed as Partial<Gpu>).allocate
    delete (stressed as Partial<Gpu>).commands
  }
}

/** Scalars of a buffer that belong to nothing. */
const skipped = 2

const SCALARS: Record<string, (i: number, random: Random) => bigint> = {
  'all 0': () => 0n,
  'all 1': () => 1n,
  'all wide': (_, random) => random.below(r),
  // 2^32 and 2^224 have one word other than 0; r − 1 is −1.
  mixed: (i, random) =>
    [0n, 1n, 1n, 0n, random.below(r), 1n, 0n, 2n, 1n << 32n, 1n, 1n << 224n, r - 1n][i % 12] as bigint,
  'one wide': (i, random) => (i === 70 ? random.below(r) : BigInt(random.integer(2))),
  bits: (_, random) => BigInt(random.integer(2)),
}

const bitSum =
  (
    group: Group,
    counts: readonly number[],
    scalarsOf: string,
    options: QuerySumOptions & {
      readonly bindingBytes?: number
      readonly opposite?: boolean
      readonly carried?: boolean
    } = {},
  ): Check =>
  async (gpu) => {
    const { bindingBytes = Number.POSITIVE_INFINITY, opposite = false, carried = false, ...sumOptions } = options
    const random = new Random()
    const distinct = randomPoints(group, 30, random)
    const point = (i: number): { point: Affine; sign: bigint } =>
      // P, −P, Q, −Q, …: a sum of all is infinity, and so are sums of pairs.
      opposite
        ? { point: distinct[Math.floor(i / 2) % 30] as Affine, sign: i % 2 === 0 ? 1n : -1n }
        : { point: distinct[i % 30] as Affine, sign: 1n }
    const scalarOf = SCALARS[scalarsOf] as (i: number, random: Random) => bigint
    const terms: { point: Affine; scalar: bigint }[] = []
    await underStress(gpu, bindingBytes, async () => {
      const used = gpu.usedBytes
      const pointBytes = POINT_BYTES[group] + ELEMENT_BYTES
      gpu.trim()
      const allocated = gpu.allocatedBytes
      const sum = carried
        ? CarriedSum.create(gpu, group, Math.max(...counts), sumOptions)
        : new QuerySum(gpu, group, sumOptions)
      assert(sum !== undefined)
      try {
        for (const count of counts) {
          const points = Array.from({ length: count }, (_, i) => point(i))
          const scalars = points.map((_, i) => scalarOf(i, random))
          const words = new Uint32Array(8 * (count + skipped)).fill(1)
          for (const [i, value] of scalars.entries()) words.set(plainWords(value, 8), 8 * (i + skipped))
          const packed = points.map(({ point, sign }) =>
            sign === 1n ? point : referenceSum(group, [{ point, scalar: -1n }]),
          )
          const pointBuffer = await bufferOf(gpu, packPoints(packed, group), 'points')
          const scalarBuffer = await bufferOf(gpu, words, 'scalars')
          await sum.add(pointBuffer, { buffer: scalarBuffer, first: skipped }, count, run)
          gpu.release(pointBuffer)
          gpu.release(scalarBuffer)
          terms.push(...points.map(({ point, sign }, i) => ({ point, scalar: sign * (scalars[i] as bigint) })))
        }
        const bytes = await sum.finish(run)
        assert.deepEqual(affineOf(group, bytes), referenceSum(group, terms))
        assert.equal(affineOf(group, await sum.finish(run)), undefined, 'a sum begins anew once it is finished')
        // Buffers of ranges of another length are others, which lie idle beside these.
        const alike = counts.every((count) => count === counts[0])
        if (carried ? alike : sumOptions.mostTerms === undefined) {
          const input = { group, count: Math.max(...counts), bindingBytes: gpu.bindingBytes }
          const grown = gpu.allocatedBytes - allocated - counts.length * pointBytes * (input.count + skipped)
          const most = carried ? carriedSumBytes(input, sumOptions) : querySumBytes(input)
          assert.ok(grown <= most, `${grown} bytes were allocated where ${most} were counted`)
          assert.ok(grown >= most / 8, `${most} bytes were counted where ${grown} were allocated`)
        }
      } finally {
        sum.release()
      }
      assert.equal(gpu.usedBytes, used, 'every buffer is released')
    })
  }

/** Bits with a full scalar in twenty, all in A and B. */
const bitCircuit = (aux: number): CircuitShape =>
  recordCircuit('winning-2k', (cs) => {
    for (let i = 0; i < aux; i++) {
      const variable = cs.allocate(i % 20 === 7 ? 'wide' : 'bit')
      cs.enforce(LinearCombination.of(variable), LinearCombination.of(variable), LinearCombination.of(variable))
    }
  })

/**
 * A query of a circuit in ranges: a device may keep terms back, but all ranges together give the sum, and an assignment
 * frees what is left.
 */
const rangesOfQuery: Check = async (gpu) => {
  const aux = 150
  const shape = bitCircuit(aux)
  const random = new Random()
  const { bits, wide } = shape.root.totals
  const bitBytes = Uint8Array.from({ length: Math.ceil(bits / 64) * 8 }, () => random.integer(256))
  const wideValues = Array.from({ length: wide }, () => random.below(r))
  const wideBytes = new Uint8Array(new Uint32Array(wideValues.flatMap((value) => [...plainWords(value, 8)])).buffer)
  const inputs = new Uint8Array(32)
  inputs[0] = 1
  let [bit, full] = [0, 0]
  const scalars = Array.from({ length: aux }, (_, i) => {
    if (i % 20 === 7) return wideValues[full++] as bigint
    const value = ((bitBytes[bit >> 3] as number) >> (bit & 7)) & 1
    bit++
    return BigInt(value)
  })
  const points = randomPoints('g1', aux, random)
  const encoded = Buffer.concat(points.map((point) => encodeG1(toNoble('g1', point))))
  const device = new WebGpuDevice(gpu)
  const used = gpu.usedBytes
  const deviceShape = await device.loadShape(shape)
  const sumOf = async (ranges: readonly (readonly [first: number, count: number])[]): Promise<Affine> => {
    const assignment = await device.assign(deviceShape, { inputs, bits: bitBytes, wide: wideBytes }, run)
    const sums: Uint8Array[] = []
    try {
      for (const [first, count] of ranges) {
        const read = pointsIn(encoded.subarray(96 * first, 96 * (first + count)), 96)
        const loaded = await device.loadPoints('g1', count, read, run)
        sums.push(...(await device.multiexp(loaded, 'l', first, [assignment], run)))
        loaded.release()
      }
    } finally {
      assignment.release()
    }
    return affineOf('g1', addSums('g1', sums))
  }
  try {
    const expected = referenceSum(
      'g1',
      points.map((point, i) => ({ point, scalar: scalars[i] as bigint })),
    )
    assert.deepEqual(await sumOf([[0, aux]]), expected)
    assert.deepEqual(
      await sumOf([
        [0, 64],
        [64, 50],
        [114, 36],
      ]),
      expected,
    )
    // A pass that ends early leaves terms behind, which go with the assignment.
    await sumOf([[0, 64]])
  } finally {
    deviceShape.release()
  }
  assert.equal(gpu.usedBytes, used, 'every buffer is released')
}

/** An abort between units is heard, and leaves nothing behind. */
const aborts: Check = async (gpu) => {
  const count = 300
  const random = new Random()
  const points = await bufferOf(gpu, packPoints(randomPoints('g1', count, random), 'g1'), 'points')
  const words = new Uint32Array(8 * count)
  for (let i = 0; i < count; i++) words.set(plainWords(i % 9 === 0 ? random.below(r) : 1n, 8), 8 * i)
  const scalars = { buffer: await bufferOf(gpu, words, 'scalars'), first: 0 }
  const used = gpu.usedBytes
  for (const units of [0, 1, 2]) {
    const stopping = (): Run => {
      const controller = new AbortController()
      let left = units
      if (left === 0) controller.abort('stop')
      return { signal: controller.signal, unit: () => void (--left <= 0 && controller.abort('stop')) }
    }
    const stops = (work: Promise<unknown>): Promise<void> => assert.rejects(work, (error) => error === 'stop')
    const carried = CarriedSum.create(gpu, 'g1', count)
    const ofBits = new QuerySum(gpu, 'g1', { treeLeaves: 4, mostTerms: 100 })
    assert(carried !== undefined)
    await stops(carried.add(points, scalars, count, stopping()))
    await stops(ofBits.add(points, scalars, count, stopping()))
    await stops(multiexp(gpu, 'g1', points, scalars.buffer, 0, count, stopping()))
    carried.release()
    ofBits.release()
    // Units that were submitted before hold their parameters until they are done; a unit behind them tells when.
    await gpu.commands('last').clear(points, 0, 4).submit()
    assert.equal(gpu.usedBytes, used, 'every buffer is released')
  }
  for (const buffer of [points, scalars.buffer]) gpu.release(buffer)
}

const small = { treeLeaves: 4, mostTerms: 60 }

export const bitSumChecks: Record<string, Check> = {
  'g1: bit sum, all 0': bitSum('g1', [100], 'all 0', small),
  'g1: bit sum, all 1': bitSum('g1', [100, 33], 'all 1', small),
  'g1: bit sum, all 1, opposite points': bitSum('g1', [64, 64], 'all 1', { ...small, opposite: true }),
  'g1: bit sum, all wide': bitSum('g1', [100, 20], 'all wide', small),
  'g1: bit sum, mixed': bitSum('g1', [97, 100, 101], 'mixed', small),
  'g1: bit sum, one wide': bitSum('g1', [100], 'one wide', small),
  'g1: bit sum, slices and few leaves': bitSum('g1', [300], 'bits', { treeLeaves: 1, mostTerms: 60, slicePairs: 64 }),
  'g1: bit sum, more leaves than ones': bitSum('g1', [1, 2, 100], 'bits', { mostTerms: 100 }),
  'g1: bit sum, terms and leaves as they are in earnest': bitSum('g1', [300, 200], 'mixed'),
  'g1: bit sum, no points': bitSum('g1', [0], 'bits', small),
  'g1: bit sum, small bindings': bitSum('g1', [200, 150], 'mixed', { ...small, bindingBytes: 2 ** 16 }),
  'g1: carried sum': bitSum('g1', [100, 99, 40], 'all wide', { carried: true, window: 5 }),
  'g1: carried sum, opposite points': bitSum('g1', [64, 64, 64], 'all 1', { carried: true, opposite: true, window: 4 }),
  'g1: carried sum, runs of windows': bitSum('g1', [150, 151], 'mixed', {
    carried: true,
    windowsAtOnce: 32,
    window: 4,
  }),
  'g2: carried sum': bitSum('g2', [60, 60, 60], 'mixed', { carried: true, window: 5 }),
  'g1: sums that are aborted': aborts,
  'g1: bit sum, a query in ranges': rangesOfQuery,
  'g2: bit sum, mixed': bitSum('g2', [97, 60], 'mixed', small),
}
