/** A set-up on the device against the one in WebAssembly and bigints. */
import assert from 'node:assert/strict'
import type { CircuitId } from '../../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../../src/circuit/circuit-shape.ts'
import type { CircuitShape } from '../../../src/circuit/shape.ts'
import { wasmSetupScalars } from '../../../src/cpu/setup-scalars.ts'
import { decodeG1, decodeG2, encodeG1, encodeG2 } from '../../../src/curve/encoding.ts'
import { G1, G2 } from '../../../src/curve/points.ts'
import { makeParameters } from '../../../src/device/made-parameters.ts'
import { FR_MODULUS, frFromBytes, frInv, frMul, frPow, frReduce } from '../../../src/field/fr.ts'
import { proveBatch } from '../../../src/groth16/prove-batch.ts'
import { verifyProofs } from '../../../src/groth16/verify.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../../../src/params/layout.ts'
import { openVerifyingKey } from '../../../src/params/srs-file.ts'
import type { ToxicWaste } from '../../../src/params/toxic-waste.ts'
import { madeOnDevice } from '../../../src/srs/made-on-device.ts'
import { allocationBytes } from '../../../src/webgpu/allocation.ts'
import { exportPoints, FixedBase, fixedBaseMultiples } from '../../../src/webgpu/curve/fixed-base.ts'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import { READ_BACK_BUFFERS, READ_BACK_BYTES, ReadBackRing } from '../../../src/webgpu/read-back.ts'
import { computeColumns } from '../../../src/webgpu/setup/columns.ts'
import { GpuSetup, type WrapPoints } from '../../../src/webgpu/setup/device-setup.ts'
import { QueryScalars, scalarBytes } from '../../../src/webgpu/setup/query-scalars.ts'
import { setupBytes, writingBytes } from '../../../src/webgpu/setup/setup-bytes.ts'
import { WebGpuDevice } from '../../../src/webgpu/webgpu-device.ts'
import { removeDirectory, temporaryDirectory } from '../../support/temporary-directory.ts'
import { tinyCircuit, tinyWitness } from '../../support/tiny-circuit.ts'
import { recordedToxic } from '../../support/toxic.ts'
import { type Check, dirtyBuffer, Random, withShards } from '../harness.ts'

const run = { signal: new AbortController().signal, unit: () => {} }

const noPoints = (): never => {
  throw new Error('no points are asked for')
}

const scalars =
  (shape: () => CircuitShape): Check =>
  async (gpu) => {
    const circuit = shape()
    const toxic = recordedToxic('2KiB', 'window')
    const expected = await wasmSetupScalars(circuit, toxic)
    const used = gpu.usedBytes
    const columns = await computeColumns(gpu, circuit, toxic, run)
    const setup = await QueryScalars.create(gpu, circuit, toxic, columns)
    const { queries } = paramsLayout(circuit)
    for (const query of QUERIES) {
      const { points } = queries[query]
      const cut = Math.floor(points / 3)
      for (const [first, count] of [
        [0, cut],
        [cut, points - cut],
      ] as const) {
        const buffer = await dirtyBuffer(gpu, scalarBytes(count), 'scalars')
        await setup.fill(query, first, count, buffer, run)
        const actual = Buffer.from(await gpu.download(buffer, 0, scalarBytes(count)))
        gpu.release(buffer)
        const wanted = expected.query(query, first, count)
        for (let i = 0; i < count; i++) {
          const place = `${query}[${first + i}] of ${points}`
          assert.equal(actual.toString('hex', 32 * i, 32 * i + 32), hex(wanted, i), place)
        }
      }
    }
    setup.release()
    columns.release()
    assert.equal(gpu.usedBytes, used, 'every buffer is released')
  }

const hex = (bytes: Uint8Array, i: number): string => Buffer.from(bytes.subarray(32 * i, 32 * i + 32)).toString('hex')

