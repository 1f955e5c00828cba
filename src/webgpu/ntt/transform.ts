/**
 * Transforms over Fr on the device, in place. Analysis (values to coefficients) takes natural order to bit-reversed
 * order, synthesis the other way, so that no permutation is needed between the two.
 *
 * A round does two radix-2 levels, a thread on four elements in registers: one multiplication, one read and one write
 * of 32 bytes an element. Elements are packed plain values; roots are in Montgomery form, so products stay plain. Roots
 * come from two small tables: levels go in groups, whose own roots one table has, and between two groups an element
 * takes two more multiplications.
 *
 * Where the elements take several shards, the round that joins them binds all of them; the others work within one.
 */
import { rootOfUnity } from '../../cpu/ntt/domain.ts'
import { BufferSet } from '../buffer-set.ts'
import { layoutOf, ONE_SHARD, type ShardLayout } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR } from '../prelude/digit-field.ts'
import { shardsName, shardsWgsl } from '../prelude/shards-wgsl.ts'
import { FR_MULTIPLICATIONS, type Step } from '../step.ts'
import { powersKernel, powersOf } from './powers.ts'

/** Levels of a group at most, even: 2^14 roots are 512 KiB, which caches hold. */
const MOST_GROUP_BITS = 14

type Direction = 'frequency' | 'time'

/** Kernels for one layout: of the rounds that end a group in frequency and begin it in time, and of the others. */
type RoundKernels = Readonly<Record<Direction, { readonly last: Kernel; readonly other: Kernel }>>

function roundKernels(layout: ShardLayout): RoundKernels {
  const { shards } = layout
  const kernel = (direction: Direction, name: string, roots: number, part: string): Kernel => ({
    name: shardsName(`ntt ${name}`, layout),
    fields: [{ field: FR }],
    generated: [
      `const IN_TIME = ${direction === 'time'};\n`,
      shardsWgsl(layout, [{ name: 'element', access: 'read_write', binding: roots }]),
      `@group(0) @binding(${roots + shards}) var<uniform> params: RoundParams;\n`,
    ].join(''),
    parts: ['invocation.wgsl', 'ntt/round.wgsl', `ntt/${part}.wgsl`],
    entry: 'ntt_round',
    bindings: [...Array(roots).fill('read'), ...Array(shards).fill('read_write'), 'uniform'],
  })
  const ofDirection = (direction: Direction): { readonly last: Kernel; readonly other: Kernel } => {
    const name = `round-in-${direction}`
    return {
      last: kernel(direction, `last-${name}`, 2, 'last-round'),
      other: kernel(direction, name, 1, name),
    }
  }
  return { frequency: ofDirection('frequency'), time: ofDirection('time') }
}

const all = (kernels: RoundKernels): Kernel[] => Object.values(kernels).flatMap(({ last, other }) => [last, other])

const WITHIN_SHARD = roundKernels(ONE_SHARD)

/** What transforms of one shard dispatch. */
export const TRANSFORM_KERNELS: readonly Kernel[] = [...all(WITHIN_SHARD), powersKernel]

/** Levels that share a small table of roots. */
interface Group {
  /** The first one. */
  readonly level: number
  readonly bits: number
}

/** How the levels of a transform are grouped. */
export interface TransformPlan {
  readonly groups: readonly Group[]
  /**
   * The small table has the roots of unity of order 2^rootsLog2, another one the 2^(log2 − rootsLog2) powers of the
   * domain's root below these.
   */
  readonly rootsLog2: number
}

/**
 * As few groups as there can be, all but the last of an even number of levels, so that one round at most has a single
 * one.
 */
export function planTransform(log2: number, mostGroupBits: number = MOST_GROUP_BITS): TransformPlan {
  const groups: Group[] = []
  for (let level = 0, left = Math.ceil(log2 / mostGroupBits); left > 0; left--) {
    const rest = log2 - level
    const bits = Math.min(rest, 2 * Math.ceil(rest / left / 2))
    groups.push({ level, bits })
    level += bits
  }
  return { groups, rootsLog2: Math.max(...groups.map(({ bits }) => bits)) }
}

