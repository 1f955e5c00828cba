/**
 * The scalars of the queries a and b: some of the inputs, then the aux variables whose bit is set. A list of their
 * places would be half a gigabyte for 130 million; the bits are 16 MB, and with the number of bits before each block
 * the device finds any range's places.
 */
import { countBits } from '../../circuit/bit-array.ts'
import type { BitArray } from '../../circuit/shape.ts'
import { BufferSet } from '../buffer-set.ts'
import type { Commands } from '../commands.ts'
import type { Elements } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'

/** Bits of a block; wgsl/rows/gather.wgsl has the same. */
const BLOCK_BITS = 1024
const BLOCK_WORDS = BLOCK_BITS / 32
const BLOCK_BYTES = BLOCK_BITS / 8

/** Blocks of so many bits. */
export const densityBlocks = (bits: number): number => Math.max(1, Math.ceil(bits / BLOCK_BITS))

/** Bytes of the bits on the device, and of the directory. */
export const densityBytes = (bits: number): readonly [number, number] => [
  densityBlocks(bits) * BLOCK_BYTES,
  densityBlocks(bits) * 4,
]

/** On the device, which variables have a point in a query. */
export class DenseValues {
  /** Bits before each block, then all. */
  readonly #ranks: Uint32Array
  readonly #inputs: number
  readonly #firstAux: number
  readonly #bits: GPUBuffer
  readonly #directory: GPUBuffer
  readonly #set: BufferSet

  private constructor(
    host: { readonly ranks: Uint32Array; readonly inputs: number; readonly firstAux: number },
    bits: GPUBuffer,
    directory: GPUBuffer,
    set: BufferSet,
  ) {
    this.#ranks = host.ranks
    this.#inputs = host.inputs
    this.#firstAux = host.firstAux
    this.#bits = bits
    this.#directory = directory
    this.#set = set
  }

  /**
   * @param inputs how many of the inputs the query begins with
   * @param firstAux place in z of the aux variable of bit 0
   * @param count aux variables
   */
  static async load(
    gpu: Gpu,
    dense: BitArray,
    places: { readonly inputs: number; readonly firstAux: number; readonly count: number },
    label: string,
  ): Promise<DenseValues> {
    const { inputs, firstAux, count } = places
    const ranks = rankDirectory(dense, count)
    const [bitBytes, directoryBytes] = densityBytes(count)
    const set = new BufferSet(gpu)
    try {
      const bits = await set.allocate(bitBytes, `density of ${label}`)
      await gpu.upload(bits, 0, dense)
      // The last block's bits past the array's end.
      if (bitBytes > dense.byteLength)
        await gpu.upload(bits, dense.byteLength, new Uint8Array(bitBytes - dense.byteLength))
      const directory = await set.allocate(directoryBytes, `ranks of ${label}`)
      await gpu.upload(directory, 0, new Uint8Array(ranks.buffer, 0, directoryBytes))
      return new DenseValues({ ranks, inputs, firstAux }, bits, directory, set)
    } catch (error) {
      set.release()
      throw error
    }
  }

  /** Copies scalars `first` up to `first + count` of the query to the beginning of a buffer. */
  record(commands: Commands, gather: Kernel, z: Elements, first: number, count: number, scalars: GPUBuffer): void {
    const inputs = Math.max(0, Math.min(count, this.#inputs - first))
    z.recordCopy(commands, first, inputs, scalars, 0)
    if (inputs === count) return
    const firstRank = first + inputs - this.#inputs
    const firstBlock = this.#blockOf(firstRank)
    const blocks = this.#blockOf(firstRank + count - inputs - 1) - firstBlock + 1
    commands.dispatch(gather, {
      buffers: [this.#bits, this.#directory, scalars, ...z.shards],
      params: [firstBlock, blocks, firstRank, count - inputs, inputs, this.#firstAux],
      workgroups: blocks,
    })
  }

  /** The block that the set bit of a rank lies in. */
  #blockOf(rank: number): number {
    const ranks = this.#ranks
    let [low, high] = [0, ranks.length - 1]
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if ((ranks[middle] as number) <= rank) low = middle
      else high = middle
    }
    return low
  }

  release(): void {
    this.#set.release()
  }
}

/** Bits set before each block, then all of them. */
export function rankDirectory(dense: BitArray, count: number): Uint32Array {
  const words = new Uint32Array(dense.buffer, dense.byteOffset, dense.byteLength / 4)
  const blocks = densityBlocks(count)
  const ranks = new Uint32Array(blocks + 1)
  for (let block = 0; block < blocks; block++) {
    const bits = countBits(words.subarray(block * BLOCK_WORDS, (block + 1) * BLOCK_WORDS))
    ranks[block + 1] = (ranks[block] as number) + bits
  }
  return ranks
}
