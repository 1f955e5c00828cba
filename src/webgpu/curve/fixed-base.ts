/**
 * Multiples of one base for many scalars. A table holds d · 2^(w k) · base for d = 1 … 2^(w − 1) and every window k; a
 * scalar's signed digits of w bits choose one point each, and a tree of pairs adds them up: ⌈256 / w⌉ − 1 additions a
 * scalar. The table itself is made by doubling, about one addition an entry, so that w is chosen by how many scalars
 * there are.
 *
 * 256 bits hold a scalar below r with room for a carry into the last digit.
 */
import { decodeG1, decodeG2 } from '../../curve/encoding.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { allocationBytes, ROUNDED } from '../allocation.ts'
import { BufferSet } from '../buffer-set.ts'
import { forget } from '../forget.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ, packMontgomery } from '../prelude/digit-field.ts'
import { UnitStream } from '../unit-stream.ts'
import { ADDITION_COST, BatchAffine, batchAffineBytes, type Group, POINT_BYTES } from './batch-affine.ts'
import { EXPORT_KERNEL, recordExport } from './export-points.ts'

const SCALAR_BITS = 256
const WINDOW_BITS = { least: 4, most: 20 } as const
/** Most bytes of a table: random reads must stay within what a card's address translation reaches. */
const TABLE_BYTES = 2 ** 30
/** Scalars added up together: past this size rounds are no faster. */
const MOST_SCALARS = 2 ** 20
/** Pairs of a slice of a round. */
const SLICE_PAIRS = 2 ** 21
/** Two operands. */
const PAIR_BYTES = 8

const pairsKernel = (file: string, bindings: Kernel['bindings']): Kernel => ({
  name: file.replace('-', ' '),
  fields: [],
  parts: ['invocation.wgsl', `curve/${file}.wgsl`],
  entry: file.replace('-', '_'),
  bindings,
})
const tablePairs = pairsKernel('table-pairs', ['read', 'read_write', 'uniform'])
const adjacentPairs = pairsKernel('adjacent-pairs', ['read_write', 'uniform'])
const doublingPairs = pairsKernel('doubling-pairs', ['read_write', 'uniform'])

/** What multiples dispatch besides additions of points. */
export const FIXED_BASE_KERNELS: readonly Kernel[] = [tablePairs, adjacentPairs, doublingPairs, EXPORT_KERNEL]

const windowCount = (bits: number): number => Math.ceil(SCALAR_BITS / bits)
const tableEntries = (bits: number): number => windowCount(bits) * 2 ** (bits - 1)

/** Bits of a window that take the fewest additions for so many scalars, table included. */
export function fixedBaseWindow(gpu: Pick<Gpu, 'bindingBytes'>, group: Group, scalars: number): number {
  const bytes = Math.min(TABLE_BYTES, gpu.bindingBytes)
  let best: number = WINDOW_BITS.least
  const additions = (bits: number): number => tableEntries(bits) + scalars * (windowCount(bits) - 1)
  for (let bits = best + 1; bits <= WINDOW_BITS.most; bits++) {
    if ((tableEntries(bits) + 1) * POINT_BYTES[group] > bytes) break
    if (additions(bits) < additions(best)) best = bits
  }
  return best
}

/** How many scalars there will be, and at most at once. */
export interface FixedBaseScalars {
  readonly total: number
  readonly atOnce: number
}

interface FixedBasePlan {
  /** Scalars that are added up together. */
  readonly chunk: number
  /** Entries of the table without that for the digit 0. */
  readonly entries: number
  /** Pairs of the largest round: of a chunk's first one, or of the table's last one, which is half of it. */
  readonly pairs: number
  /** Points that a chunk's second round leaves. */
  readonly second: number
}

function planFixedBase(
  gpu: Pick<Gpu, 'bindingBytes'>,
  group: Group,
  { atOnce }: FixedBaseScalars,
  bits: number,
): FixedBasePlan {
  const entries = tableEntries(bits)
  const firstRound = Math.ceil(windowCount(bits) / 2)
  const fitting = Math.max(1, Math.floor(gpu.bindingBytes / (firstRound * POINT_BYTES[group])))
  const chunk = Math.max(1, Math.min(MOST_SCALARS, atOnce, fitting))
  return {
    chunk,
    entries,
    pairs: Math.max(chunk * firstRound, entries / 2),
    second: Math.max(1, chunk * Math.ceil(firstRound / 2)),
  }
}