/** Few scalars, but all kinds of digits: zeros, carries through all windows, the greatest scalar. */
const multiples =
  (group: 'g1' | 'g2', bits: number): Check =>
  async (gpu) => {
    const random = new Random()
    const half = 1n << BigInt(bits - 1)
    const all = (digit: bigint): bigint => {
      let value = 0n
      for (let k = 0; k * bits < 250; k++) value |= digit << BigInt(k * bits)
      return value % FR_MODULUS
    }
    const values = [0n, 1n, half - 1n, half, half + 1n, 2n * half - 1n, FR_MODULUS - 1n, FR_MODULUS - half]
    values.push(all(half), all(half + 1n), all(half - 1n), random.below(FR_MODULUS), random.below(FR_MODULUS))
    const base = 3n + random.below(1000n)
    const [encode, count] = [group === 'g1' ? g1Of : g2Of, values.length]
    const bytes = new Uint8Array(32 * count)
    for (const [i, value] of values.entries()) {
      for (let k = 0; k < 32; k++) bytes[32 * i + k] = Number((value >> BigInt(8 * k)) & 0xffn)
    }
    const used = gpu.usedBytes
    await leavesNothing(gpu, await FixedBase.create(gpu, group, encode(base), { total: count, atOnce: 5 }, run, bits))
    const size = group === 'g1' ? 96 : 192
    const out = new Uint8Array(size * count)
    await fixedBaseMultiples(gpu, group, encode(base), bytes, out, run, bits)
    for (const [i, value] of values.entries()) {
      const expected = encode((value * base) % FR_MODULUS)
      assert.equal(Buffer.from(out).toString('hex', size * i, size * i + size), Buffer.from(expected).toString('hex'))
    }
    assert.equal(gpu.usedBytes, used, 'every buffer is released')
  }

/** What a table of multiples worked with tells nothing of the digits of its scalars once it is given back. */
async function leavesNothing(gpu: Gpu, table: FixedBase): Promise<void> {
  const given: GPUBuffer[] = []
  Object.assign(gpu, { release: (buffer: GPUBuffer) => void given.push(buffer) })
  table.release()
  Reflect.deleteProperty(gpu, 'release')
  const secret = given.filter(({ label }) => label !== 'table of multiples')
  for (const label of ['pairs', 'sums', 'kinds', 'denominators, then x', 'slopes', 'inverses']) {
    assert(
      secret.some((buffer) => buffer.label === label),
      label,
    )
  }
  for (const buffer of secret) {
    const bytes = await gpu.download(buffer, 0, buffer.size)
    assert(
      bytes.every((byte) => byte === 0),
      `${buffer.label} are zero`,
    )
  }
  for (const buffer of given) gpu.release(buffer)
}

const g1Of = (k: bigint): Uint8Array => encodeG1(k === 0n ? G1.ZERO : G1.BASE.multiplyUnsafe(k))
const g2Of = (k: bigint): Uint8Array => encodeG2(k === 0n ? G2.ZERO : G2.BASE.multiplyUnsafe(k))

/** Points and verifying key of a small circuit, from bigints. */
const points: Check = async (gpu) => {
  const circuit = tinyCircuit()
  const toxic = recordedToxic('2KiB', 'window')
  const expected = await wasmSetupScalars(circuit, toxic)
  const [g1, g2] = [decodeG1(toxic.g1, { subgroup: false }), decodeG2(toxic.g2, { subgroup: false })]
  const setup = await GpuSetup.create(gpu, circuit, toxic, { g1: 4, g2: 4 }, noPoints, run)
  try {
    const { queries } = paramsLayout(circuit)
    for (const query of QUERIES) {
      const { points: count } = queries[query]
      const encoded = Buffer.alloc((count - 1) * (QUERY_GROUP[query] === 'g1' ? 96 : 192))
      await setup.encode({ query, first: 1, count: count - 1 }, async (at, bytes) => encoded.set(bytes, at), run)
      const wanted = expected.query(query, 1, count - 1)
      const parts = Array.from({ length: count - 1 }, (_, i) => {
        const scalar = frFromBytes(wanted, 32 * i)
        return QUERY_GROUP[query] === 'g1' ? encodeG1(g1.multiplyUnsafe(scalar)) : encodeG2(g2.multiplyUnsafe(scalar))
      })
      assert.equal(encoded.toString('hex'), Buffer.concat(parts).toString('hex'), query)
    }
  } finally {
    await setup.release()
  }
}

/**
 * What is given back holds no secret, and a range that is being made when all is given back is made to its end before.
 */