/** The domain of 2^log2 points, with powers of its root on the device. */
export class Domain {
  readonly log2: number
  readonly layout: ShardLayout
  readonly #plan: TransformPlan
  readonly #set: BufferSet
  readonly #acrossShards: RoundKernels
  readonly #roots: readonly [small: GPUBuffer, fine: GPUBuffer]

  private constructor(
    log2: number,
    layout: ShardLayout,
    plan: TransformPlan,
    set: BufferSet,
    roots: readonly [GPUBuffer, GPUBuffer],
  ) {
    this.log2 = log2
    this.layout = layout
    this.#plan = plan
    this.#set = set
    this.#acrossShards = roundKernels(layout)
    this.#roots = roots
  }

  /** @param mostGroupBits levels that share a table of roots at most, even */
  static async create(gpu: Gpu, log2: number, mostGroupBits?: number): Promise<Domain> {
    const layout = layoutOf(gpu, 2 ** log2)
    await gpu.prepare([...TRANSFORM_KERNELS, ...all(roundKernels(layout))])
    const plan = planTransform(log2, mostGroupBits)
    const { rootsLog2 } = plan
    const set = new BufferSet(gpu)
    const table = async (order: number, count: number): Promise<GPUBuffer> => {
      const buffer = await powersOf(gpu, rootOfUnity(order), 1n, count, 'roots of unity')
      set.own({ release: () => gpu.release(buffer) })
      return buffer
    }
    try {
      const roots = [await table(rootsLog2, 2 ** rootsLog2), await table(log2, 2 ** (log2 - rootsLog2))] as const
      return new Domain(log2, layout, plan, set, roots)
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
    return this.#rounds().flatMap((round, i) => this.#steps('frequency', shards, round, i === 0 && plain))
  }

  /** Coefficients in bit-reversed order to values in natural order. */
  synthesis(shards: readonly GPUBuffer[]): Step[] {
    return this.#rounds()
      .reverse()
      .flatMap((round) => this.#steps('time', shards, round, false))
  }

  /** First levels of all rounds within their groups. */
  #rounds(): (Group & { readonly round: number })[] {
    return this.#plan.groups.flatMap((group) =>
      Array.from({ length: Math.ceil(group.bits / 2) }, (_, k) => ({ ...group, round: 2 * k })),
    )
  }

  /** A round: a dispatch a shard, or as many over all shards where a thread's elements lie in several. */
  #steps(
    direction: Direction,
    shards: readonly GPUBuffer[],
    { level, bits, round }: Group & { readonly round: number },
    plain: boolean,
  ): Step[] {
    const { log2, layout } = this
    const { rootsLog2 } = this.#plan
    const last = round + 2 >= bits
    const between = last && level + bits < log2 ? 2 : 0
    const single = round + 1 === bits
    const logSpan = log2 - level - (single ? bits - 2 : round)
    const across = shards.length > 1 && logSpan > layout.log2
    const threads = Math.ceil(2 ** (log2 - 2) / shards.length)
    return shards.map((shard, k) => ({
      kernel: (across ? this.#acrossShards : WITHIN_SHARD)[direction][last ? 'last' : 'other'],
      buffers: [...(last ? this.#roots : [this.#roots[0]]), ...(across ? shards : [shard])],
      params: [
        log2,
        level,
        bits,
        round,
        plain ? 1 : 0,
        k * threads,
        threads,
        across || shards.length === 1 ? 0 : k * 2 ** layout.log2,
        rootsLog2,
        between,
        4,
      ],
      workgroups: Math.ceil(threads / 64),
      work: (4 * threads * (between + (single ? 0.5 : 1.5))) / FR_MULTIPLICATIONS,
    }))
  }

  release(): void {
    this.#set.release()
  }
}
