/**
 * Known answers, computed once a device before it proves anything: a processor or an engine that rounds differently
 * than the kernels rely on must not come as far as a proof.
 */
import { encodeG1, encodeG2 } from '../curve/encoding.ts'
import { G1, G2 } from '../curve/points.ts'
import { FR_BYTES, FR_MODULUS, frAdd, frInv, frMul, frPow, frWriteBytes, integerFromBytes } from '../field/fr.ts'
import type { Run } from '../groth16/proving-device.ts'
import { pointsIn } from '../groth16/read-points.ts'
import { portion, silent } from '../groth16/run-portion.ts'
import { loadDevicePoints } from './device-points.ts'
import { ENCODED_BYTES } from './msm/group-kernels.ts'
import { multiexp } from './msm/multiexp.ts'
import { COSET_GENERATOR, inverseOfSize, rootOfUnity } from './ntt/domain.ts'
import type { Transforms } from './ntt/transform.ts'
import { transposedIndex } from './ntt/transform.ts'
import type { ThreadPool } from './thread-context.ts'

/** A transform of 2^6 elements exercises rows, columns, the twist and the coset; the sums take as many points. */
const LOG2_SIZE = 6
const SIZE: number = 2 ** LOG2_SIZE

/**
 * Compares a transform to a coset and sums in both groups with the bigint reference.
 * @throws {Error} naming what differs
 */
export async function runSelfTest(pool: ThreadPool, transforms: Transforms, run: Run): Promise<void> {
  const scalars = testScalars()
  await testTransform(pool, transforms, scalars, portion(run, 0, 0.2))
  await testSum(pool, 'g1', scalars, portion(run, 0.2, 0.6))
  await testSum(pool, 'g2', scalars, portion(run, 0.6, 1))
}

/** Both ends of the field, and values whose bits are spread: powers of 7 by a large exponent. */
function testScalars(): bigint[] {
  const step = frPow(COSET_GENERATOR, 0x1_0000_0001n)
  const scalars = [0n, 1n, FR_MODULUS - 1n]
  for (let value = step; scalars.length < SIZE; value = frMul(value, step)) scalars.push(value)
  return scalars
}

async function withScalars<T>(
  pool: ThreadPool,
  scalars: readonly bigint[],
  body: (address: number) => Promise<T>,
): Promise<T> {
  const address = pool.arena.allocate(scalars.length * FR_BYTES)
  try {
    const bytes = new Uint8Array(pool.memory.buffer, address, scalars.length * FR_BYTES)
    for (const [i, scalar] of scalars.entries()) frWriteBytes(scalar, bytes, i * FR_BYTES)
    return await body(address)
  } finally {
    pool.arena.free(address)
  }
}

async function testTransform(
  pool: ThreadPool,
  transforms: Transforms,
  values: readonly bigint[],
  run: Run,
): Promise<void> {
  // Coefficient k of the polynomial with these values, times 7^k, by definition.
  const inverseRoot = frInv(rootOfUnity(LOG2_SIZE))
  const expected = values.map((_, k) => {
    const point = frPow(inverseRoot, BigInt(k))
    const sum = values.reduceRight((rest, value) => frAdd(frMul(rest, point), value), 0n)
    return frMul(frMul(sum, inverseOfSize(LOG2_SIZE)), frPow(COSET_GENERATOR, BigInt(k)))
  })
  await withScalars(pool, values, async (address) => {
    await transforms.analyse(LOG2_SIZE, address, { to: address, shift: COSET_GENERATOR }, portion(run, 0, 0.5))
    const bytes = new Uint8Array(pool.memory.buffer, address, SIZE * FR_BYTES)
    for (const [k, value] of expected.entries()) {
      if (integerFromBytes(bytes, transposedIndex(LOG2_SIZE, k) * FR_BYTES) !== value) throw wrong('a transform')
    }
    await transforms.synthesise(LOG2_SIZE, address, portion(run, 0.5, 1))
    for (const [n, value] of cosetValues(expected).entries()) {
      if (integerFromBytes(bytes, n * FR_BYTES) !== value) throw wrong('an inverse transform')
    }
  })
}

/** Values on the domain of the polynomial with these coefficients. */
function cosetValues(coefficients: readonly bigint[]): bigint[] {
  const root = rootOfUnity(LOG2_SIZE)
  return coefficients.map((_, n) => {
    const point = frPow(root, BigInt(n))
    return coefficients.reduceRight((sum, coefficient) => frAdd(frMul(sum, point), coefficient), 0n)
  })
}

/** The points G, 2G, 3G, … make the sum Σ s_i · (i + 1) times G. */
async function testSum(pool: ThreadPool, group: 'g1' | 'g2', scalars: readonly bigint[], run: Run): Promise<void> {
  const factor = scalars.reduce((sum, scalar, i) => frAdd(sum, frMul(scalar, BigInt(i + 1))), 0n)
  const { encoded, expected } = group === 'g1' ? multiplesOfG1(factor) : multiplesOfG2(factor)
  const points = await loadDevicePoints(
    pool,
    group,
    encoded.length,
    pointsIn(Buffer.concat(encoded), ENCODED_BYTES[group]),
    silent(run),
  )
  try {
    await withScalars(pool, scalars, async (address) => {
      const sum = await multiexp(pool, group, points.address, address, SIZE, run)
      if (!expected.equals(sum)) throw wrong(`a sum in ${group.toUpperCase()}`)
    })
  } finally {
    points.release()
  }
}

interface Multiples {
  readonly encoded: Uint8Array[]
  readonly expected: Buffer
}

function multiplesOfG1(factor: bigint): Multiples {
  const encoded: Uint8Array[] = []
  for (let point = G1.BASE; encoded.length < SIZE; point = point.add(G1.BASE)) encoded.push(encodeG1(point))
  return { encoded, expected: Buffer.from(encodeG1(G1.BASE.multiplyUnsafe(factor))) }
}

function multiplesOfG2(factor: bigint): Multiples {
  const encoded: Uint8Array[] = []
  for (let point = G2.BASE; encoded.length < SIZE; point = point.add(G2.BASE)) encoded.push(encodeG2(point))
  return { encoded, expected: Buffer.from(encodeG2(G2.BASE.multiplyUnsafe(factor))) }
}

function wrong(what: string): Error {
  return new Error(`The CPU device computes wrong: ${what} differs from the reference`)
}