/** Device memory that a {@link FixedBase} takes at most, with the window that suits its scalars. */
export function fixedBaseBytes(gpu: Pick<Gpu, 'bindingBytes'>, group: Group, scalars: FixedBaseScalars): number {
  const { entries, pairs, second } = planFixedBase(gpu, group, scalars, fixedBaseWindow(gpu, group, scalars.total))
  const pointBytes = POINT_BYTES[group]
  const buffers = [(entries + 1) * pointBytes, pairs * PAIR_BYTES, pairs * pointBytes, second * pointBytes]
  const adder = batchAffineBytes(group, Math.min(SLICE_PAIRS, pairs))
  return buffers.reduce((sum, bytes) => sum + allocationBytes(bytes), Math.ceil(ROUNDED * adder))
}

interface Doubling<P> {
  double(): P
  toAffine(): { x: unknown; y: unknown }
}

/** Packed 2^(bits · k) · base for every window k. */
function windowBases(group: Group, base: Uint8Array, bits: number): Uint32Array {
  const windows = windowCount(bits)
  const words = new Uint32Array((windows * POINT_BYTES[group]) / 4)
  const fill = <P extends Doubling<P>>(first: P): void => {
    let point = first
    for (let k = 0; k < windows; k++) {
      const at = (k * POINT_BYTES[group]) / 4
      for (const [c, coordinate] of coordinates(point).entries()) {
        words.set(packMontgomery(coordinate, FQ), at + c * FQ.words)
      }
      if (k + 1 < windows) for (let i = 0; i < bits; i++) point = point.double()
    }
  }
  if (group === 'g1') fill(decodeG1(base, { subgroup: false }))
  else fill(decodeG2(base, { subgroup: false }))
  return words
}

function coordinates<P extends Doubling<P>>(point: P): bigint[] {
  const { x, y } = point.toAffine()
  return [x, y].flatMap((value) =>
    typeof value === 'bigint' ? [value] : [(value as { c0: bigint }).c0, (value as { c1: bigint }).c1],
  )
}

/** The table of a base, and what it takes to use it. */
export class FixedBase {
  readonly group: Group
  readonly #gpu: Gpu
  readonly #bits: number
  readonly #chunk: number
  readonly #set: BufferSet
  readonly #adder: BatchAffine
  readonly #table: GPUBuffer
  readonly #pairs: GPUBuffer
  readonly #sums: readonly [GPUBuffer, GPUBuffer]

  private constructor(fields: {
    gpu: Gpu
    group: Group
    bits: number
    chunk: number
    set: BufferSet
    adder: BatchAffine
    table: GPUBuffer
    pairs: GPUBuffer
    sums: readonly [GPUBuffer, GPUBuffer]
  }) {
    this.#gpu = fields.gpu
    this.group = fields.group
    this.#bits = fields.bits
    this.#chunk = fields.chunk
    this.#set = fields.set
    this.#adder = fields.adder
    this.#table = fields.table
    this.#pairs = fields.pairs
    this.#sums = fields.sums
  }

  /**
   * Makes the table.
   * @param base uncompressed big-endian, not infinity
   * @param scalars decide window and work buffers
   * @throws `run.signal.reason` once the signal aborts
   */
  static async create(
    gpu: Gpu,
    group: Group,
    base: Uint8Array,
    scalars: FixedBaseScalars,
    run: Run,
    bits: number = fixedBaseWindow(gpu, group, scalars.total),
  ): Promise<FixedBase> {
    await gpu.prepare(FIXED_BASE_KERNELS)
    const windows = windowCount(bits)
    const { chunk, entries, pairs: pairCount, second } = planFixedBase(gpu, group, scalars, bits)
    const pointBytes = POINT_BYTES[group]
    const set = new BufferSet(gpu)
    try {
      const table = await set.allocate((entries + 1) * pointBytes, 'table of multiples')
      // Digits of scalars, and sums of a few multiples and what they are made with, which tell of the digits: these are
      // secrets of a set-up.
      const adder = await BatchAffine.create(gpu, group, Math.min(SLICE_PAIRS, pairCount))
      set.own({ release: () => forget(gpu, ...adder.buffers) })
      const secret = async (bytes: number, label: string): Promise<GPUBuffer> => {
        const buffer = await gpu.allocate(bytes, label)
        set.own({ release: () => forget(gpu, buffer) })
        return buffer
      }
      const pairs = await secret(pairCount * PAIR_BYTES, 'pairs')
      const sums = await secret(pairCount * pointBytes, 'sums')
      const others = await secret(second * pointBytes, 'sums')
      const words = windowBases(group, base, bits)
      await gpu.upload(table, 0, new Uint8Array(words.buffer))
      const stream = new UnitStream(gpu, 'table of multiples', run, entries * ADDITION_COST[group])
      stream.commands.clear(table, entries * pointBytes, pointBytes)
      for (let n = 1; n < 2 ** (bits - 1); n *= 2) {
        const count = n * windows
        stream.commands.dispatch(doublingPairs, {
          buffers: [pairs],
          params: [count, windows, n],
          workgroups: Math.ceil(count / 64),
        })
        await adder.recordRound(stream, { points: table, source: { kind: 'list', pairs }, sums }, count)
        stream.commands.copy(sums, 0, table, count * pointBytes, count * pointBytes)
      }
      await stream.finish()
      return new FixedBase({ gpu, group, bits, chunk, set, adder, table, pairs, sums: [sums, others] })
    } catch (error) {
      set.release()
      throw error
    }
  }

