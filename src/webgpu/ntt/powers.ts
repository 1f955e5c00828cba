/** Tables of powers on the device. */
import { BufferSet } from '../buffer-set.ts'
import { ELEMENT_BYTES } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR, mod, packMontgomery } from '../prelude/digit-field.ts'

/** Writes powers of an element, times a first one. */
export const powersKernel: Kernel = {
  name: 'powers',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/powers.wgsl'],
  entry: 'make_powers',
  bindings: ['read', 'read_write', 'uniform'],
}

/** scale · base^i for i < count, packed in Montgomery form. The caller releases the buffer. */
export async function powersOf(
  gpu: Gpu,
  base: bigint,
  scale: bigint,
  count: number,
  label: string,
): Promise<GPUBuffer> {
  const bits = Math.ceil(Math.log2(Math.max(2, count)))
  const words = new Uint32Array((bits + 1) * FR.words)
  words.set(packMontgomery(scale, FR))
  let square = base
  for (let k = 0; k < bits; k++) {
    words.set(packMontgomery(square, FR), (k + 1) * FR.words)
    square = mod(square * square, FR.modulus)
  }
  await gpu.prepare([powersKernel])
  const squares = await gpu.allocate(words.byteLength, 'squares')
  try {
    await gpu.upload(squares, 0, new Uint8Array(words.buffer))
    const powers = await gpu.allocate(count * ELEMENT_BYTES, label)
    try {
      const workgroups = Math.ceil(count / 64)
      const dispatch = { buffers: [squares, powers], params: [count, bits], workgroups }
      await gpu.commands(label).dispatch(powersKernel, dispatch).submit()
      return powers
    } catch (error) {
      gpu.release(powers)
      throw error
    }
  } finally {
    gpu.release(squares)
  }
}

/**
 * scale · base^i for all i < 2^log2, as two tables of about 2^(log2/2) powers, of the lower and the upper bits of an
 * exponent: the whole table would be as large as a polynomial, and reading it costs more than a multiplication.
 */
export class SplitPowers {
  /** Bits of the lower part. */
  readonly lowBits: number
  readonly low: GPUBuffer
  readonly high: GPUBuffer
  readonly #set: BufferSet

  private constructor(lowBits: number, low: GPUBuffer, high: GPUBuffer, set: BufferSet) {
    this.lowBits = lowBits
    this.low = low
    this.high = high
    this.#set = set
  }

  static async create(gpu: Gpu, base: bigint, scale: bigint, log2: number, label: string): Promise<SplitPowers> {
    const lowBits = splitBits(log2)
    let step = base
    for (let k = 0; k < lowBits; k++) step = mod(step * step, FR.modulus)
    const set = new BufferSet(gpu)
    try {
      const low = await powersOf(gpu, base, scale, 2 ** lowBits, label)
      set.own({ release: () => gpu.release(low) })
      const high = await powersOf(gpu, step, 1n, 2 ** (log2 - lowBits), label)
      set.own({ release: () => gpu.release(high) })
      return new SplitPowers(lowBits, low, high, set)
    } catch (error) {
      set.release()
      throw error
    }
  }

  release(): void {
    this.#set.release()
  }
}

/** Bits of the lower part of exponents below 2^log2. */
export const splitBits = (log2: number): number => Math.ceil(log2 / 2)
