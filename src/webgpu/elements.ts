/**
 * Scalars on the device, 32 bytes each, spread over shards that each fit a binding. All shards but the last hold
 * 2^{@link Elements.shardLog2} elements, so that an element's shard is the top bits of its index. A kernel that reads
 * anywhere gets all of them, at most {@link MAX_SHARDS}; one that works along the index gets one shard a dispatch.
 */
import { allocationBytes } from './allocation.ts'
import type { Commands } from './commands.ts'
import type { Gpu } from './gpu.ts'

/** Bytes of a scalar. */
export const ELEMENT_BYTES = 32

/**
 * Shards that a kernel binds at once: with as many tables and results, what the default limit of 8 storage buffers
 * allows.
 */
export const MAX_SHARDS = 4

/** Consecutive elements within one shard. */
export interface ShardRange {
  readonly buffer: GPUBuffer
  /** Number of the first one within the shard. */
  readonly first: number
  readonly count: number
  /** How many of the range asked for come before it. */
  readonly at: number
}

/** How elements are spread: what a kernel that reads all of them is composed for. */
export interface ShardLayout {
  readonly shards: number
  /** log2 of the elements of each shard but the last. */
  readonly log2: number
}

/** Elements in one buffer. */
export const ONE_SHARD: ShardLayout = { shards: 1, log2: 0 }

/** log2 of the elements that one binding holds. */
export const shardLog2 = ({ bindingBytes }: Pick<Gpu, 'bindingBytes'>): number =>
  Math.floor(Math.log2(bindingBytes / ELEMENT_BYTES))

/** How `count` elements are spread on a device. */
export function layoutOf(gpu: Pick<Gpu, 'bindingBytes'>, count: number): ShardLayout {
  const log2 = shardLog2(gpu)
  const shards = Math.max(1, Math.ceil(count / 2 ** log2))
  return shards === 1 ? ONE_SHARD : { shards, log2 }
}

/** Bytes that so many elements take as they are allocated. */
export function elementsBytes(gpu: Pick<Gpu, 'bindingBytes'>, count: number): number {
  const { shards, log2 } = layoutOf(gpu, count)
  if (shards === 1) return allocationBytes(Math.max(1, count) * ELEMENT_BYTES)
  const full = 2 ** log2
  return (
    (shards - 1) * allocationBytes(full * ELEMENT_BYTES) +
    allocationBytes((count - (shards - 1) * full) * ELEMENT_BYTES)
  )
}

/** Scalars on the device, over as many shards as bindings ask for. */
export class Elements {
  readonly count: number
  readonly shardLog2: number
  readonly shards: readonly GPUBuffer[]
  readonly #gpu: Gpu

  private constructor(gpu: Gpu, count: number, log2: number, shards: readonly GPUBuffer[]) {
    this.#gpu = gpu
    this.count = count
    this.shardLog2 = log2
    this.shards = shards
  }

  /**
   * Room for `count` elements; what they hold is undefined.
   * @throws {GpuOutOfMemoryError} nothing is kept then
   */
  static async allocate(gpu: Gpu, count: number, label: string): Promise<Elements> {
    const log2 = shardLog2(gpu)
    const shards: GPUBuffer[] = []
    try {
      for (let first = 0; first < count || first === 0; first += 2 ** log2) {
        const size = Math.min(2 ** log2, Math.max(1, count - first))
        shards.push(await gpu.allocate(size * ELEMENT_BYTES, `${label} ${shards.length}`))
      }
    } catch (error) {
      for (const shard of shards) gpu.release(shard)
      throw error
    }
    return new Elements(gpu, count, log2, shards)
  }

  get layout(): ShardLayout {
    return layoutOf(this.#gpu, this.count)
  }

  /** Elements in shard `k`. */
  shardCount(k: number): number {
    return Math.min(2 ** this.shardLog2, this.count - k * 2 ** this.shardLog2)
  }

  /** The parts of a range that lie in one shard each. */
  ranges(first: number, count: number): ShardRange[] {
    const size = 2 ** this.shardLog2
    const ranges: ShardRange[] = []
    for (let at = 0; at < count; ) {
      const within = (first + at) % size
      const part = Math.min(count - at, size - within)
      const buffer = this.shards[Math.floor((first + at) / size)] as GPUBuffer
      ranges.push({ buffer, first: within, count: part, at })
      at += part
    }
    return ranges
  }

  /** Copies elements `first` up to `first + count` to where others begin: elements, or one buffer. */
  recordCopy(commands: Commands, first: number, count: number, to: Elements | GPUBuffer, toFirst: number): void {
    for (const { buffer, first: within, count: part, at } of this.ranges(first, count)) {
      const targets =
        to instanceof Elements
          ? to.ranges(toFirst + at, part)
          : [{ buffer: to, first: toFirst + at, count: part, at: 0 }]
      for (const target of targets) {
        const from = (within + target.at) * ELEMENT_BYTES
        commands.copy(buffer, from, target.buffer, target.first * ELEMENT_BYTES, target.count * ELEMENT_BYTES)
      }
    }
  }

  /** Fills elements `first` up to `first + count` with zeros. */
  recordClear(commands: Commands, first: number, count: number): void {
    for (const { buffer, first: within, count: part } of this.ranges(first, count))
      commands.clear(buffer, within * ELEMENT_BYTES, part * ELEMENT_BYTES)
  }

  release(): void {
    for (const shard of this.shards) this.#gpu.release(shard)
  }
}
