/**
 * One pass of a transform: many short transforms of length n ≤ 2^12, each of which fits a thread's cache.
 *
 * A vector of m = N1 · N2 elements is seen as N1 rows of N2. Its transform is a transform of every column, a
 * multiplication by powers of the root (the twist), and a transform of every row, or rows first and columns last (see
 * `transform.ts`). Where the kernels have two lanes, adjacent columns, or rows, share a vector.
 *
 * The steps for a pair of lanes: gather the elements into scratch in bit-reversed order, converted to digits; log2 n
 * stages of butterflies; scatter, each element multiplied by its factor and brought to canonical form.
 */
import { FR_MODULUS, frMul, frPow, frWriteBytes } from '../../field/fr.ts'
import { KERNEL_SCRATCH_BYTES } from '../msm/group-kernels.ts'
import type { ThreadTask } from '../thread-context.ts'

/** Bytes of an element in memory: little-endian, canonical. */
export const ELEMENT_BYTES = 32

/** Where short transform c keeps its element i: at address + c · step + i · stride. */
export interface Lattice {
  readonly address: number
  readonly stride: number
  readonly step: number
}

/** Some of the short transforms of a pass: the work of one task. */
export interface PassArgs {
  readonly log2n: number
  /** Twiddles of length n, made by {@link makeTable}. */
  readonly table: number
  readonly first: number
  readonly count: number
  /** How many short transforms the pass has in all. */
  readonly total: number
  readonly from: Lattice
  /** Multiplied with `from`, element by element, while gathering. */
  readonly times?: Lattice | undefined
  readonly to: Lattice
  /** Subtracted from the result, element by element. */
  readonly minus?: Lattice | undefined
  /** Output k of short transform c is multiplied by start · (base^c · shift)^k. All in Montgomery form but `base`. */
  readonly chain?: { readonly start: bigint; readonly base: bigint; readonly shift: bigint } | undefined
  /** Output k is multiplied by entry k of this table. */
  readonly factors?: number | undefined
}

/** A geometric sequence in the kernels' form, both lanes alike: entry k is start · ratio^k (Montgomery form). */
export interface TableArgs {
  readonly address: number
  readonly length: number
  readonly start: bigint
  readonly ratio: bigint
}

/** Start and ratio of a sequence, for both lanes: what `fr_powers` reads. */
const SEED_BYTES: number = 4 * ELEMENT_BYTES

/** In scratch, after what the kernels keep for themselves: seeds, then blocks. */
const SEEDS_OFFSET: number = KERNEL_SCRATCH_BYTES
const DATA_OFFSET: number = SEEDS_OFFSET + SEED_BYTES

/** Scratch that a pass of length 2^log2n needs: its elements, and its factors. */
export function passScratchBytes(log2n: number, blockBytes: number): number {
  return DATA_OFFSET + 2 * 2 ** log2n * blockBytes
}

function writeSeeds(memory: WebAssembly.Memory, address: number, seeds: readonly bigint[]): void {
  const bytes = new Uint8Array(memory.buffer, address, SEED_BYTES)
  for (const [i, seed] of seeds.entries()) frWriteBytes(seed, bytes, i * ELEMENT_BYTES)
}

type Kernel = (...args: number[]) => number

const makeTable: ThreadTask<TableArgs, void> = ({ memory, kernels, scratch }, { address, length, start, ratio }) => {
  const seeds = scratch + SEEDS_OFFSET
  writeSeeds(memory, seeds, [start, start, ratio, ratio])
  const powers = kernels.fr_powers as Kernel
  powers(address, length, seeds)
}

const runPass: ThreadTask<PassArgs, void> = ({ memory, kernels, scratch, scratchBytes }, args) => {
  const { log2n, from, times, to, minus, chain } = args
  const gather = kernels.fr_gather as Kernel
  const butterflies = kernels.fr_butterflies as Kernel
  const powers = kernels.fr_powers as Kernel
  const scatter = kernels.fr_scatter as Kernel
  const n = 2 ** log2n
  const lanes = (kernels.fr_lanes as Kernel)()
  const blockBytes = (kernels.fr_block_bytes as Kernel)()
  if (passScratchBytes(log2n, blockBytes) > scratchBytes)
    throw new Error(`No scratch for a transform of length 2^${log2n}`)
  const seeds = scratch + SEEDS_OFFSET
  const data = scratch + DATA_OFFSET
  const chained = data + n * blockBytes
  const factors = chain === undefined ? (args.factors ?? 0) : chained
  let ratio = chain === undefined ? 0n : frMul(chain.shift, frPow(chain.base, BigInt(args.first)))
  for (let c = args.first; c < args.first + args.count; c += lanes) {
    // A second lane without a short transform of its own works on the first's.
    const pair = c + 1 < args.total ? 1 : 0
    gather(
      data,
      from.address + c * from.step,
      pair * from.step,
      from.stride,
      times ? times.address + c * times.step : 0,
      log2n,
    )
    butterflies(data, args.table, log2n)
    if (chain !== undefined) {
      const second = pair * lanes === 2 ? frMul(ratio, chain.base) : ratio
      writeSeeds(memory, seeds, [chain.start, chain.start, ratio, second])
      powers(chained, n, seeds)
      ratio = frMul(second, chain.base)
    }
    scatter(
      data,
      to.address + c * to.step,
      pair * to.step,
      to.stride,
      factors,
      minus ? minus.address + c * minus.step : 0,
      pair * (minus?.step ?? 0),
      minus?.stride ?? 0,
      n,
    )
  }
}

/** Products of elements, for what the coordinating side can't know: the Montgomery radix of the kernels. */
const inverseRadix: ThreadTask<null, Uint8Array> = ({ memory, kernels, scratch }) => {
  // Powers of ratio 1 (not in Montgomery form) from 1: entry 1 is 1 · 1 / R; scattered, it is canonical.
  const seeds = scratch + SEEDS_OFFSET
  writeSeeds(memory, seeds, [1n, 1n, 1n, 1n])
  const data = scratch + DATA_OFFSET
  const blockBytes = (kernels.fr_block_bytes as Kernel)()
  ;(kernels.fr_powers as Kernel)(data, 2, seeds)
  ;(kernels.fr_scatter as Kernel)(data + blockBytes, seeds, ELEMENT_BYTES, 0, 0, 0, 0, 0, 1)
  return new Uint8Array(memory.buffer, seeds, ELEMENT_BYTES).slice()
}

const blockBytesOf: ThreadTask<null, number> = ({ kernels }) => (kernels.fr_block_bytes as Kernel)()

/** Tasks of this module, for the registry. */
export const NTT_TASKS: Readonly<{
  'ntt-table': ThreadTask<TableArgs, void>
  'ntt-pass': ThreadTask<PassArgs, void>
  'ntt-inverse-radix': ThreadTask<null, Uint8Array>
  'ntt-block-bytes': ThreadTask<null, number>
}> = {
  'ntt-table': makeTable,
  'ntt-pass': runPass,
  'ntt-inverse-radix': inverseRadix,
  'ntt-block-bytes': blockBytesOf,
}

/** x · R mod r. */
export function toMontgomery(x: bigint, radix: bigint): bigint {
  return (x * radix) % FR_MODULUS
}
