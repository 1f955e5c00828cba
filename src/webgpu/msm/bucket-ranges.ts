/** Where the entries of each bucket lie in a round, and where their pairs will. */
import type { BufferSet } from '../buffer-set.ts'
import type { Commands } from '../commands.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { BLOCK, SCAN_KERNELS, Scan } from './scan.ts'

const kernel = (name: string, entry: string): Kernel => ({
  name,
  fields: [],
  parts: ['invocation.wgsl', 'msm/after-round.wgsl', 'msm/block-scan.wgsl', 'msm/bucket-ranges.wgsl'],
  entry,
  bindings: ['read', 'read_write', 'read_write', 'read_write', 'uniform'],
})
const scanKernel = kernel('bucket scan', 'bucket_scan')
const rangesKernel = kernel('bucket ranges', 'bucket_ranges')

/** What ranges dispatch. */
export const BUCKET_RANGES_KERNELS: readonly Kernel[] = [scanKernel, rangesKernel, ...SCAN_KERNELS]

/** Where each bucket's entries begin and end, round by round. */
export class BucketRanges {
  /** Of each bucket: start and number of its entries, start and number of its pairs. */
  readonly ranges: GPUBuffer
  readonly #counts: GPUBuffer
  readonly #partialSums: GPUBuffer
  readonly #totals: GPUBuffer
  readonly #offsets: GPUBuffer
  readonly #scan: Scan

  private constructor(counts: GPUBuffer, buffers: readonly GPUBuffer[], scan: Scan) {
    this.#counts = counts
    ;[this.ranges, this.#partialSums, this.#totals, this.#offsets] = buffers as [
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
    ]
    this.#scan = scan
  }

  /**
   * @param set owns the buffers made here
   * @param counts entries of the buckets of all windows
   * @param bytes sizes of the buffers for the buckets of all windows
   */
  static async create(
    gpu: Gpu,
    set: BufferSet,
    counts: GPUBuffer,
    bytes: { readonly ranges: number; readonly partialSums: number },
  ): Promise<BucketRanges> {
    const blocks = Math.ceil(bytes.partialSums / 4 / BLOCK)
    const buffers = [
      await set.allocate(bytes.ranges, 'bucket ranges'),
      await set.allocate(bytes.partialSums, 'sums within blocks'),
      await set.allocate(4 * blocks, 'block totals'),
      await set.allocate(4 * blocks, 'block offsets'),
    ]
    return new BucketRanges(counts, buffers, set.own(await Scan.create(gpu, blocks)))
  }

  /** Records the start: the first round's entries, of `buckets` buckets from number `first` on. */
  recordFirst(commands: Commands, first: number, buckets: number): void {
    this.#record(commands, [buckets, first, 1, 0])
  }

  /**
   * Records the step to the next round: what were pairs are its entries.
   * @param base number of the first pair
   */
  recordNext(commands: Commands, first: number, buckets: number, base: number): void {
    this.#record(commands, [buckets, first, 0, base])
  }

  #record(commands: Commands, params: [buckets: number, first: number, initial: number, base: number]): void {
    const [buckets] = params
    const blocks = Math.ceil(buckets / BLOCK)
    const [counts, ranges, sums] = [this.#counts, this.ranges, this.#partialSums]
    commands.dispatch(scanKernel, { buffers: [counts, ranges, sums, this.#totals], params, workgroups: blocks })
    this.#scan.record(commands, this.#totals, this.#offsets, blocks)
    commands.dispatch(rangesKernel, {
      buffers: [counts, ranges, sums, this.#offsets],
      params,
      workgroups: Math.ceil(buckets / 256),
    })
  }
}
