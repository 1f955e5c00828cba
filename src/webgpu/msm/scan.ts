/** Exclusive prefix sums of u32 values on the device: blocks of 1,024, level by level. */
import { BufferSet } from '../buffer-set.ts'
import type { Commands } from '../commands.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'

/** Values that a workgroup scans. */
export const BLOCK = 1024

const scanKernel: Kernel = {
  name: 'scan',
  fields: [],
  parts: ['invocation.wgsl', 'msm/block-scan.wgsl', 'msm/scan.wgsl'],
  entry: 'scan_blocks',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}
const addKernel: Kernel = {
  name: 'scan add',
  fields: [],
  parts: ['invocation.wgsl', 'msm/scan-add.wgsl'],
  entry: 'add_blocks',
  bindings: ['read_write', 'read', 'uniform'],
}

/** What a scan dispatches. */
export const SCAN_KERNELS: readonly Kernel[] = [scanKernel, addKernel]

/** Bytes of the buffers for scans of up to `count` values. */
export function scanBytes(count: number): number {
  const blocks = Math.ceil(count / BLOCK)
  return 8 * blocks + (blocks <= 1 ? 0 : scanBytes(blocks))
}

/** Buffers of the upper levels for scans of up to `count` values. */
export class Scan {
  readonly #set: BufferSet
  /** Of each level: its blocks' totals, and their prefix sums. */
  readonly #levels: readonly { readonly totals: GPUBuffer; readonly offsets: GPUBuffer }[]

  private constructor(set: BufferSet, levels: readonly { readonly totals: GPUBuffer; readonly offsets: GPUBuffer }[]) {
    this.#set = set
    this.#levels = levels
  }

  static async create(gpu: Gpu, count: number): Promise<Scan> {
    const levels: { totals: GPUBuffer; offsets: GPUBuffer }[] = []
    const set = new BufferSet(gpu)
    try {
      for (let blocks = Math.ceil(count / BLOCK); ; blocks = Math.ceil(blocks / BLOCK)) {
        levels.push({
          totals: await set.allocate(4 * blocks, 'block totals'),
          offsets: await set.allocate(4 * blocks, 'block offsets'),
        })
        if (blocks === 1) return new Scan(set, levels)
      }
    } catch (error) {
      set.release()
      throw error
    }
  }

  /** Records sums[i] = values[0] + … + values[i − 1] for i < count. */
  record(commands: Commands, values: GPUBuffer, sums: GPUBuffer, count: number, level = 0): void {
    const { totals, offsets } = this.#levels[level] as { totals: GPUBuffer; offsets: GPUBuffer }
    const blocks = Math.ceil(count / BLOCK)
    commands.dispatch(scanKernel, { buffers: [values, sums, totals], params: [count], workgroups: blocks })
    if (blocks === 1) return
    this.record(commands, totals, offsets, blocks, level + 1)
    commands.dispatch(addKernel, { buffers: [sums, offsets], params: [count], workgroups: Math.ceil(count / 256) })
  }

  release(): void {
    this.#set.release()
  }
}