const forgotten: Check = async (gpu) => {
  const circuit = tinyCircuit()
  const toxic = recordedToxic('2KiB', 'window')
  const used = gpu.usedBytes
  const buffers: GPUBuffer[] = []
  const wrap: WrapPoints = (group, count, buffer) => ({ group, count, release: () => void buffers.push(buffer) })
  const setup = await GpuSetup.create(gpu, circuit, toxic, { g1: 64, g2: 64 }, wrap, run)
  const { points: count } = paramsLayout(circuit).queries.h
  const range = { query: 'h', first: 0, count } as const
  ;(await setup.points(range, run)).release()
  const allocated = gpu.allocatedBytes
  const again = await gpu.allocate(scalarBytes(count), 'scalars of another')
  assert.equal(gpu.allocatedBytes, allocated, 'the buffer of the scalars is used again')
  const bytes = await gpu.download(again, 0, scalarBytes(count))
  assert(
    bytes.every((byte) => byte === 0),
    'what was given back is zero',
  )
  gpu.release(again)
  const making = setup.points(range, run)
  const releasing = setup.release()
  await assert.rejects(setup.points(range, run), /released/)
  ;(await making).release()
  await releasing
  const expected = decodeG1(toxic.g1, { subgroup: false }).multiplyUnsafe(zOverDelta(circuit, toxic))
  for (const points of buffers) {
    const encoded = await exportPoints(gpu, 'g1', points, count)
    assert.equal(Buffer.from(encoded).toString('hex', 0, 96), Buffer.from(encodeG1(expected)).toString('hex'))
    gpu.release(points)
  }
  assert.equal(gpu.usedBytes, used, 'every buffer is released')
}

/** The first scalar of h. */
const zOverDelta = ({ log2Domain }: CircuitShape, { tau, delta }: ToxicWaste): bigint =>
  frMul(frReduce(frPow(tau, 1n << BigInt(log2Domain)) - 1n), frInv(delta))

/** What is planned for a set-up is what it takes. */
const planned =
  (id: CircuitId): Check =>
  async (gpu) => {
    const circuit = circuitShape(id)
    const atOnce = { g1: 2 ** 12, g2: 2 ** 11 }
    const plan = setupBytes(circuit, gpu, atOnce)
    gpu.trim()
    const used = gpu.usedBytes
    gpu.peakBytes = gpu.allocatedBytes
    const before = gpu.allocatedBytes
    const wrap: WrapPoints = (group, count, buffer) => ({ group, count, release: () => gpu.release(buffer) })
    const setup = await GpuSetup.create(gpu, circuit, recordedToxic('2KiB', 'window'), atOnce, wrap, run)
    const held = gpu.usedBytes - used
    const scalars = Math.max(scalarBytes(atOnce.g1), scalarBytes(atOnce.g2))
    assert(held + scalars <= plan.points, `${held} bytes and ${scalars} of scalars, ${plan.points} planned`)
    assert(held > 0.8 * plan.points, `${held} bytes, ${plan.points} planned`)
    const most = gpu.peakBytes - before
    // Buffers of columns are idle, and would have given way, while tables are made.
    assert(most <= plan.columns + plan.points, `${most} bytes at most`)
    await setup.release()
    assert.equal(gpu.usedBytes, used, 'every buffer is released')
  }

/** Ranges that are written, one read back while others are made, take no more than is counted. */
const written: Check = async (gpu) => {
  const circuit = tinyCircuit()
  const { points: count } = paramsLayout(circuit).queries.h
  const wrap: WrapPoints = (group, of, buffer) => ({ group, count: of, release: () => gpu.release(buffer) })
  const setup = await GpuSetup.create(gpu, circuit, recordedToxic('2KiB', 'window'), { g1: 64, g2: 64 }, wrap, run)
  gpu.trim()
  const before = gpu.allocatedBytes
  gpu.peakBytes = before
  const inHand = 3
  const range = { query: 'h', first: 0, count } as const
  const encodings: string[] = []
  const encode = (): Promise<void> =>
    setup.encode(range, async (_, bytes) => void encodings.push(Buffer.from(bytes).toString('hex')), run)
  await Promise.all(Array.from({ length: inHand }, encode))
  assert.equal(new Set(encodings).size, 1)
  assert.equal(encodings[0]?.length, 2 * 96 * count)
  // Besides: the scalars of the range, parameters of units, what is told of a zero among the scalars.
  const small = allocationBytes(scalarBytes(count)) + 2 ** 16
  const most = gpu.peakBytes - before
  assert(most <= writingBytes(96 * count, inHand) + small, `${most} bytes at most`)
  await setup.release()
}

