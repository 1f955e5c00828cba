import assert from 'node:assert/strict'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import type { Kernel } from '../../../src/webgpu/kernel.ts'
import { aliasWgsl } from '../../../src/webgpu/prelude/alias-wgsl.ts'
import {
  type DigitField,
  FQ,
  FR,
  invert,
  mod,
  montgomeryFactor,
  packMontgomery,
  unpackDigits,
  unpackMontgomery,
} from '../../../src/webgpu/prelude/digit-field.ts'
import { bufferOf, type Check, dirtyBuffer, plainOf, plainWords, Random, readWords } from '../harness.ts'

const RESULTS = 9

const fieldTestKernel = (field: DigitField, levels: number): Kernel => ({
  name: `test ${field.name} ${levels}`,
  fields: [{ field, squaring: true, levels }],
  generated: aliasWgsl(field, { squaring: true }),
  parts: ['invocation.wgsl', 'test/field.wgsl'],
  entry: 'field_test',
  bindings: ['read', 'read', 'read_write'],
})

/**
 * Words whose every digit is at an end of its range: no value that arithmetic made, but the bounds must hold for them.
 */
function extremeWords(field: DigitField): Uint32Array[] {
  return [0, 0xffff_ffff].map((word) => new Uint32Array(field.words).fill(word))
}

/** What a kernel makes of pairs: some elements for each. */
async function run(gpu: Gpu, kernel: Kernel, left: Uint32Array, right: Uint32Array, results: number) {
  const elements = left.length / (kernel.fields[0]?.field.words ?? 1)
  await gpu.prepare([kernel])
  const result = await dirtyBuffer(gpu, results * left.byteLength, 'result')
  const buffers = [await bufferOf(gpu, left, 'left'), await bufferOf(gpu, right, 'right')]
  const exact = buffers.map((buffer) => ({ buffer, offset: 0, size: left.byteLength }))
  const commands = gpu.commands(kernel.name)
  await commands.dispatch(kernel, { buffers: [...exact, result], workgroups: Math.ceil(elements / 64) }).submit()
  const words = await readWords(gpu, result, results * left.length)
  for (const buffer of [...buffers, result]) gpu.release(buffer)
  return words
}

/** Pairs of all of some packed values, as two buffers of words. */
function pairsOf(packed: readonly Uint32Array[], field: DigitField) {
  const n = packed.length
  const left = new Uint32Array(n * n * field.words)
  const right = new Uint32Array(n * n * field.words)
  for (let i = 0; i < n * n; i++) {
    left.set(packed[Math.floor(i / n)] as Uint32Array, i * field.words)
    right.set(packed[i % n] as Uint32Array, i * field.words)
  }
  return { left, right, count: n * n }
}

export const fieldCheck =
  (field: DigitField, levels: number): Check =>
  async (gpu) => {
    const random = new Random()
    const p = field.modulus
    const edges = [0n, 1n, 2n, p - 1n, p - 2n, (p - 1n) / 2n, (p + 1n) / 2n]
    const values = [...edges, ...Array.from({ length: 13 }, () => random.below(p))]
    const packed = [...values.map((value) => packMontgomery(value, field)), ...extremeWords(field)]
    const { left, right, count } = pairsOf(packed, field)
    const words = await run(gpu, fieldTestKernel(field, levels), left, right, RESULTS)
    const factor = montgomeryFactor(field)
    for (let i = 0; i < count; i++) {
      const a = unpackMontgomery(left.subarray(i * field.words, (i + 1) * field.words), field)
      const b = unpackMontgomery(right.subarray(i * field.words, (i + 1) * field.words), field)
      const word = (k: number) => words.subarray((RESULTS * i + k) * field.words, (RESULTS * i + k + 1) * field.words)
      const got = (k: number) => unpackMontgomery(word(k), field)
      const where = `${field.name}, ${levels} levels, pair ${i}`
      assert.equal(got(0), mod(a * b, p), `${where}: a · b`)
      assert.equal(got(1), mod(a * a, p), `${where}: a²`)
      assert.equal(got(2), mod(a + b, p), `${where}: a + b`)
      assert.equal(got(3), mod(a - b, p), `${where}: a − b`)
      assert.equal(got(4), mod(-a, p), `${where}: −a`)
      assert.equal(got(5), mod((a - b) * -3n * b, p), `${where}: (a − b) · (−3 b)`)
      assert.equal(plainOf(word(6)), a, `${where}: canonical integer of a`)
      const integer = plainOf(left.subarray(i * field.words, (i + 1) * field.words))
      assert.equal(got(7), mod(integer, p), `${where}: Montgomery form of an integer`)
      assert.equal(got(8), a === b ? 1n : 0n, `${where}: zero test`)
    }
    assert.equal(mod(factor * invert(factor, p), p), 1n)
  }

/** Sums of two products with one reduction, and the conversion of integers of any size that the words hold. */
const sumsCheck: Check = async (gpu) => {
  const random = new Random()
  const p = FQ.modulus
  const values = [0n, 1n, p - 1n, (p - 1n) / 2n, (p + 1n) / 2n, ...Array.from({ length: 9 }, () => random.below(p))]
  const integers = [p, 2n ** 384n - 2n, 2n ** 381n + 7n].map((value) => plainWords(value, FQ.words))
  const packed = [...values.map((value) => packMontgomery(value, FQ)), ...integers, ...extremeWords(FQ)]
  const { left, right, count } = pairsOf(packed, FQ)
  const kernel: Kernel = {
    name: 'test sums',
    fields: [{ field: FQ, multiplication: false, accumulation: true, conversion: true }],
    parts: ['invocation.wgsl', 'test/sums.wgsl'],
    entry: 'sums_test',
    bindings: ['read', 'read', 'read_write'],
  }
  const words = await run(gpu, kernel, left, right, 3)
  for (let i = 0; i < count; i++) {
    const own = (all: Uint32Array, at: number) => all.subarray(at * FQ.words, (at + 1) * FQ.words)
    const [a, b] = [unpackMontgomery(own(left, i), FQ), unpackMontgomery(own(right, i), FQ)]
    const got = (k: number) => unpackMontgomery(own(words, 3 * i + k), FQ)
    assert.equal(got(0), mod(a * b, p), `pair ${i}: a · b`)
    assert.equal(got(1), mod(a * a - a * b, p), `pair ${i}: a² − a b`)
    const integer = plainOf(own(left, i))
    assert.equal(got(2), mod(integer, p), `pair ${i}: Montgomery form of an integer`)
    const stored = unpackDigits(own(words, 3 * i + 2), FQ)
    assert(100n * (stored < 0n ? -stored : stored) < 52n * p, `pair ${i}: ${stored} is stored`)
  }
}

export const fieldChecks: Record<string, Check> = {
  ...Object.fromEntries(
    [FR, FQ].flatMap((field) =>
      [0, 1, 2].map((levels) => [`${field.name}, Karatsuba ${levels}`, fieldCheck(field, levels)]),
    ),
  ),
  'fq, sums of products and conversion of integers': sumsCheck,
}
