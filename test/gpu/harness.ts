/**
 * Checks of kernels are plain functions, so that the same ones run under vitest on a software adapter and, by
 * `node test/gpu/run.js`, on a machine that has a GPU and nothing else.
 */
import type { Gpu } from '../../src/webgpu/gpu.ts'

/** Throws where a kernel's result differs from the bigint reference. */
export type Check = (gpu: Gpu) => Promise<void>

/** A deterministic generator (xorshift128), so that a failure can be seen again. */
export class Random {
  #state = [0x59c2be5d, 0x763d318d, 0x17db3732, 0x5406bce5]

  word(): number {
    const [x, y, z, w] = this.#state as [number, number, number, number]
    const t = x ^ (x << 11)
    const next = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) >>> 0
    this.#state = [y, z, w, next]
    return next
  }

  below(modulus: bigint): bigint {
    let value = 0n
    for (let i = 0; i < modulus.toString(16).length / 8 + 2; i++) value = (value << 32n) | BigInt(this.word())
    return value % modulus
  }

  integer(below: number): number {
    return this.word() % below
  }
}

/** A buffer that holds words, and whatever the allocator rounds it up to filled with 0xFF. */
export async function bufferOf(gpu: Gpu, words: Uint32Array, label: string): Promise<GPUBuffer> {
  const buffer = await dirtyBuffer(gpu, words.byteLength, label)
  await gpu.upload(buffer, 0, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
  return buffer
}

/** A buffer filled with 0xFF: no kernel may rely on zeroed memory. */
export async function dirtyBuffer(gpu: Gpu, bytes: number, label: string): Promise<GPUBuffer> {
  const buffer = await gpu.allocate(bytes, label)
  await gpu.upload(buffer, 0, new Uint8Array(buffer.size).fill(0xff))
  return buffer
}

export async function readWords(gpu: Gpu, buffer: GPUBuffer, words: number): Promise<Uint32Array> {
  const bytes = await gpu.download(buffer, 0, 4 * words)
  return new Uint32Array(bytes.buffer, bytes.byteOffset, words)
}

/** The unsigned integer of little-endian words. */
export const plainOf = (words: Uint32Array): bigint =>
  words.reduceRight((value, word) => (value << 32n) | BigInt(word), 0n)

export function plainWords(value: bigint, count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, i) => Number((value >> BigInt(32 * i)) & 0xffff_ffffn))
}
