/**
 * Entries of an MSM sorted by bucket. An entry is a point whose digit in a window is not 0; it belongs to the bucket of that window and of the
 * digit's magnitude. One pass over the scalars counts each bucket's entries and keeps their ranks, prefix sums of the counts say where each
 * bucket starts, a second pass puts the entries there.
 */
import type { BufferSet } from '../buffer-set.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { SCAN_KERNELS, type Scan } from './scan.ts'

/** Rounds whose totals are counted at once: buckets of up to 2^26 entries. */
const MAX_ROUNDS = 26

const digitParts = ['invocation.wgsl', 'msm/scalar-digits.wgsl', 'msm/digit-walk.wgsl']
const countKernel: Kernel = {
  name: 'count entries',
  fields: [],
  parts: [...digitParts, 'msm/count-entries.wgsl'],
  entry: 'count_entries',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}
const placeKernel: Kernel = {
  name: 'place entries',
  fields: [],
  parts: [...digitParts, 'msm/place-entries.wgsl'],
  entry: 'place_entries',
  bindings: ['read', 'read', 'read', 'read_write', 'read_write', 'uniform'],
}
const countsKernel: Kernel = {
  name: 'round counts',
  fields: [],
  parts: ['invocation.wgsl', 'msm/round-counts.wgsl'],
  entry: 'round_counts',
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
}

export const SORT_KERNELS: readonly Kernel[] = [countKernel, placeKernel, countsKernel, ...SCAN_KERNELS]

/** The scalars of a sum, and how they are cut. */
export interface Digits {
  readonly scalars: GPUBuffer
  /** Number of the first one. */
  readonly first: number
  readonly count: number
  /** Bits of a window. */
  readonly window: number
  /** Windows to take: from the first number up to the second. */
  readonly from: number
  readonly to: number
}

/** Buckets of the windows taken. */
export const bucketsOf = ({ window, from, to }: Digits): number => (to - from) * 2 ** (window - 1)

export interface SortedEntries {
  /** A point's number a word, its sign in the top bit. */
  readonly entries: GPUBuffer
  readonly entryBucket: GPUBuffer
  /** Of each bucket: entries, those after one round, where it starts. */
  readonly counts: GPUBuffer
  readonly nextCounts: GPUBuffer
  readonly starts: GPUBuffer
  /** Number of entries, and of pairs in each round of adding. */
  readonly total: number
  readonly pairsOfRound: readonly number[]
  /** Records what buckets have after one more round. */
  recordNextCounts(commands: ReturnType<Gpu['commands']>, counts: GPUBuffer, nextCounts: GPUBuffer): void
}

/** @returns buffers of the set */
export async function sortEntries(gpu: Gpu, set: BufferSet, scan: Scan, digits: Digits): Promise<SortedEntries> {
  const { scalars, first, count, window, from, to } = digits
  const buckets = bucketsOf(digits)
  const counts = await set.allocate(4 * buckets + 16, 'bucket counts')
  const nextCounts = await set.allocate(4 * buckets + 16, 'next bucket counts')
  const starts = await set.allocate(4 * buckets, 'bucket starts')
  const totals = await set.allocate(4 * MAX_ROUNDS + 32, 'round totals')
  const entryBytes = 4 * (to - from) * count
  const ranks = await set.allocate(entryBytes, 'ranks')
  const entries = await set.allocate(entryBytes, 'entries')
  const entryBucket = await set.allocate(entryBytes, 'buckets of entries')
  const params = [count, window, from, to, first]
  const workgroups = Math.ceil(count / 64)
  const recordCounts = (commands: ReturnType<Gpu['commands']>, values: GPUBuffer, next: GPUBuffer, rounds: number) =>
    commands.dispatch(countsKernel, {
      buffers: [values, next, totals],
      params: [buckets, rounds],
      workgroups: Math.ceil(buckets / 256),
    })
  const commands = gpu
    .commands('sort entries')
    .clear(counts, 0, 4 * buckets)
    .clear(totals, 0, 4 * MAX_ROUNDS + 4)
    .dispatch(countKernel, { buffers: [scalars, counts, ranks], params, workgroups })
  scan.record(commands, counts, starts, buckets)
  commands.dispatch(placeKernel, { buffers: [scalars, starts, ranks, entries, entryBucket], params, workgroups })
  recordCounts(commands, counts, nextCounts, MAX_ROUNDS)
  // Submitted one behind the other, waited for together.
  const [, bytes] = await Promise.all([commands.submit(), gpu.download(totals, 0, 4 * MAX_ROUNDS + 4)])
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, MAX_ROUNDS + 1)
  return {
    entries,
    entryBucket,
    counts,
    nextCounts,
    starts,
    total: words[MAX_ROUNDS] as number,
    pairsOfRound: [...words.subarray(0, MAX_ROUNDS)],
    recordNextCounts: (later, values, next) => recordCounts(later, values, next, 0),
  }
}
