/**
 * Transforms over Fr on the device, in place. Analysis (values to coefficients) takes natural order to bit-reversed order, synthesis
 * the other way, so that no permutation is needed between the two.
 *
 * A pass does up to 8 radix-2 levels in workgroup memory (10 KiB): half a multiplication an element a level, one read and one
 * write of 32 bytes an element. Elements are packed plain values; roots are in Montgomery form, so products stay plain.
 *
 * Where the elements take several shards, one pass that binds all of them does the first levels (the last ones of a synthesis); what is left
 * are blocks that each lie in one shard.
 */
import { rootOfUnity } from '../../cpu/ntt/domain.ts'
import { BufferSet } from '../buffer-set.ts'
import { layoutOf, ONE_SHARD, type ShardLayout } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR } from '../prelude/digit-field.ts'
import { shardsName, shardsOverrides, shardsWgsl } from '../prelude/shards-wgsl.ts'
import { FR_MULTIPLICATIONS, type Step } from '../step.ts'
import { powersKernel, powersOf } from './powers.ts'

const PASS_BITS = 8
/** Roots of the transform in workgroup memory, as many as it has elements. */
export const SMALL_ROOTS: number = 2 ** PASS_BITS
/**
 * Order of the largest table of roots where a polynomial takes several shards: 256 MiB. Above it a root costs a second multiplication, in three
 * of the levels of 2^27 elements.
 */
const MOST_ROOTS_LOG2 = 24

/** The pass over all elements at once, which may take several shards. */
function passKernel(layout: ShardLayout): Kernel {
  const { shards } = layout
  const roots = shards === 1 ? 2 : 3
  return {
    name: shardsName('ntt pass', layout),
    fields: [{ field: FR }],
    generated: [
      shardsWgsl(layout, [{ name: 'element', access: 'read_write', binding: roots }]),
      `@group(0) @binding(${roots + shards}) var<uniform> params: PassParams;\n`,
    ].join(''),
    parts: [
      'invocation.wgsl',
      shards === 1 ? 'ntt/pass-roots.wgsl' : 'ntt/pass-fine-roots.wgsl',
      'ntt/element.wgsl',
      'ntt/pass.wgsl',
    ],
    entry: 'ntt_pass',
    bindings: [...Array(roots).fill('read'), ...Array(shards).fill('read_write'), 'uniform'],
    ...shardsOverrides(layout),
  }
}

const blockPass = passKernel(ONE_SHARD)

/** What transforms of one shard dispatch. */
export const TRANSFORM_KERNELS: readonly Kernel[] = [blockPass, powersKernel]

/** How the levels of a transform are spread over passes. */
export interface TransformPlan {
  /** Levels of the pass over all shards; 0 if there is one shard. */
  readonly topBits: number
  /** Passes over a shard, by their first level within it. */
  readonly passes: readonly { readonly level: number; readonly bits: number }[]
  /** The table of roots is that of 2^rootsLog2 elements. */
  readonly rootsLog2: number
}

/**
 * As few passes as there can be, all but the first as equal as they can be.
 * @param mostRootsLog2 order of the largest table of roots where there are several shards
 */
export function planTransform(
  log2: number,
  { shards, log2: shardLog2 }: ShardLayout,
  mostRootsLog2: number = MOST_ROOTS_LOG2,
): TransformPlan {
  let topBits = 0
  if (shards > 1)
    topBits = Math.max(log2 - shardLog2, log2 - PASS_BITS * Math.ceil(Math.max(0, log2 - PASS_BITS) / PASS_BITS))
  const blockLog2 = log2 - topBits
  const end = shards > 1 ? shardLog2 : log2
  const passes: { level: number; bits: number }[] = []
  for (let level = end - blockLog2; level < end; ) {
    const bits = Math.ceil((end - level) / Math.ceil((end - level) / PASS_BITS))
    passes.push({ level, bits })
    level += bits
  }
  // Half as many powers as the order says: a shard holds those of twice its size.
  const rootsLog2 = shards === 1 ? log2 : Math.max(blockLog2, Math.min(shardLog2 + 1, mostRootsLog2))
  return { topBits, passes, rootsLog2 }
}

/** The domain of 2^log2 points, with powers of its root on the device. */
export class Domain {
  readonly log2: number
  readonly layout: ShardLayout
  readonly #plan: TransformPlan
  readonly #set: BufferSet
  readonly #topPass: Kernel
  readonly #roots: GPUBuffer
  readonly #smallRoots: GPUBuffer
  /** The few powers between those of the table, where a root may be of higher order. */
  readonly #fineRoots: GPUBuffer | undefined

