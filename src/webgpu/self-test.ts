/**
 * Known answers, computed once a device before it proves anything: a driver that computes wrong must not come as far as
 * a proof. The transform covers the field, sums in both groups the import, the sort and the additions.
 */
import { setImmediate } from 'node:timers/promises'
import { rootOfUnity } from '../cpu/ntt/domain.ts'
import { encodeG1, encodeG2 } from '../curve/encoding.ts'
import { G1, G2 } from '../curve/points.ts'
import { FR_BYTES, FR_MODULUS, frAdd, frMul, frWriteBytes } from '../field/fr.ts'
import type { Run } from '../groth16/proving-device.ts'
import { BufferSet } from './buffer-set.ts'
import { importPoints } from './curve/import-points.ts'
import { ELEMENT_BYTES } from './elements.ts'
import type { Gpu } from './gpu.ts'
import { multiexp } from './msm/multiexp.ts'
import { Domain } from './ntt/transform.ts'
import { FR, mod, unpackDigits } from './prelude/digit-field.ts'
import { recordSteps } from './step.ts'

/** An odd number of levels, in two groups: rounds of both kinds, with factors between the groups. */
const LOG2_SIZE = 9
const GROUP_BITS = 6
const POINTS = 24

/** What a device is given, and what it has to make of it. */
export interface KnownAnswers {
  readonly transform: TransformAnswer
  readonly sums: Readonly<Record<'g1' | 'g2', SumAnswer>>
}

interface TransformAnswer {
  readonly coefficients: ReadonlyMap<number, bigint>
  readonly values: readonly bigint[]
}

interface SumAnswer {
  readonly scalars: readonly bigint[]
  /** (i + 1) G, encoded. */
  readonly points: Uint8Array
  readonly sum: Uint8Array
}

/** Computed with bigints, some milliseconds at a time: a process has other things to do while its device starts. */
export async function knownAnswers(): Promise<KnownAnswers> {
  const transform = transformAnswer()
  return { transform, sums: { g1: await sumAnswer('g1'), g2: await sumAnswer('g2') } }
}

/** @throws {Error} naming what the device computes wrong */
export async function runSelfTest(gpu: Gpu, run: Run, answers?: KnownAnswers): Promise<void> {
  const { transform, sums } = answers ?? (await knownAnswers())
  await testTransform(gpu, transform)
  run.unit(0.2)
  run.signal.throwIfAborted()
  await testSum(gpu, 'g1', sums.g1, run)
  run.unit(0.6)
  run.signal.throwIfAborted()
  await testSum(gpu, 'g2', sums.g2, run)
  run.unit(1)
}

const wrong = (gpu: Gpu, what: string): Error => new Error(`${gpu.info.name} computes ${what} wrong`)

/** Both ends of the field, and values whose bits are spread. */
function scalarsOf(count: number): bigint[] {
  const scalars = [0n, 1n, FR_MODULUS - 1n]
  for (let value = 7n ** 40n % FR_MODULUS; scalars.length < count; value = frMul(value, value + 7n)) scalars.push(value)
  return scalars
}

async function upload(gpu: Gpu, set: BufferSet, scalars: readonly bigint[], label: string): Promise<GPUBuffer> {
  const bytes = new Uint8Array(scalars.length * FR_BYTES)
  for (const [i, scalar] of scalars.entries()) frWriteBytes(scalar, bytes, i * FR_BYTES)
  const buffer = await set.allocate(bytes.byteLength, label)
  await gpu.upload(buffer, 0, bytes)
  return buffer
}

