/**
 * Transforms over Fr on the device, in place. Analysis (values to coefficients) takes natural order to bit-reversed order, synthesis
 * the other way, so that no permutation is needed between the two.
 *
 * A pass does up to 8 radix-2 levels in workgroup memory (10 KiB): half a multiplication an element a level, one read and one
 * write of 32 bytes an element. Elements are packed plain values; roots are in Montgomery form, so products stay plain.
 */
import { rootOfUnity } from '../../cpu/ntt/domain.ts'
import { BufferSet } from '../buffer-set.ts'
import type { Commands } from '../commands.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR, packMontgomery } from '../prelude/digit-field.ts'

const PASS_BITS = 8
export const ELEMENT_BYTES = 32

const passKernel: Kernel = {
  name: 'ntt pass',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/element.wgsl', 'ntt/pass.wgsl'],
  entry: 'ntt_pass',
  bindings: ['read_write', 'read', 'uniform'],
}
const powersKernel: Kernel = {
  name: 'powers',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/powers.wgsl'],
  entry: 'make_powers',
  bindings: ['read', 'read_write', 'uniform'],
}

export const TRANSFORM_KERNELS: readonly Kernel[] = [passKernel, powersKernel]

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
    square = (square * square) % FR.modulus
  }
  await gpu.prepare([powersKernel])
  const squares = await gpu.allocate(words.byteLength, 'squares')
  try {
    const powers = await gpu.allocate(count * ELEMENT_BYTES, label)
    await gpu.upload(squares, 0, new Uint8Array(words.buffer))
    await gpu
      .commands(label)
      .dispatch(powersKernel, { buffers: [squares, powers], params: [count, bits], workgroups: Math.ceil(count / 64) })
      .submit()
    return powers
  } finally {
    gpu.release(squares)
  }
}

/** The domain of 2^log2 points, with the powers of its root on the device. */
export class Domain {
  readonly log2: number
  readonly #set: BufferSet
  readonly #roots: GPUBuffer

  private constructor(log2: number, set: BufferSet, roots: GPUBuffer) {
    this.log2 = log2
    this.#set = set
    this.#roots = roots
  }

  static async create(gpu: Gpu, log2: number): Promise<Domain> {
    await gpu.prepare(TRANSFORM_KERNELS)
    const set = new BufferSet(gpu)
    const roots = await powersOf(gpu, rootOfUnity(log2), 1n, Math.max(1, 2 ** (log2 - 1)), 'roots of unity')
    set.own({ release: () => gpu.release(roots) })
    return new Domain(log2, set, roots)
  }

  /** Levels of each pass, as equal as they can be. */
  get #passes(): readonly { readonly level: number; readonly bits: number }[] {
    const count = Math.ceil(this.log2 / PASS_BITS)
    const passes: { level: number; bits: number }[] = []
    for (let level = 0, left = count; left > 0; left--) {
      const bits = Math.ceil((this.log2 - level) / left)
      passes.push({ level, bits })
      level += bits
    }
    return passes
  }

  /** Values in natural order to 2^log2 times their coefficients in bit-reversed order. `plain`: values are unsigned integers. */
  recordAnalysis(commands: Commands, elements: GPUBuffer, plain = false): void {
    for (const [i, { level, bits }] of this.#passes.entries()) {
      this.#record(commands, elements, [this.log2, level, bits, 0, 1, plain && i === 0 ? 1 : 0], bits)
    }
  }

  /** Coefficients in bit-reversed order to values in natural order. */
  recordSynthesis(commands: Commands, elements: GPUBuffer): void {
    for (const { level, bits } of [...this.#passes].reverse()) {
      this.#record(commands, elements, [this.log2, level, bits, 1, 0, 0], bits)
    }
  }

  #record(commands: Commands, elements: GPUBuffer, params: readonly number[], bits: number): void {
    // 2^(log2 − bits) columns, 2^(8 − bits) a workgroup.
    const workgroups = Math.ceil(2 ** (this.log2 - PASS_BITS))
    commands.dispatch(passKernel, { buffers: [elements, this.#roots], params, workgroups: bits === 0 ? 0 : workgroups })
  }

  release(): void {
    this.#set.release()
  }
}
