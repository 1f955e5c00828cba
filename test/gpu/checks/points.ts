/** Points on their way to the device: read part by part, refused by number, kept or read again. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { decodeG1, encodeG1, encodeG2 } from '../../../src/curve/encoding.ts'
import { G1, G2 } from '../../../src/curve/points.ts'
import { FR_BYTES, frFromBytes, frReduce } from '../../../src/field/fr.ts'
import { proveBatch } from '../../../src/groth16/prove-batch.ts'
import type { ProvingDevice } from '../../../src/groth16/proving-device.ts'
import { SrsPoints, type SrsPointsOptions } from '../../../src/groth16/srs-points.ts'
import { paramsLayout, QUERY_GROUP, type Query } from '../../../src/params/layout.ts'
import type { SrsSource } from '../../../src/params/srs-source.ts'
import type { ToxicWaste } from '../../../src/params/toxic-waste.ts'
import { streamPoints } from '../../../src/webgpu/curve/import-points.ts'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import { STAGING_BUFFERS, STAGING_BYTES } from '../../../src/webgpu/staging-plan.ts'
import { WebGpuDevice } from '../../../src/webgpu/webgpu-device.ts'
import { ReferenceDevice } from '../../support/reference-device.ts'
import { referenceSetupScalars } from '../../support/reference-setup.ts'
import { tinyCircuit, tinyWitness } from '../../support/tiny-circuit.ts'
import { type Check, readWords } from '../harness.ts'
import { unpackPoints } from '../points.ts'

const run = { signal: new AbortController().signal, unit: () => {} }
const G1_BYTES = 96

/** Works with a pace that makes parts of 4,096 points, so that there are more of them than staging buffers. */
async function inSmallParts(gpu: Gpu, work: () => Promise<void>): Promise<void> {
  const { limit } = gpu.pace
  gpu.pace.limit = 2 ** 12
  try {
    await work()
  } finally {
    gpu.pace.limit = limit
  }
}

const COUNT = 6 * 2 ** 12 + 5
const multiples = Array.from({ length: 7 }, (_, k) => encodeG1(G1.BASE.multiplyUnsafe(BigInt(k + 1))))
const encodedAt = (index: number): Uint8Array => multiples[index % 7] as Uint8Array

function fill(first: number, target: Uint8Array): void {
  for (let i = 0; i < target.length / G1_BYTES; i++) target.set(encodedAt(first + i), i * G1_BYTES)
}

const parts: Check = async (gpu) => {
  const buffer = await gpu.allocate(COUNT * G1_BYTES, 'points')
  const used = gpu.usedBytes
  const shares: number[] = []
  let [reading, most, mostBytes, bytes] = [0, 0, 0, 0]
  const read = async (first: number, target: Uint8Array): Promise<void> => {
    most = Math.max(most, ++reading)
    mostBytes = Math.max(mostBytes, target.byteLength)
    bytes += target.byteLength
    await delay(2)
    fill(first, target)
    reading--
  }
  const unit = (share: number): void => void shares.push(share)
  assert.equal(await streamPoints(gpu, 'g1', COUNT, read, buffer, { ...run, unit }), undefined)
  assert.equal(bytes, COUNT * G1_BYTES)
  assert(most > 1 && most <= STAGING_BUFFERS, `${most} parts were read at once`)
  assert(mostBytes <= STAGING_BYTES)
  assert.equal(shares.length, 7)
  assert.equal(shares.at(-1), 1)
  assert.equal(gpu.usedBytes, used, 'every buffer is released')
  assert(gpu.staging.bytes <= STAGING_BUFFERS * STAGING_BYTES)
  const packed = unpackPoints(await readWords(gpu, buffer, (COUNT * G1_BYTES) / 4), 'g1')
  for (const index of [0, 4095, 4096, 8193, COUNT - 1]) {
    const { x, y } = decodeG1(encodedAt(index), { subgroup: false }).toAffine()
    assert.deepEqual(packed[index], [x, y], `point ${index}`)
  }
  gpu.release(buffer)
}

/** More parts at once than the ring has buffers otherwise: as many are read before any of them is done. */
const manyParts: Check = async (gpu) => {
  const partsAtOnce = STAGING_BUFFERS + 2
  const buffer = await gpu.allocate(COUNT * G1_BYTES, 'points')
  let begun = 0
  let all = (): void => {}
  const allBegun = new Promise<void>((resolve) => {
    all = resolve
  })
  const read = async (first: number, target: Uint8Array): Promise<void> => {
    if (++begun === partsAtOnce) all()
    await allBegun
    fill(first, target)
  }
  assert.equal(await streamPoints(gpu, 'g1', COUNT, read, buffer, run, { partsAtOnce }), undefined)
  assert.equal(gpu.staging.bytes, partsAtOnce * STAGING_BYTES)
  const last = unpackPoints(await readWords(gpu, buffer, (COUNT * G1_BYTES) / 4), 'g1')[COUNT - 1]
  const { x, y } = decodeG1(encodedAt(COUNT - 1), { subgroup: false }).toAffine()
  assert.deepEqual(last, [x, y])
  gpu.release(buffer)
}

