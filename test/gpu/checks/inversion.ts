import assert from 'node:assert/strict'
import { BATCH_INVERSION_KERNELS, BatchInversion } from '../../../src/webgpu/field/batch-inversion.ts'
import { FQ, invert, packMontgomery, unpackMontgomery } from '../../../src/webgpu/prelude/digit-field.ts'
import { bufferOf, type Check, Random, readWords } from '../harness.ts'

const p = FQ.modulus

/**
 * Both signs of small and of large values, powers of two (long chains of halvings), and words whose every digit is at
 * an end.
 */
function edgeWords(): Uint32Array[] {
  const values = [1n, 2n, 3n, p - 1n, p - 2n, (p - 1n) / 2n, (p + 1n) / 2n, (p - 3n) / 2n]
  const plain = [...values, ...[13n, 14n, 15n, 190n, 379n, 380n].map((k) => 1n << k)]
  // As they stand, not only in Montgomery form: the divsteps see x R.
  const factor = invert(1n << BigInt(14 * FQ.digits), p)
  return [
    ...plain.map((value) => packMontgomery(value, FQ)),
    ...plain.map((value) => packMontgomery(value * factor, FQ)),
    ...plain.map((value) => packMontgomery(-value * factor, FQ)),
    ...extremes(),
  ]
}

/** All lower digits −8192 or 8191, within ±0.52 p. */
function extremes(): Uint32Array[] {
  return [0, 0xffff_ffff].map((fill) => {
    const words = new Uint32Array(FQ.words).fill(fill)
    // The top digit has the 6 highest bits, biased by 32.
    words[FQ.words - 1] = (((fill & 0x03ff_ffff) | (32 << 26)) >>> 0) as number
    return words
  })
}

const inversion =
  (count: number, inversions: number, zeros: boolean): Check =>
  async (gpu) => {
    await gpu.prepare(BATCH_INVERSION_KERNELS)
    const random = new Random()
    const edges = edgeWords()
    const values = Array.from({ length: count }, (_, i) => {
      if (zeros && i % 7 === 3) return new Uint32Array(packMontgomery(0n, FQ))
      return edges[i] ?? packMontgomery(random.below(p - 1n) + 1n, FQ)
    })
    const words = new Uint32Array(count * FQ.words)
    for (const [i, value] of values.entries()) words.set(value, i * FQ.words)
    const batch = await BatchInversion.create(gpu, count, inversions)
    const elements = await bufferOf(gpu, words, 'elements')
    try {
      const commands = gpu.commands('inversion')
      batch.record(commands, elements, count)
      await commands.submit()
      const got = await readWords(gpu, batch.inverses, words.length)
      for (const [i, value] of values.entries()) {
        const x = unpackMontgomery(value, FQ)
        const inverse = unpackMontgomery(got.subarray(i * FQ.words, (i + 1) * FQ.words), FQ)
        assert.equal(inverse, x === 0n ? 0n : invert(x, p), `inverse ${i} of ${count}, of ${x}`)
      }
    } finally {
      gpu.release(elements)
      batch.release()
    }
  }

export const inversionChecks: Record<string, Check> = {
  'inversion: one by one, zeros among them': inversion(300, 1024, true),
  'inversion: one level of products': inversion(300, 128, false),
  'inversion: three levels of products': inversion(3000, 2, false),
}