  private constructor(
    log2: number,
    layout: ShardLayout,
    plan: TransformPlan,
    set: BufferSet,
    roots: {
      readonly roots: GPUBuffer
      readonly smallRoots: GPUBuffer
      readonly fineRoots: GPUBuffer | undefined
    },
  ) {
    this.log2 = log2
    this.layout = layout
    this.#plan = plan
    this.#set = set
    this.#topPass = passKernel(layout)
    this.#roots = roots.roots
    this.#smallRoots = roots.smallRoots
    this.#fineRoots = roots.fineRoots
  }

  /** @param mostRootsLog2 order of the largest table of roots where the elements take several shards */
  static async create(gpu: Gpu, log2: number, mostRootsLog2?: number): Promise<Domain> {
    const layout = layoutOf(gpu, 2 ** log2)
    await gpu.prepare([...TRANSFORM_KERNELS, passKernel(layout)])
    const plan = planTransform(log2, layout, mostRootsLog2)
    const { rootsLog2 } = plan
    const set = new BufferSet(gpu)
    const table = async (order: number, count: number): Promise<GPUBuffer> => {
      const buffer = await powersOf(gpu, rootOfUnity(order), 1n, count, 'roots of unity')
      set.own({ release: () => gpu.release(buffer) })
      return buffer
    }
    try {
      const roots = await table(rootsLog2, Math.max(1, 2 ** (rootsLog2 - 1)))
      const smallRoots = await table(PASS_BITS, SMALL_ROOTS)
      const fineRoots = layout.shards === 1 ? undefined : await table(log2, 2 ** (log2 - rootsLog2))
      return new Domain(log2, layout, plan, set, { roots, smallRoots, fineRoots })
    } catch (error) {
      set.release()
      throw error
    }
  }

  /**
   * Values in natural order to 2^log2 times their coefficients in bit-reversed order.
   * @param plain values are unsigned integers
   */
  analysis(shards: readonly GPUBuffer[], plain = false): Step[] {
    const first = plain ? 1 : 0
    const { topBits, passes } = this.#plan
    const steps = this.#top(shards, [0, 1, first])
    for (const [i, pass] of passes.entries()) {
      for (const shard of shards) steps.push(this.#pass(shard, pass, [0, 1, i === 0 && topBits === 0 ? first : 0]))
    }
    return steps
  }

  /** Coefficients in bit-reversed order to values in natural order. */
  synthesis(shards: readonly GPUBuffer[]): Step[] {
    const steps: Step[] = []
    for (const pass of [...this.#plan.passes].reverse()) {
      for (const shard of shards) steps.push(this.#pass(shard, pass, [1, 0, 0]))
    }
    return [...steps, ...this.#top(shards, [1, 0, 0])]
  }

  /** @param flags in time, inverse, plain */
  #pass(shard: GPUBuffer, { level, bits }: { level: number; bits: number }, flags: readonly number[]): Step {
    const log2 = this.layout.shards === 1 ? this.log2 : this.layout.log2
    return {
      kernel: blockPass,
      buffers: [this.#roots, this.#smallRoots, shard],
      params: [log2, level, bits, ...flags, this.#plan.rootsLog2, 0, 2, 4],
      // 2^(log2 − bits) columns, 2^(8 − bits) a workgroup.
      workgroups: Math.ceil(2 ** (log2 - PASS_BITS)),
      work: passWork(2 ** log2, bits),
    }
  }

  /** The pass over all shards, as one dispatch a shard's worth of columns. */
  #top(shards: readonly GPUBuffer[], flags: readonly number[]): Step[] {
    const bits = this.#plan.topBits
    if (bits === 0 || this.#fineRoots === undefined) return []
    const workgroups = Math.ceil(2 ** (this.log2 - PASS_BITS))
    const parts = Math.min(shards.length, workgroups)
    const buffers = [this.#roots, this.#smallRoots, this.#fineRoots, ...shards]
    return Array.from({ length: parts }, (_, k) => ({
      kernel: this.#topPass,
      buffers,
      params: [this.log2, 0, bits, ...flags, this.#plan.rootsLog2, (k * workgroups) / parts, 2, 4],
      workgroups: workgroups / parts,
      work: 2 * passWork(2 ** this.log2 / parts, bits),
    }))
  }

  release(): void {
    this.#set.release()
  }
}

const passWork = (elements: number, bits: number): number => (elements * (bits / 2 + 1)) / FR_MULTIPLICATIONS
