import assert from 'node:assert/strict'
import { rootOfUnity, vanishingOnCoset } from '../../../src/cpu/ntt/domain.ts'
import { frInv, frMul, frPow, frReduce } from '../../../src/field/fr.ts'
import { QuotientDomain } from '../../../src/webgpu/ntt/quotient.ts'
import { Domain } from '../../../src/webgpu/ntt/transform.ts'
import { FR, mod, unpackDigits } from '../../../src/webgpu/prelude/digit-field.ts'
import { recordSteps } from '../../../src/webgpu/step.ts'
import { type Check, elementsOf, plainOf, plainWords, Random, readElements, withShards } from '../harness.ts'

const r = FR.modulus
const run = { signal: new AbortController().signal, unit: () => {} }

/** Values at the powers of `root`, by the recursion of Cooley and Tukey. */
function evaluate(coefficients: readonly bigint[], root: bigint): bigint[] {
  const n = coefficients.length
  if (n === 1) return [...coefficients]
  const square = frMul(root, root)
  const even = evaluate(
    coefficients.filter((_, i) => i % 2 === 0),
    square,
  )
  const odd = evaluate(
    coefficients.filter((_, i) => i % 2 === 1),
    square,
  )
  const values: bigint[] = new Array(n)
  let power = 1n
  for (let i = 0; i < n / 2; i++) {
    const product = frMul(power, odd[i] as bigint)
    values[i] = frReduce((even[i] as bigint) + product)
    values[i + n / 2] = frReduce((even[i] as bigint) - product)
    power = frMul(power, root)
  }
  return values
}

const interpolate = (values: readonly bigint[], root: bigint): bigint[] => {
  const inverse = frInv(BigInt(values.length))
  return evaluate(values, frInv(root)).map((value) => frMul(value, inverse))
}

const reversed = (i: number, bits: number): number => {
  let result = 0
  for (let k = 0; k < bits; k++) result |= ((i >> k) & 1) << (bits - 1 - k)
  return result
}

const words = (values: readonly bigint[], pack: (value: bigint) => Uint32Array): Uint32Array => {
  const all = new Uint32Array(values.length * FR.words)
  for (const [i, value] of values.entries()) all.set(pack(value), i * FR.words)
  return all
}
const slices = (all: Uint32Array): Uint32Array[] =>
  Array.from({ length: all.length / FR.words }, (_, i) => all.subarray(i * FR.words, (i + 1) * FR.words))

const randomValues = (n: number): bigint[] => {
  const random = new Random()
  return Array.from({ length: n }, (_, i) => [0n, 1n, r - 1n][i] ?? random.below(r))
}

const transform =
  (log2: number, mostGroupBits?: number): Check =>
  async (gpu) => {
    const n = 2 ** log2
    const root = rootOfUnity(log2)
    const values = randomValues(n)
    const domain = await Domain.create(gpu, log2, mostGroupBits)
    const elements = await elementsOf(
      gpu,
      words(values, (value) => plainWords(value, FR.words)),
      'values',
    )
    const analysis = gpu.commands('analysis')
    recordSteps(analysis, domain.analysis(elements.shards, true))
    await analysis.submit()
    const got = slices(await readElements(gpu, elements)).map((element) => mod(unpackDigits(element, FR), r))
    const expected = evaluate(values, frInv(root))
    for (let i = 0; i < n; i++) assert.equal(got[i], expected[reversed(i, log2)], `coefficient at ${i} of 2^${log2}`)
    const synthesis = gpu.commands('synthesis')
    recordSteps(synthesis, domain.synthesis(elements.shards))
    await synthesis.submit()
    const back = slices(await readElements(gpu, elements)).map((element) => mod(unpackDigits(element, FR), r))
    assert.deepEqual(
      back,
      values.map((value) => frMul(value, BigInt(n))),
      `there and back, 2^${log2}`,
    )
    elements.release()
    domain.release()
  }

/** h by seven transforms, as bellperson computes it. */
export function referenceQuotient(a: readonly bigint[], b: readonly bigint[], log2: number): bigint[] {
  const root = rootOfUnity(log2)
  const c = a.map((value, i) => frMul(value, b[i] as bigint))
  const onCoset = [a, b, c].map((rows) =>
    evaluate(
      interpolate(rows, root).map((coefficient, i) => frMul(coefficient, frPow(7n, BigInt(i)))),
      root,
    ),
  ) as [bigint[], bigint[], bigint[]]
  const inverse = frInv(frReduce(vanishingOnCoset(log2)))
  const values = onCoset[0].map((value, i) =>
    frMul(frReduce(frMul(value, onCoset[1][i] as bigint) - (onCoset[2][i] as bigint)), inverse),
  )
  return interpolate(values, root).map((coefficient, i) => frMul(coefficient, frInv(frPow(7n, BigInt(i)))))
}

const quotient =
  (log2: number): Check =>
  async (gpu) => {
    const n = 2 ** log2
    const a = randomValues(n)
    const b = randomValues(n).reverse()
    const tables = await QuotientDomain.create(gpu, log2)
    const used = gpu.usedBytes
    const buffers = [a, b].map((rows) => words(rows, (value) => plainWords(value, FR.words)))
    const [rowsA, rowsB] = [
      await elementsOf(gpu, buffers[0] as Uint32Array, 'a'),
      await elementsOf(gpu, buffers[1] as Uint32Array, 'b'),
    ]
    await tables.compute(rowsA, rowsB, run)
    const h = slices(await readElements(gpu, rowsB)).map(plainOf)
    assert.deepEqual(h, referenceQuotient(a, b, log2))
    assert.equal(h[n - 1], 0n)
    rowsA.release()
    rowsB.release()
    assert.equal(gpu.usedBytes, used, 'every work buffer is released')
    tables.release()
  }

/** Checks one after another on one device, which compiles its kernels once. */
const all =
  (...checks: readonly Check[]): Check =>
  async (gpu) => {
    for (const check of checks) await check(gpu)
  }

export const nttChecks: Record<string, Check> = Object.fromEntries([
  ...[1, 2, 3, 7, 8, 9, 11].map((log2) => [`transform of 2^${log2}`, transform(log2)]),
  ...[1, 4, 9].map((log2) => [`quotient on 2^${log2}`, quotient(log2)]),
  ...[4, 6].map((bits) => [`transform of 2^11 in groups of ${bits} levels`, transform(11, bits)]),
  // Over two shards and over four; in groups of four, four and one levels, and of two each.
  [
    'transforms over shards',
    withShards(7, all(transform(8), transform(9), transform(9, 4), transform(8, 2), quotient(8), quotient(9))),
  ],
])