const faults: Check = async (gpu) => {
  const buffer = await gpu.allocate(COUNT * G1_BYTES, 'points')
  const used = gpu.usedBytes
  const refused = (bad: readonly number[], change = 1, checked = false): Promise<number | undefined> => {
    const read = async (first: number, target: Uint8Array): Promise<void> => {
      fill(first, target)
      for (const index of bad) {
        // The last byte of y; a flag in the first one of x is no part of a coordinate below p.
        const at = change === 1 ? (index - first + 1) * G1_BYTES - 1 : (index - first) * G1_BYTES
        if (index >= first && at < target.length) target[at] = (target[at] as number) ^ change
      }
    }
    return streamPoints(gpu, 'g1', COUNT, read, buffer, run, { checked })
  }
  assert.equal(await refused([COUNT - 1]), COUNT - 1)
  assert.equal(await refused([3 * 4096, 2 * 4096 + 77, 4 * 4096]), 2 * 4096 + 77, 'the first of several')

  // Points that passed the check before are converted alone, which still takes no integer past p.
  assert.equal(await refused([77], 1, true), undefined, 'not looked at again')
  assert.equal(await refused([77], 0x80, true), 77, 'a coordinate that is none')

  const failure = new Error('the disk is gone')
  let reading = 0
  const failing = async (first: number, target: Uint8Array): Promise<void> => {
    reading++
    await delay(first === 4096 ? 1 : 20)
    reading--
    if (first === 4096) throw failure
    fill(first, target)
  }
  await assert.rejects(streamPoints(gpu, 'g1', COUNT, failing, buffer, run), failure)
  assert.equal(reading, 0, 'no read is in flight')

  const controller = new AbortController()
  let reads = 0
  const read = async (first: number, target: Uint8Array): Promise<void> => {
    if (++reads === 3) controller.abort('stop')
    fill(first, target)
  }
  const stopped = streamPoints(gpu, 'g1', COUNT, read, buffer, { signal: controller.signal, unit: () => {} })
  await assert.rejects(stopped, (reason) => reason === 'stop')
  assert(reads <= 3 + STAGING_BUFFERS, `${reads} parts were read`)
  assert.equal(gpu.usedBytes, used, 'every buffer is released')
  assert.equal(await refused([]), undefined, 'the ring works on')
  gpu.release(buffer)
}

const toxic: ToxicWaste = {
  g1: encodeG1(G1.BASE.multiplyUnsafe(3n)),
  g2: encodeG2(G2.BASE.multiplyUnsafe(5n)),
  alpha: 1234567n,
  beta: 7654321n ** 5n,
  gamma: 99n ** 9n,
  delta: 12n ** 20n,
  tau: 31n ** 31n,
}

/** The points of a tiny circuit, by multiplication; `reads` counts the bytes that were asked for. */
function tinySource(reads: { bytes: number }): SrsSource {
  const shape = tinyCircuit()
  const scalars = referenceSetupScalars(shape, toxic)
  const layout = paramsLayout(shape)
  const bytes = Object.fromEntries(
    Object.entries(layout.queries).map(([query, { points }]) => {
      const list = scalars.query(query as Query, 0, points)
      const multiple = (i: number): bigint => frFromBytes(list, FR_BYTES * i)
      const encode = (k: bigint): Uint8Array =>
        QUERY_GROUP[query as Query] === 'g1'
          ? encodeG1(G1.BASE.multiplyUnsafe(3n).multiplyUnsafe(k))
          : encodeG2(G2.BASE.multiplyUnsafe(5n).multiplyUnsafe(k))
      return [query, Buffer.concat(Array.from({ length: points }, (_, i) => encode(multiple(i))))]
    }),
  ) as unknown as Record<Query, Buffer>
  return {
    layout,
    name: 'tiny',
    async readInto(query, first, target) {
      reads.bytes += target.byteLength
      const { pointBytes } = layout.queries[query]
      target.set(bytes[query].subarray(first * pointBytes, first * pointBytes + target.byteLength))
    },
    close: async () => {},
  }
}

