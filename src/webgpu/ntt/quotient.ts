/**
 * The quotient h = (A · B − C) / (x^m − 1) from the rows a and b of a satisfied assignment, with six transforms: h = (D
 * − c) / (g^m − 1) by coefficients, where D has the values a · b on the coset g⟨ω⟩ and c the values a∘b on the domain.
 *
 * Factors that the kernels leave are gathered in two constants. Analysis gives m times the coefficients; `multiply`
 * gives a · b / R. With a, b scaled by g^i / m, the last analysis yields m · D_i g^i / R, and that of a∘b yields m ·
 * c_i / R.
 *
 * Three polynomials are in memory at once: a, b and c. D takes the place of a, then h that of b.
 */
import { COSET_GENERATOR, vanishingOnCoset } from '../../cpu/ntt/domain.ts'
import { frInv, frMul } from '../../field/fr.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import { ELEMENT_BYTES, Elements, layoutOf, ONE_SHARD, type ShardLayout } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR, montgomeryFactor, packMontgomery } from '../prelude/digit-field.ts'
import { shardsName, shardsWgsl } from '../prelude/shards-wgsl.ts'
import { FR_MULTIPLICATIONS, type Step, streamSteps } from '../step.ts'
import { UnitStream } from '../unit-stream.ts'
import { SplitPowers } from './powers.ts'
import { Domain, TRANSFORM_KERNELS } from './transform.ts'

const multiplyKernel: Kernel = {
  name: 'multiply',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/multiply.wgsl'],
  entry: 'multiply',
  bindings: ['read_write', 'read', 'uniform'],
}
const scaleKernel: Kernel = {
  name: 'coset scale',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/coset-power.wgsl', 'ntt/coset-scale.wgsl'],
  entry: 'coset_scale',
  bindings: ['read_write', 'read', 'read', 'uniform'],
}
const quotientKernel: Kernel = {
  name: 'quotient',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'ntt/coset-power.wgsl', 'ntt/quotient.wgsl'],
  entry: 'quotient_coefficients',
  bindings: ['read_write', 'read', 'read', 'read', 'read', 'uniform'],
}
const reverseKernel = (layout: ShardLayout): Kernel => ({
  name: shardsName('bit reverse', layout),
  fields: [{ field: FR, multiplication: false }],
  generated: [
    shardsWgsl(layout, [
      { name: 'source', access: 'read', binding: 0 },
      { name: 'target', access: 'read_write', binding: layout.shards },
    ]),
    `@group(0) @binding(${2 * layout.shards}) var<uniform> params: ReverseParams;\n`,
  ].join(''),
  parts: ['invocation.wgsl', 'ntt/bit-reverse.wgsl'],
  entry: 'bit_reverse',
  bindings: [...Array(layout.shards).fill('read'), ...Array(layout.shards).fill('read_write'), 'uniform'],
})
/** Elements of a tile of the last permutation: 2^4 pieces of 2^4 elements. */
const MOST_TILE_BITS = 4

const quotientKernels = (layout: ShardLayout): readonly Kernel[] => [
  multiplyKernel,
  scaleKernel,
  quotientKernel,
  reverseKernel(layout),
]

/** What quotients of one shard dispatch. */
export const QUOTIENT_KERNELS: readonly Kernel[] = [...quotientKernels(ONE_SHARD), ...TRANSFORM_KERNELS]

/**
 * Tables for quotients on one domain, shared by all partitions of a circuit: roots, powers of g and of 1/g, one
 * constant.
 */
export class QuotientDomain {
  readonly log2: number
  readonly #gpu: Gpu
  readonly #set: BufferSet
  readonly #domain: Domain
  readonly #shifts: SplitPowers
  readonly #factors: SplitPowers
  readonly #constant: GPUBuffer

  private constructor(
    gpu: Gpu,
    domain: Domain,
    set: BufferSet,
    tables: { readonly shifts: SplitPowers; readonly factors: SplitPowers; readonly constant: GPUBuffer },
  ) {
    this.#gpu = gpu
    this.log2 = domain.log2
    this.#domain = domain
    this.#set = set
    this.#shifts = tables.shifts
    this.#factors = tables.factors
    this.#constant = tables.constant
  }

