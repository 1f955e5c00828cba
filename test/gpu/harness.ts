/**
 * Checks of kernels are plain functions, so that the same ones run under vitest on a software adapter and, by
 * `node test/gpu/run.js`, on a machine that has a GPU and nothing else.
 */
import { ELEMENT_BYTES, Elements } from '../../src/webgpu/elements.ts'
import { Gpu } from '../../src/webgpu/gpu.ts'

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

/**
 * The check on a device of its own whose bindings hold 2^log2 scalars, so that small polynomials take several shards as
 * large ones do on a real adapter.
 */
export const withShards =
  (log2: number, check: Check): Check =>
  ({ info, limits }) =>
    withDevice({ info, limits }, { bindingBytes: ELEMENT_BYTES * 2 ** log2 }, check)

/** The check on a device of its own, of the same adapter and limits. */
export async function withDevice(
  { info, limits }: Pick<Gpu, 'info' | 'limits'>,
  options: { readonly bindingBytes?: number; readonly memoryBytes?: number },
  check: Check,
): Promise<void> {
  const { maxStorageBufferBindingSize, maxBufferSize } = limits
  const requiredLimits = { maxStorageBufferBindingSize, maxBufferSize }
  const gpu = await Gpu.open({ allowSoftware: info.software, requiredLimits, ...options })
  try {
    await check(gpu)
  } finally {
    await gpu.close()
  }
}

/** Scalars over shards that held 0xFF before. */
export async function elementsOf(gpu: Gpu, words: Uint32Array, label: string): Promise<Elements> {
  const elements = await Elements.allocate(gpu, (4 * words.length) / ELEMENT_BYTES, label)
  for (const shard of elements.shards) await gpu.upload(shard, 0, new Uint8Array(shard.size).fill(0xff))
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
  for (const { buffer, first, count, at } of elements.ranges(0, elements.count)) {
    const part = bytes.subarray(at * ELEMENT_BYTES, (at + count) * ELEMENT_BYTES)
    await gpu.upload(buffer, first * ELEMENT_BYTES, part)
  }
  return elements
}

export async function readElements(gpu: Gpu, elements: Elements): Promise<Uint32Array> {
  const all = new Uint32Array((elements.count * ELEMENT_BYTES) / 4)
  for (const { buffer, at, count } of elements.ranges(0, elements.count))
    all.set(await readWords(gpu, buffer, (count * ELEMENT_BYTES) / 4), (at * ELEMENT_BYTES) / 4)
  return all
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