const residency: Check = async (gpu) => {
  const shape = tinyCircuit()
  const multiple = (k: bigint) => G1.BASE.multiplyUnsafe(frReduce(3n * k))
  const multiple2 = (k: bigint) => G2.BASE.multiplyUnsafe(frReduce(5n * k))
  const key = {
    alphaG1: multiple(toxic.alpha),
    betaG1: multiple(toxic.beta),
    betaG2: multiple2(toxic.beta),
    deltaG1: multiple(toxic.delta),
    deltaG2: multiple2(toxic.delta),
  }
  const used = gpu.usedBytes
  /** The proofs of two passes, and the bytes that each of them read. */
  const prove = async (device: ProvingDevice, keep: SrsPointsOptions['keep']) => {
    const reads = { bytes: 0 }
    const points = new SrsPoints(device, tinySource(reads), { keep, rangePoints: { g1: 3, g2: 3 } })
    const deviceShape = await device.loadShape(shape)
    const input = { device, shape: deviceShape, witnesses: [tinyWitness(3n, 1)], points, key }
    const proofs: string[] = []
    const read: number[] = []
    for (let pass = 0; pass < 2; pass++) {
      const [proof] = await proveBatch(input, run, [{ r: 5n, s: 6n }])
      proofs.push(Buffer.from(proof as Uint8Array).toString('hex'))
      read.push(reads.bytes)
      reads.bytes = 0
    }
    const { kept, keptBytes, streamedBytes } = points
    points.release()
    deviceShape.release()
    return { proofs, read, kept, keptBytes, streamedBytes }
  }
  const { proofs: expected } = await prove(new ReferenceDevice(), false)
  const device = new WebGpuDevice(gpu)
  // h 7, l 4, a 6 and b_g1 4 points of 96 bytes, b_g2 4 of 192.
  const [g1, g2] = [7 * 96 + 4 * 96 + 6 * 96 + 4 * 96, 4 * 192]
  assert.deepEqual(await prove(device, false), {
    proofs: expected,
    read: [g1 + g2, g1 + g2],
    kept: [],
    keptBytes: 0,
    streamedBytes: g1 + g2,
  })
  const kept = await prove(device, true)
  assert.deepEqual(kept.proofs, expected)
  assert.deepEqual(kept.read, [g1 + g2, 0])
  assert.equal(kept.streamedBytes, 0)
  const part = await prove(device, new Set<Query>(['h', 'b_g2']))
  assert.deepEqual(part.proofs, expected)
  assert.deepEqual(part.read, [g1 + g2, g1 - 7 * 96])
  assert.deepEqual(part.kept, ['h', 'b_g2'])
  assert.deepEqual([part.keptBytes, part.streamedBytes], [7 * 96 + g2, g1 - 7 * 96])
  assert.equal(gpu.usedBytes, used, 'every buffer is released')
}

/**
 * Of idle buffers as few are destroyed as must be, those first that nobody wanted for longest. Limit: 4 MiB more than
 * before.
 */
async function giveWayInOrder(gpu: Gpu, before: number): Promise<void> {
  gpu.trim()
  const old = await gpu.allocate(2 ** 20, 'old')
  const young = await gpu.allocate(3 * 2 ** 19, 'young')
  gpu.release(old)
  gpu.release(young)
  const large = await gpu.allocate(2 ** 21, 'large')
  assert.equal(gpu.allocatedBytes - before, 2 ** 21 + 3 * 2 ** 19)
  assert.equal(await gpu.allocate(3 * 2 ** 19, 'young again'), young)
  for (const buffer of [large, young]) gpu.release(buffer)
}

/** With a limit: what is refused, and that all of it together stays below. */
const limit: Check = async (gpu) => {
  const bytes = 2 ** 22
  gpu.trim()
  const before = gpu.allocatedBytes
  const { memoryBytes } = gpu
  try {
    Object.assign(gpu, { memoryBytes: before + bytes, peakBytes: before })
    const first = await gpu.allocate(bytes / 2, 'half')
    // Idle buffers give way to what does not fit beside them.
    gpu.release(first)
    const second = await gpu.allocate((3 * bytes) / 4, 'three quarters')
    await assert.rejects(gpu.allocate(bytes / 2, 'too much'), { code: 'ERR_GPU_OUT_OF_MEMORY', retryable: true })
    // Buffers of other use count, too: those of reading back here, of a ring of staging buffers.
    await gpu.download(second, 0, 2 ** 16)
    await assert.rejects(gpu.download(second, 0, 2 ** 21), { code: 'ERR_GPU_OUT_OF_MEMORY' })
    await assert.rejects(gpu.upload(second, 0, new Uint8Array(2 ** 21)), { code: 'ERR_GPU_OUT_OF_MEMORY' })
    const circuit = tinyCircuit()
    assert.throws(() => new WebGpuDevice(gpu).planMemory(circuit, 0), {
      code: 'ERR_GPU_OUT_OF_MEMORY',
      message: new RegExp(`may use ${before + bytes}$`),
    })
    gpu.release(second)
    await giveWayInOrder(gpu, before)
    assert(gpu.peakBytes <= before + bytes)
  } finally {
    Object.assign(gpu, { memoryBytes })
  }
}

export const pointChecks: Record<string, Check> = {
  'points read part by part': (gpu) => inSmallParts(gpu, () => parts(gpu)),
  'points read in more parts at once': (gpu) => inSmallParts(gpu, () => manyParts(gpu)),
  'memory past a limit': limit,
  'points that are refused, and reads that fail or are stopped': (gpu) => inSmallParts(gpu, () => faults(gpu)),
  'a proof with points kept, streamed, and some of each': residency,
}