  static async create(gpu: Gpu, log2: number): Promise<QuotientDomain> {
    await gpu.prepare([...QUOTIENT_KERNELS, ...quotientKernels(layoutOf(gpu, 2 ** log2))])
    const set = new BufferSet(gpu)
    try {
      const domain = set.own(await Domain.create(gpu, log2))
      const inverseSize = frInv(BigInt(2 ** log2))
      // Undoes m / R and divides by g^m − 1.
      const last = frMul(frMul(inverseSize, montgomeryFactor(FR) % FR.modulus), frInv(vanishingOnCoset(log2)))
      const shifts = set.own(await SplitPowers.create(gpu, COSET_GENERATOR, inverseSize, log2, 'powers of g'))
      const factors = set.own(await SplitPowers.create(gpu, frInv(COSET_GENERATOR), last, log2, 'powers of 1/g'))
      const constant = await set.allocate(ELEMENT_BYTES, 'constant')
      await gpu.upload(constant, 0, new Uint8Array(packMontgomery(last, FR).buffer))
      return new QuotientDomain(gpu, domain, set, { shifts, factors, constant })
    } catch (error) {
      set.release()
      throw error
    }
  }

  /**
   * @param a rows a as plain integers, zeros behind them up to m; spoilt
   * @param b likewise; receives h as plain integers in natural order, the last one 0
   */
  async compute(a: Elements, b: Elements, run: Run): Promise<void> {
    const gpu = this.#gpu
    const m = 2 ** this.log2
    const c = await Elements.allocate(gpu, m, 'products on the domain')
    try {
      const domain = this.#domain
      const steps: Step[] = [...this.#multiply(c, a, true), ...domain.analysis(c.shards)]
      for (const rows of [a, b]) {
        steps.push(...domain.analysis(rows.shards, true), ...this.#toCoset(rows), ...domain.synthesis(rows.shards))
      }
      steps.push(
        ...this.#multiply(a, b, false),
        ...domain.analysis(a.shards),
        ...this.#combine(a, c),
        ...this.#reverse(a, b),
      )
      const stream = new UnitStream(
        gpu,
        'quotient',
        run,
        steps.reduce((sum, { work }) => sum + work, 0),
      )
      b.recordCopy(stream.commands, 0, m, c, 0)
      await streamSteps(stream, steps)
      await stream.finish()
    } finally {
      c.release()
    }
  }

  /** One dispatch a shard of elements that are worked on along their index. */
  #along(
    elements: Elements,
    multiplications: number,
    dispatch: (shard: number, first: number, count: number) => Pick<Step, 'kernel' | 'buffers' | 'params'>,
  ): Step[] {
    return elements.shards.map((_, shard) => {
      const count = elements.shardCount(shard)
      return {
        ...dispatch(shard, shard * 2 ** elements.shardLog2, count),
        workgroups: Math.ceil(count / 64),
        work: (count * (multiplications + 1)) / FR_MULTIPLICATIONS,
      }
    })
  }

  #multiply(elements: Elements, factors: Elements, plain: boolean): Step[] {
    return this.#along(elements, 1, (shard, _, count) => ({
      kernel: multiplyKernel,
      buffers: [elements.shards[shard] as GPUBuffer, factors.shards[shard] as GPUBuffer],
      params: [count, plain ? 1 : 0],
    }))
  }

  #toCoset(rows: Elements): Step[] {
    const { low, high, lowBits } = this.#shifts
    return this.#along(rows, 2, (shard, first, count) => ({
      kernel: scaleKernel,
      buffers: [rows.shards[shard] as GPUBuffer, low, high],
      params: [this.log2, first, count, lowBits],
    }))
  }

  /** h in bit-reversed order, in place of D. */
  #combine(d: Elements, c: Elements): Step[] {
    const { low, high, lowBits } = this.#factors
    return this.#along(d, 3, (shard, first, count) => ({
      kernel: quotientKernel,
      buffers: [d.shards[shard] as GPUBuffer, c.shards[shard] as GPUBuffer, low, high, this.#constant],
      params: [this.log2, first, count, lowBits],
    }))
  }

  #reverse(from: Elements, to: Elements): Step[] {
    const tileBits = Math.min(MOST_TILE_BITS, Math.floor(this.log2 / 2))
    const workgroups = 2 ** (this.log2 - 2 * tileBits)
    const parts = Math.min(from.shards.length, workgroups)
    return Array.from({ length: parts }, (_, k) => ({
      kernel: reverseKernel(from.layout),
      buffers: [...from.shards, ...to.shards],
      params: [this.log2, tileBits, (k * workgroups) / parts],
      workgroups: workgroups / parts,
      work: 2 ** this.log2 / parts / FR_MULTIPLICATIONS,
    }))
  }

  release(): void {
    this.#set.release()
  }
}
