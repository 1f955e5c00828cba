/**
 * The quotient h = (A · B − C) / (x^m − 1) from the rows a and b of a satisfied assignment, with six transforms:
 * h = (D − c) / (g^m − 1) by coefficients, where D has the values a · b on the coset g⟨ω⟩ and c the values a∘b on the domain.
 *
 * Factors that the kernels leave are gathered in two constants. Analysis gives m times the coefficients; `multiply` gives a · b / R. With
 * a, b scaled by g^i / m, the last analysis yields m · D_i g^i / R, and that of a∘b yields m · c_i / R.
 */
import { COSET_GENERATOR, vanishingOnCoset } from '../../cpu/ntt/domain.ts'
import { frInv, frMul } from '../../field/fr.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR, montgomeryFactor, packMontgomery } from '../prelude/digit-field.ts'
import { Domain, ELEMENT_BYTES, powersOf, TRANSFORM_KERNELS } from './transform.ts'

const multiplyKernel: Kernel = {
  name: 'multiply',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/multiply.wgsl'],
  entry: 'multiply',
  bindings: ['read', 'read', 'read_write', 'uniform'],
}
const scaleKernel: Kernel = {
  name: 'coset scale',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/coset-scale.wgsl'],
  entry: 'coset_scale',
  bindings: ['read_write', 'read', 'uniform'],
}
const quotientKernel: Kernel = {
  name: 'quotient',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/quotient.wgsl'],
  entry: 'quotient_coefficients',
  bindings: ['read', 'read', 'read', 'read', 'read_write', 'uniform'],
}

export const QUOTIENT_KERNELS: readonly Kernel[] = [multiplyKernel, scaleKernel, quotientKernel, ...TRANSFORM_KERNELS]

/** Tables for quotients on one domain, shared by all partitions of a circuit: roots, powers of g and of 1/g, one constant. */
export class QuotientDomain {
  readonly log2: number
  readonly #gpu: Gpu
  readonly #set: BufferSet
  readonly #domain: Domain
  readonly #shifts: GPUBuffer
  readonly #factors: GPUBuffer
  readonly #constant: GPUBuffer

  private constructor(gpu: Gpu, domain: Domain, set: BufferSet, tables: readonly [GPUBuffer, GPUBuffer, GPUBuffer]) {
    this.#gpu = gpu
    this.log2 = domain.log2
    this.#domain = domain
    this.#set = set
    ;[this.#shifts, this.#factors, this.#constant] = tables
  }

  static async create(gpu: Gpu, log2: number): Promise<QuotientDomain> {
    await gpu.prepare(QUOTIENT_KERNELS)
    const set = new BufferSet(gpu)
    try {
      const domain = set.own(await Domain.create(gpu, log2))
      const m = 2 ** log2
      const table = async (base: bigint, scale: bigint, label: string): Promise<GPUBuffer> => {
        const buffer = await powersOf(gpu, base, scale, m, label)
        set.own({ release: () => gpu.release(buffer) })
        return buffer
      }
      const inverseSize = frInv(BigInt(m))
      // Undoes m / R and divides by g^m − 1.
      const last = frMul(frMul(inverseSize, montgomeryFactor(FR) % FR.modulus), frInv(vanishingOnCoset(log2)))
      const shifts = await table(COSET_GENERATOR, inverseSize, 'powers of g')
      const factors = await table(frInv(COSET_GENERATOR), last, 'powers of 1/g')
      const constant = await set.allocate(ELEMENT_BYTES, 'constant')
      await gpu.upload(constant, 0, new Uint8Array(packMontgomery(last, FR).buffer))
      return new QuotientDomain(gpu, domain, set, [shifts, factors, constant])
    } catch (error) {
      set.release()
      throw error
    }
  }

  /**
   * @param a rows a as plain integers, zeros behind them up to m; spoilt
   * @param b likewise; receives h as plain integers in natural order, the last one 0
   */
  async compute(a: GPUBuffer, b: GPUBuffer, run: Run): Promise<void> {
    const gpu = this.#gpu
    const m = 2 ** this.log2
    const workgroups = Math.ceil(m / 64)
    const set = new BufferSet(gpu)
    try {
      const c = await set.allocate(m * ELEMENT_BYTES, 'products on the domain')
      const d = await set.allocate(m * ELEMENT_BYTES, 'products on the coset')
      const exact = (buffer: GPUBuffer) => ({ buffer, offset: 0, size: m * ELEMENT_BYTES })
      const first = gpu
        .commands('products on the domain')
        .dispatch(multiplyKernel, { buffers: [exact(a), exact(b), exact(c)], params: [m, 1], workgroups })
      this.#domain.recordAnalysis(first, c)
      await first.submit()
      run.unit(1 / 6)
      for (const [i, rows] of [a, b].entries()) {
        run.signal.throwIfAborted()
        const commands = gpu.commands('rows to the coset')
        this.#domain.recordAnalysis(commands, rows, true)
        commands.dispatch(scaleKernel, { buffers: [rows, this.#shifts], params: [this.log2], workgroups })
        this.#domain.recordSynthesis(commands, rows)
        await commands.submit()
        run.unit((3 + 2 * i) / 6)
      }
      run.signal.throwIfAborted()
      const last = gpu
        .commands('quotient')
        .dispatch(multiplyKernel, { buffers: [exact(a), exact(b), exact(d)], params: [m, 0], workgroups })
      this.#domain.recordAnalysis(last, d)
      last.dispatch(quotientKernel, {
        buffers: [d, c, this.#factors, this.#constant, b],
        params: [this.log2],
        workgroups,
      })
      await last.submit()
      run.unit(1)
    } finally {
      set.release()
    }
  }

  release(): void {
    this.#set.release()
  }
}
