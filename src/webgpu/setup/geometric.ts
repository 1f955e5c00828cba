/** What kernels need to make members of a geometric sequence: base^(2^k), and constants of their own before. */
import { forget } from '../forget.ts'
import type { Gpu } from '../gpu.ts'
import { FR, packDigits, packMontgomery } from '../prelude/digit-field.ts'

/** A constant in Montgomery form, or as it is. */
export interface Constant {
  readonly value: bigint
  readonly plain?: boolean
}

/** Constants of a kernel in a buffer. They may be secrets, which {@link release} clears. */
export class ConstantBuffer {
  readonly buffer: GPUBuffer
  readonly #gpu: Gpu

  private constructor(gpu: Gpu, buffer: GPUBuffer) {
    this.#gpu = gpu
    this.buffer = buffer
  }

  static async create(gpu: Gpu, label: string, constants: readonly Constant[]): Promise<ConstantBuffer> {
    const words = new Uint32Array(constants.length * FR.words)
    for (const [i, { value, plain }] of constants.entries()) {
      words.set(plain === true ? packDigits(value, FR) : packMontgomery(value, FR), i * FR.words)
    }
    const buffer = await gpu.allocate(words.byteLength, label)
    const constant = new ConstantBuffer(gpu, buffer)
    try {
      await gpu.upload(buffer, 0, new Uint8Array(words.buffer))
      words.fill(0)
      return constant
    } catch (error) {
      constant.release()
      throw error
    }
  }

  release(): void {
    forget(this.#gpu, this.buffer)
  }
}

/** base^(2^k), k < bits. */
export function squaresOf(base: bigint, bits: number): Constant[] {
  const squares: Constant[] = []
  let square = base
  for (let k = 0; k < bits; k++) {
    squares.push({ value: square })
    square = (square * square) % FR.modulus
  }
  return squares
}
