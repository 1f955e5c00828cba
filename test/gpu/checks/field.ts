import assert from 'node:assert/strict'
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
  unpackMontgomery,
} from '../../../src/webgpu/prelude/digit-field.ts'
import { bufferOf, type Check, dirtyBuffer, plainOf, Random, readWords } from '../harness.ts'

const RESULTS = 9

const fieldTestKernel = (field: DigitField, levels: number): Kernel => ({
  name: `test ${field.name} ${levels}`,
  fields: [{ field, squaring: true, levels }],
  generated: aliasWgsl(field, { squaring: true }),
  parts: ['invocation.wgsl', 'test/field.wgsl'],
  entry: 'field_test',
  bindings: ['read', 'read', 'read_write'],
})

/** Words whose every digit is at an end of its range: no value that arithmetic made, but the bounds must hold for them. */
function extremeWords(field: DigitField): Uint32Array[] {
  return [0, 0xffff_ffff].map((word) => new Uint32Array(field.words).fill(word))
}

export const fieldCheck =
  (field: DigitField, levels: number): Check =>
  async (gpu) => {
    const random = new Random()
    const p = field.modulus
    const edges = [0n, 1n, 2n, p - 1n, p - 2n, (p - 1n) / 2n, (p + 1n) / 2n]
    const values = [...edges, ...Array.from({ length: 13 }, () => random.below(p))]
    const packed = [...values.map((value) => packMontgomery(value, field)), ...extremeWords(field)]
    const n = packed.length
    const left = new Uint32Array(n * n * field.words)
    const right = new Uint32Array(n * n * field.words)
    for (let i = 0; i < n * n; i++) {
      left.set(packed[Math.floor(i / n)] as Uint32Array, i * field.words)
      right.set(packed[i % n] as Uint32Array, i * field.words)
    }
    const kernel = fieldTestKernel(field, levels)
    await gpu.prepare([kernel])
    const result = await dirtyBuffer(gpu, RESULTS * left.byteLength, 'result')
    const buffers = [await bufferOf(gpu, left, 'left'), await bufferOf(gpu, right, 'right'), result]
    const exact = (buffer: GPUBuffer) => ({ buffer, offset: 0, size: left.byteLength })
    await gpu
      .commands(kernel.name)
      .dispatch(kernel, {
        buffers: [exact(buffers[0] as GPUBuffer), exact(buffers[1] as GPUBuffer), result],
        workgroups: Math.ceil((n * n) / 64),
      })
      .submit()
    const words = await readWords(gpu, result, RESULTS * left.length)
    for (const buffer of buffers) gpu.release(buffer)
    const factor = montgomeryFactor(field)
    for (let i = 0; i < n * n; i++) {
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

export const fieldChecks: Record<string, Check> = Object.fromEntries(
  [FR, FQ].flatMap((field) =>
    [0, 1, 2].map((levels) => [`${field.name}, Karatsuba ${levels}`, fieldCheck(field, levels)]),
  ),
)
