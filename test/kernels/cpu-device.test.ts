import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import type { CircuitShape, CompactWitness } from '../../src/circuit/shape.ts'
import { CpuAssignment } from '../../src/cpu/assignment/cpu-assignment.ts'
import { CpuShape } from '../../src/cpu/assignment/cpu-shape.ts'
import { queryScalars } from '../../src/cpu/assignment/query-scalars.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { ENCODED_BYTES } from '../../src/cpu/msm/group-kernels.ts'
import { Transforms } from '../../src/cpu/ntt/transform.ts'
import { runSelfTest } from '../../src/cpu/self-test.ts'
import { ComputePool } from '../../src/cpu/thread-pool.ts'
import { cpuWorkingSetBytes } from '../../src/cpu/working-set.ts'
import { decodeSumG1, encodeG1, encodeG2 } from '../../src/curve/encoding.ts'
import { FQ_MODULUS, G1, G2 } from '../../src/curve/points.ts'
import { writeBytesBE } from '../../src/field/bytes.ts'
import type { Assignment, DevicePoints, DeviceShape, ProvingDevice, Run } from '../../src/groth16/proving-device.ts'
import { pointsIn } from '../../src/groth16/read-points.ts'
import { paramsLayout, QUERIES, QUERY_GROUP, type Query } from '../../src/params/layout.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { bigintHasher } from '../../src/synthesis/bigint-hasher.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { window3Request } from '../support/fixtures.ts'
import { getVector } from '../support/fr-vectors.ts'
import { ReferenceDevice } from '../support/reference-device.ts'
import { tinyCircuit, tinyWitness } from '../support/tiny-circuit.ts'

const idle: Run = { signal: new AbortController().signal, unit: () => {} }

/** How many different points there are. */
const CYCLE = 512

/** k·G for k = 1, …, CYCLE, encoded. */
const multiples = {
  g1: ((): Uint8Array[] => {
    const cycle: Uint8Array[] = []
    for (let p = G1.BASE; cycle.length < CYCLE; p = p.add(G1.BASE)) cycle.push(encodeG1(p))
    return cycle
  })(),
  g2: ((): Uint8Array[] => {
    const cycle: Uint8Array[] = []
    for (let p = G2.BASE; cycle.length < CYCLE; p = p.add(G2.BASE)) cycle.push(encodeG2(p))
    return cycle
  })(),
}

/** The multiples over and over, so that equal points meet in buckets. */
function repeatedPoints(group: 'g1' | 'g2', count: number): Uint8Array {
  const bytes = new Uint8Array(count * ENCODED_BYTES[group])
  for (let i = 0; i < count; i++) bytes.set(multiples[group][i % CYCLE] as Uint8Array, i * ENCODED_BYTES[group])
  return bytes
}

/** A run that aborts once a share is passed; at once for a share below 0. */
function abortingAt(share: number): Run {
  const controller = new AbortController()
  if (share < 0) controller.abort('stop')
  return { signal: controller.signal, unit: (done) => done > share && controller.abort('stop') }
}

interface Partition {
  readonly shape: CircuitShape
  readonly witnesses: readonly CompactWitness[]
}

async function windowPartitions(): Promise<Partition> {
  const validated = validateRequest(window3Request())
  const witnesses: CompactWitness[] = []
  for (const partition of await takeOver(validated)) {
    witnesses.push(await checkAndSynthesize(partition, bigintHasher, idle))
  }
  return { shape: circuitShape(validated.circuitId), witnesses }
}

/** Sums over points that repeat, in ranges of at most `most`, of a batch: hex, by query and range. */
const load = (device: ProvingDevice, group: 'g1' | 'g2', encoded: Uint8Array, run: Run): Promise<DevicePoints> =>
  device.loadPoints(group, encoded.length / ENCODED_BYTES[group], pointsIn(encoded, ENCODED_BYTES[group]), run)