/** More parts than the ring has buffers, taken in their own time, by two readers; one that fails ends alone. */
const ring: Check = async (gpu) => {
  const used = gpu.usedBytes
  const bytes = (READ_BACK_BUFFERS + 1) * READ_BACK_BYTES + 512
  const buffer = await gpu.allocate(bytes, 'bytes to read')
  const expected = new Uint8Array(bytes)
  const words = new Uint32Array(expected.buffer)
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i, 0x9e3779b1)
  await gpu.upload(buffer, 0, expected)
  const readBack = new ReadBackRing(gpu)
  const whole = async (): Promise<void> => {
    const read = new Uint8Array(bytes)
    let submitted = 0
    await readBack.read(
      buffer,
      bytes,
      async (at, part) => {
        await new Promise(setImmediate)
        read.set(part, at)
      },
      () => void submitted++,
    )
    assert.equal(submitted, 1)
    assert.equal(Buffer.compare(read, expected), 0, 'the bytes are those of the buffer')
  }
  const failing = readBack.read(
    buffer,
    bytes,
    async (at) => {
      if (at > 0) throw new Error('the disk is full')
    },
    () => {},
  )
  await Promise.all([whole(), assert.rejects(failing, /the disk is full/), whole()])
  await readBack.release()
  gpu.release(buffer)
  assert.equal(gpu.usedBytes, used, 'every buffer is released')
}

/** Who takes a part does not answer before the ring is given up: its buffer goes once it is given back. */
const lateTaker: Check = async (gpu) => {
  const buffer = await gpu.allocate(512, 'bytes to read')
  const { allocatedBytes } = gpu
  const readBack = new ReadBackRing(gpu)
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  let taken = (): void => {}
  const taking = new Promise<void>((resolve) => {
    taken = resolve
  })
  const take = (): Promise<void> => {
    taken()
    return answered
  }
  const reading = readBack.read(buffer, 512, take, () => {})
  await taking
  // The ring's own timer keeps no process.
  const alive = setInterval(() => {}, 1_000)
  await readBack.release().finally(() => clearInterval(alive))
  answer()
  await reading
  assert.equal(gpu.allocatedBytes, allocatedBytes, 'the buffer is destroyed')
  gpu.release(buffer)
}

/** All of it: parameters made in the device's memory, a proof with them, verified with the key that was written. */
const proof =
  (keep: boolean): Check =>
  async (gpu) => {
    const circuit = tinyCircuit()
    const device = new WebGpuDevice(gpu)
    const directory = temporaryDirectory()
    const witness = tinyWitness(3n, 1)
    try {
      const used = gpu.usedBytes
      const location = await madeOnDevice(directory)(circuit.circuitId, { allowDevelopment: true })
      const parameters = await makeParameters(device, circuit, location, location.secrets, { keep }, run)
      const shape = await device.loadShape(circuit)
      const { points, file } = parameters
      const [bytes] = await proveBatch({ device, shape, witnesses: [witness], points, key: file.key }, run)
      const key = await openVerifyingKey(location, circuit.inputs)
      assert(verifyProofs(key, [[witness.inputs.subarray(32)]], bytes as Uint8Array), 'the proof holds')
      points.release()
      shape.release()
      await file.close()
      await new Promise(setImmediate)
      assert.equal(gpu.usedBytes, used, 'every buffer is released')
    } finally {
      removeDirectory(directory)
    }
  }

const circuit = (id: CircuitId) => (): CircuitShape => circuitShape(id)

export const setupChecks: Readonly<Record<string, Check>> = {
  'set-up: multiples in G1, windows of 5 bits': multiples('g1', 5),
  'set-up: multiples in G1, windows of 8 bits': multiples('g1', 8),
  'set-up: multiples in G2, windows of 4 bits': multiples('g2', 4),
  'set-up: scalars of a tiny circuit': scalars(tinyCircuit),
  'set-up: scalars of wpost-2k': scalars(circuit('wpost-2k')),
  'set-up: scalars of winning-2k in shards': withShards(15, scalars(circuit('winning-2k'))),
  'set-up: points of a tiny circuit': points,
  'set-up: nothing of its secrets is left': forgotten,
  'set-up: memory while points are written': written,
  'set-up: reading back through a ring': ring,
  'set-up: reading back for one who answers late': lateTaker,
  'set-up: memory of winning-2k': planned('winning-2k'),
  'set-up: proof with parameters that stay on the device': proof(true),
  'set-up: proof with parameters made in every pass': proof(false),
}

/** Too long for a software adapter within `npm test`. */
export const longSetupChecks: Readonly<Record<string, Check>> = {
  // Domains of 2^22 and 2^21, of which four shards hold the longest.
  'set-up: scalars of porep-2k': withShards(20, scalars(circuit('porep-2k'))),
  'set-up: scalars of snap-2k': withShards(20, scalars(circuit('snap-2k'))),
}