  /** Work of so many multiples, in additions of points in G1. */
  work(count: number): number {
    return count * (windowCount(this.#bits) - 1) * ADDITION_COST[this.group]
  }

  /**
   * Packed points of `count` plain scalars, infinity for 0.
   * @throws `run.signal.reason` once the signal aborts
   */
  async multiples(scalars: GPUBuffer, count: number, points: GPUBuffer, run: Run): Promise<void> {
    const pointBytes = POINT_BYTES[this.group]
    const stream = new UnitStream(this.#gpu, `multiples in ${this.group}`, run, this.work(count))
    for (let first = 0; first < count; first += this.#chunk) {
      const size = Math.min(this.#chunk, count - first)
      const sums = await this.#recordSums(stream, scalars, first, size)
      stream.commands.copy(sums, 0, points, first * pointBytes, size * pointBytes)
    }
    await stream.finish()
  }

  /** Records the multiples of at most a chunk of scalars. @returns the buffer that begins with them */
  async #recordSums(stream: UnitStream, scalars: GPUBuffer, first: number, size: number): Promise<GPUBuffer> {
    const pairs = this.#pairs
    let left = windowCount(this.#bits)
    stream.commands.dispatch(tablePairs, {
      buffers: [scalars, pairs],
      params: [size, first, this.#bits, left],
      workgroups: Math.ceil(size / 64),
    })
    let points = this.#table
    let [to, other] = this.#sums
    for (;;) {
      left = Math.ceil(left / 2)
      await this.#adder.recordRound(stream, { points, source: { kind: 'list', pairs }, sums: to }, size * left)
      if (left === 1) return to
      const next = Math.ceil(left / 2) * size
      stream.commands.dispatch(adjacentPairs, {
        buffers: [pairs],
        params: [next, left],
        workgroups: Math.ceil(next / 64),
      })
      points = to
      ;[to, other] = [other, to]
    }
  }

  release(): void {
    this.#set.release()
  }
}

/** Points encoded and read back together. */
const EXPORTED = 2 ** 16

/**
 * @param base uncompressed big-endian, not infinity
 * @param scalars 32 bytes little-endian each, canonical
 * @param out one uncompressed big-endian point per scalar, infinity for 0
 * @param bits of a window; chosen by the number of scalars unless given
 */
export async function fixedBaseMultiples(
  gpu: Gpu,
  group: Group,
  base: Uint8Array,
  scalars: Uint8Array,
  out: Uint8Array,
  run: Run,
  bits?: number,
): Promise<void> {
  const total = scalars.byteLength / 32
  if (total === 0) return
  const pointBytes = POINT_BYTES[group]
  const atOnce = Math.min(total, EXPORTED)
  const set = new BufferSet(gpu)
  const quiet: Run = { signal: run.signal, unit: () => {} }
  try {
    const fixedBase = set.own(await FixedBase.create(gpu, group, base, { total, atOnce }, quiet, bits))
    const scalarBuffer = await set.allocate(atOnce * 32, 'scalars')
    const points = await set.allocate(atOnce * pointBytes, 'points')
    for (let first = 0; first < total; first += atOnce) {
      const count = Math.min(atOnce, total - first)
      const unit = (share: number): void => run.unit((first + share * count) / total)
      await gpu.upload(scalarBuffer, 0, scalars.subarray(first * 32, (first + count) * 32))
      await fixedBase.multiples(scalarBuffer, count, points, { signal: run.signal, unit })
      out.set(await exportPoints(gpu, group, points, count), first * pointBytes)
    }
  } finally {
    set.release()
  }
}

/** Uncompressed big-endian encodings of the first `count` points of a buffer. */
export async function exportPoints(gpu: Gpu, group: Group, points: GPUBuffer, count: number): Promise<Uint8Array> {
  await gpu.prepare([EXPORT_KERNEL])
  const encoded = await gpu.allocate(count * POINT_BYTES[group], 'encoded points')
  try {
    const commands = gpu.commands('export points')
    recordExport(commands, group, points, encoded, count)
    await commands.submit()
    return await gpu.download(encoded, 0, count * POINT_BYTES[group])
  } finally {
    gpu.release(encoded)
  }
}