async function allSums(
  device: ProvingDevice,
  shape: CircuitShape,
  assignments: readonly Assignment[],
  queries: readonly Query[],
  most: number,
): Promise<Record<Query, string[][]>> {
  const sums = { h: [], l: [], a: [], b_g1: [], b_g2: [] } as Record<Query, string[][]>
  for (const query of queries) {
    const group = QUERY_GROUP[query]
    const { points } = paramsLayout(shape).queries[query]
    for (let first = 0; first < points; first += most) {
      const count = Math.min(most, points - first)
      const loaded = await load(device, group, repeatedPoints(group, count), idle)
      const parts = await device.multiexp(loaded, query, first, assignments, idle)
      sums[query].push(parts.map((part) => Buffer.from(part).toString('hex')))
      loaded.release()
    }
  }
  return sums
}

describe.each(['fma', 'integer'] as const)('CPU device (%s)', (backend) => {
  let device: CpuDevice
  beforeAll(async () => {
    device = await CpuDevice.create({ threads: 2, backend })
  })
  afterAll(() => device.close())

  const assigned = async (on: ProvingDevice, loaded: DeviceShape, witness: CompactWitness): Promise<Assignment> => {
    const assignment = await on.assign(loaded, witness, idle)
    await on.quotient(assignment, idle)
    return assignment
  }

  it('says what it is and passes its self-test', async () => {
    expect(device.backend).toBe(backend)
    expect(device.name).toContain(backend === 'fma' ? 'fused multiply-add' : 'integers')
    const shares: number[] = []
    await device.selfTest({ ...idle, unit: (share) => shares.push(share) })
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBe(1)
  })

  it('gives the sums of the reference device for a tiny circuit, batch by batch and one by one', async () => {
    const shape = tinyCircuit()
    const witnesses = [tinyWitness(3n, 1), tinyWitness(2n ** 200n + 5n, 0)]
    const results = []
    for (const on of [device, new ReferenceDevice()] as ProvingDevice[]) {
      const loaded = await on.loadShape(shape)
      const assignments: Assignment[] = []
      for (const witness of witnesses) assignments.push(await assigned(on, loaded, witness))
      results.push(await allSums(on, shape, assignments, QUERIES, 3))
      if (on === device) {
        const single = await allSums(on, shape, assignments.slice(1), QUERIES, 3)
        for (const query of QUERIES) expect(single[query]).toEqual(results[0]?.[query].map((range) => range.slice(1)))
      }
      for (const assignment of assignments) assignment.release()
      loaded.release()
    }
    expect(results[0]).toEqual(results[1])
  })

  it('sums whole queries of real partitions, and frees everything', async () => {
    const { shape, witnesses } = await windowPartitions()
    const loaded = await device.loadShape(shape)
    // The first transform of a size leaves its tables of roots behind.
    ;(await assigned(device, loaded, witnesses[0] as CompactWitness)).release()
    loaded.release()
    const before = device.usedBytes
    const again = await device.loadShape(shape)
    const assignments = [
      await assigned(device, again, witnesses[0] as CompactWitness),
      await assigned(device, again, witnesses[1] as CompactWitness),
    ]
    const whole = await allSums(device, shape, assignments, QUERIES, 2 ** 20)
    const { a: inRanges } = await allSums(device, shape, assignments, ['a'], CYCLE * 11)
    for (const j of [0, 1]) {
      const parts = inRanges.map((range) => decodeSumG1(Buffer.from(range[j] as string, 'hex')))
      expect(parts.length).toBeGreaterThan(2)
      const total = parts.reduce((x, y) => x.add(y))
      expect(Buffer.from(encodeG1(total)).toString('hex')).toBe(whole.a[0]?.[j])
    }
    for (const query of QUERIES) expect(whole[query][0]?.[0]).not.toBe(whole[query][0]?.[1])
    for (const assignment of assignments) assignment.release()
    again.release()
    expect(device.usedBytes).toBe(before)
    expect(device.memoryBytes).toBeLessThanOrEqual(cpuWorkingSetBytes(shape, { threads: 2, partitions: 2 }))
  })

  it('gives memory back when it is idle, and keeps shapes and points', async () => {
    const { shape, witnesses } = await windowPartitions()
    const loaded = await device.loadShape(shape)
    const points = await load(device, 'g1', repeatedPoints('g1', 9_001), idle)
    const sum = async (): Promise<string> => {
      const assignment = await assigned(device, loaded, witnesses[0] as CompactWitness)
      const [bytes] = await device.multiexp(points, 'h', 0, [assignment], idle)
      assignment.release()
      return Buffer.from(bytes as Uint8Array).toString('hex')
    }
    const before = await sum()
    // The first transform of a size leaves tables high up; so much side by side reaches higher.
    const most: Assignment[] = []
    for (let k = 0; k < 4; k++) most.push(await assigned(device, loaded, witnesses[0] as CompactWitness))
    for (const assignment of most) assignment.release()
    const { memoryBytes } = device
    await device.trim(idle.signal)
    expect(device.memoryBytes).toBe(memoryBytes)
    await device.trim(idle.signal, 2 ** 20)
    expect(device.memoryBytes).toBeLessThan(memoryBytes)
    expect(await sum()).toBe(before)
    points.release()
    loaded.release()
  })

  it.each(['g1', 'g2'] as const)('refuses points that are none, by their index: %s', async (group) => {
    const size = ENCODED_BYTES[group]
    const good = repeatedPoints(group, 9_001)
    const before = device.usedBytes
    const refuse = async (index: number, message: RegExp, spoil: (bytes: Uint8Array) => void): Promise<void> => {
      const bytes = good.slice()
      spoil(bytes.subarray(index * size, (index + 1) * size))
      await expect(load(device, group, bytes, idle)).rejects.toMatchObject({
        code: 'ERR_SRS_UNAVAILABLE',
        message: expect.stringMatching(message),
        details: { received: String(index) },
      })
      expect(device.usedBytes).toBe(before)
    }
    await refuse(0, /off the curve/, (point) => point.set([(point[size - 1] as number) ^ 1], size - 1))
    await refuse(4_097, /off the curve/, (point) => point.copyWithin(0, size / 2))
    await refuse(9_000, /infinity/, (point) => point.fill(0).set([0x40]))
    await refuse(8_191, /coordinate is not below p/, (point) => writeBytesBE(FQ_MODULUS, point.subarray(size - 48)))
    await refuse(5_000, /coordinate is not below p/, (point) => point.set([(point[0] as number) | 0x80]))
    await refuse(17, /off the curve/, (point) => point.fill(0))

    const points = await load(device, group, good, idle)
    expect(points).toMatchObject({ group, count: 9_001 })
    points.release()
    points.release()
    expect(device.usedBytes).toBe(before)
  })

  it('stops every call when its signal aborts, and keeps nothing', async () => {
    const { shape, witnesses } = await windowPartitions()
    const witness = witnesses[0] as CompactWitness
    const loaded = await device.loadShape(shape)
    const whole = await assigned(device, loaded, witness)
    const bytes = repeatedPoints('g1', 16_384)
    const points = await load(device, 'g1', bytes, idle)
    const before = device.usedBytes
    for (const share of [-1, 0, 0.3]) {
      await expect(device.assign(loaded, witness, abortingAt(share))).rejects.toBe('stop')
      const half = await device.assign(loaded, witness, idle)
      await expect(device.quotient(half, abortingAt(share))).rejects.toBe('stop')
      await expect(device.multiexp(points, 'h', 0, [half], idle)).rejects.toThrow('The quotient has not been computed')
      half.release()
      await expect(load(device, 'g1', bytes, abortingAt(share))).rejects.toBe('stop')
      await expect(device.multiexp(points, 'a', 3, [whole, whole], abortingAt(share))).rejects.toBe('stop')
      expect(device.usedBytes).toBe(before)
    }
    points.release()
    await expect(device.multiexp(points, 'h', 0, [whole], idle)).rejects.toThrow('The points were released')
    whole.release()
    loaded.release()
  })

  it('multiplies a base by many scalars, and stops', async () => {
    const scalars = new Uint8Array(32 * 300)
    for (let i = 0; i < 300; i++) new DataView(scalars.buffer).setUint32(32 * i, i, true)
    const out = new Uint8Array(96 * 300)
    const before = device.usedBytes
    await device.fixedBaseMultiples('g1', encodeG1(G1.BASE), scalars, out, idle)
    const expected = Buffer.concat([encodeG1(G1.ZERO), ...multiples.g1.slice(0, 299)])
    expect(Buffer.compare(out, expected)).toBe(0)
    const stopped = device.fixedBaseMultiples('g1', encodeG1(G1.BASE), scalars, out, abortingAt(-1))
    await expect(stopped).rejects.toBe('stop')
    expect(device.usedBytes).toBe(before)
  })

  it('says so when memory does not suffice, and goes on', async () => {
    const shape = tinyCircuit()
    const before = device.usedBytes
    const loaded = await device.loadShape(shape)
    // 2^28 aux variables would take 8 GiB.
    const giant = await device.loadShape({ ...shape, aux: 2 ** 28 })
    await expect(device.assign(giant, tinyWitness(1n, 0), idle)).rejects.toMatchObject({
      code: 'ERR_GPU_OUT_OF_MEMORY',
      details: { device: device.name },
    })
    giant.release()
    ;(await assigned(device, loaded, tinyWitness(1n, 0))).release()
    loaded.release()
    expect(device.usedBytes).toBe(before)
  })

  it('works beyond 2 GiB, where addresses are negative as signed integers', async () => {
    const pool = await ComputePool.create({ threads: 2, backend })
    try {
      // Never written, so it takes address space only.
      pool.arena.allocate(2 ** 31)
      await runSelfTest(pool, await Transforms.create(pool, idle), idle)
      const shape = new CpuShape(pool, tinyCircuit())
      const assignment = await CpuAssignment.create(pool, shape, tinyWitness(3n, 1), idle)
      expect(assignment.inputsAt).toBeGreaterThan(2 ** 31)
      expect(getVector(pool, assignment.inputsAt, 2)).toEqual([1n, 81n + 9n + 3n + 5n])
      expect(getVector(pool, assignment.auxAt, 4)).toEqual([1n, 3n, 9n, 81n])
      const range = await queryScalars(pool, assignment, 'b_g1', 0, 4, idle)
      expect(getVector(pool, range.address, 1)).toEqual([1n])
    } finally {
      await pool.close()
    }
  })

  it('refuses a domain that does not fit, and handles of another device', async () => {
    const shape = tinyCircuit()
    await expect(device.loadShape({ ...shape, log2Domain: 25 })).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED_PROOF',
    })
    const foreign = await new ReferenceDevice().loadShape(shape)
    await expect(device.assign(foreign, tinyWitness(1n, 0), idle)).rejects.toThrow('another device')
  })
})

describe('CPU device', () => {
  it('rejects what runs and what comes when it is closed', async () => {
    const device = await CpuDevice.create({ threads: 1 })
    const shape = tinyCircuit()
    const loaded = await device.loadShape(shape)
    const pending = device.assign(loaded, tinyWitness(1n, 0), idle)
    const closing = [device.close(), device.close()]
    await expect(pending).rejects.toMatchObject({ code: 'ERR_WORKER_EXITED' })
    await Promise.all(closing)
    await expect(device.selfTest(idle)).rejects.toMatchObject({ code: 'ERR_WORKER_EXITED' })
  })

  it('computes in integers where relaxed SIMD is not wanted', async () => {
    const device = await CpuDevice.create({ threads: 1, relaxedSimd: 'never' })
    expect(device.backend).toBe('integer')
    await device.close()
  })
})