/** Values at the powers of ω of a polynomial with few coefficients, which a sum gives by definition, there and back. */
function transformAnswer(): TransformAnswer {
  const size = 2 ** LOG2_SIZE
  const root = rootOfUnity(LOG2_SIZE)
  const coefficients = new Map([5, 77, 300, 511].map((k, i) => [k, scalarsOf(7)[i + 2] as bigint]))
  const powers = [1n]
  for (let i = 1; i < size; i++) powers.push(frMul(powers[i - 1] as bigint, root))
  const values = powers.map((_, i) => {
    let sum = 0n
    for (const [k, coefficient] of coefficients) sum = frAdd(sum, frMul(coefficient, powers[(i * k) % size] as bigint))
    return sum
  })
  return { coefficients, values }
}

async function testTransform(gpu: Gpu, { coefficients, values }: TransformAnswer): Promise<void> {
  const size = values.length
  const set = new BufferSet(gpu)
  try {
    const domain = set.own(await Domain.create(gpu, LOG2_SIZE, GROUP_BITS))
    const elements = await upload(gpu, set, values, 'self-test of the transform')
    const read = async (): Promise<bigint[]> => {
      const bytes = await gpu.download(elements, 0, size * ELEMENT_BYTES)
      const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
      return Array.from({ length: size }, (_, i) => mod(unpackDigits(words.subarray(8 * i, 8 * i + 8), FR), FR_MODULUS))
    }
    const analysis = gpu.commands('self-test: analysis')
    recordSteps(analysis, domain.analysis([elements], true))
    await analysis.submit()
    for (const [at, got] of (await read()).entries()) {
      const expected = frMul(coefficients.get(reversed(at)) ?? 0n, BigInt(size))
      if (got !== expected) throw wrong(gpu, 'a transform')
    }
    const synthesis = gpu.commands('self-test: synthesis')
    recordSteps(synthesis, domain.synthesis([elements]))
    await synthesis.submit()
    for (const [i, got] of (await read()).entries()) {
      if (got !== frMul(values[i] as bigint, BigInt(size))) throw wrong(gpu, 'an inverse transform')
    }
  } finally {
    set.release()
  }
}

function reversed(index: number): number {
  let result = 0
  for (let bit = 0; bit < LOG2_SIZE; bit++) result |= ((index >> bit) & 1) << (LOG2_SIZE - 1 - bit)
  return result
}

/** Σ s_i · (i + 1) G, which is (Σ s_i (i + 1)) G. */
async function sumAnswer(group: 'g1' | 'g2'): Promise<SumAnswer> {
  const scalars = scalarsOf(POINTS)
  const total = scalars.reduce((sum, scalar, i) => frAdd(sum, frMul(scalar, BigInt(i + 1))), 0n)
  const encode = (multiple: bigint): Uint8Array =>
    group === 'g1' ? encodeG1(G1.BASE.multiplyUnsafe(multiple)) : encodeG2(G2.BASE.multiplyUnsafe(multiple))
  const points: Uint8Array[] = []
  for (let i = 0; i < POINTS; i++) {
    points.push(encode(BigInt(i + 1)))
    await setImmediate()
  }
  return { scalars, points: Buffer.concat(points), sum: encode(total) }
}

async function testSum(
  gpu: Gpu,
  group: 'g1' | 'g2',
  { scalars, points: bytes, sum: expected }: SumAnswer,
  run: Run,
): Promise<void> {
  const set = new BufferSet(gpu)
  try {
    const encoded = await set.allocate(bytes.byteLength, 'self-test points')
    const points = await set.allocate(bytes.byteLength, 'self-test points')
    await gpu.upload(encoded, 0, bytes)
    if ((await importPoints(gpu, group, encoded, points, POINTS)) !== undefined)
      throw wrong(gpu, `the curve of ${group}`)
    const buffer = await upload(gpu, set, scalars, 'self-test scalars')
    const quiet: Run = { signal: run.signal, unit: () => {} }
    const sum = await multiexp(gpu, group, points, buffer, 0, POINTS, quiet, { window: 5 })
    if (Buffer.compare(sum, expected) !== 0) throw wrong(gpu, `a sum in ${group}`)
  } finally {
    set.release()
  }
}
