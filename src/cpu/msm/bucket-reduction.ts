/**
 * Σ i · B_i over buckets B_1 … B_n, by running sums in k chunks of length l that advance together, so that each step is
 * a batch of k additions: chunk j computes R_j = Σ_i B_(jl+i) and A_j = Σ_i i · B_(jl+i), and
 *     Σ i · B_i = Σ_j A_j + l · Σ_j j · R_j,    Σ B_i = Σ_j R_j,
 * where Σ_j j · R_j is the same problem with k − 1 buckets. The last few are added one by one.
 */
import type { PairAdder, Reference } from './pair-adder.ts'
import type { ProjectiveAccumulators } from './projective.ts'

/** Below this many buckets a batch is too short to carry its inversion (30 µs, 30 complete additions). */
const SERIAL_BUCKETS = 128
/** A chunk count that fills a batch of additions. */
const CHUNKS = 1024

/** Numbers of the accumulators that {@link reduceBuckets} uses. */
export const WEIGHTED = 0
export const TOTAL = 1
const TEMPORARY = 2
export const REDUCTION_ACCUMULATORS = 3

/** Points of working memory that reducing `n` buckets takes. */
export function reductionPoints(n: number): number {
  return n <= SERIAL_BUCKETS ? 0 : 3 * chunkShape(n).chunks + reductionPoints(chunkShape(n).chunks - 1)
}

function chunkShape(n: number): { readonly chunks: number; readonly length: number } {
  const length = Math.max(4, Math.ceil(n / CHUNKS), Math.min(8, Math.floor(n / 64)))
  return { chunks: Math.ceil(n / length), length }
}

/**
 * Leaves Σ i · B_i in accumulator {@link WEIGHTED} and Σ B_i in {@link TOTAL}.
 * @param buckets references, B_1 first; those that are negated are allowed
 * @param room {@link reductionPoints} points of memory
 */
export function reduceBuckets(
  adder: PairAdder,
  accumulators: ProjectiveAccumulators,
  buckets: Uint32Array,
  room: number,
  pointBytes: number,
): void {
  const n = buckets.length
  if (n <= SERIAL_BUCKETS) {
    reduceSerially(accumulators, buckets)
    return
  }
  const { chunks, length } = chunkShape(n)
  // The running sum moves between two places: the weighted sum may still refer to where it was.
  const place = (kind: 0 | 1 | 2, chunk: number): number => room + (kind * chunks + chunk) * pointBytes
  const running = new Uint32Array(chunks)
  const weighted = new Uint32Array(chunks)
  for (let step = length - 1; step >= 0; step--) {
    const parity = (step & 1) as 0 | 1
    addAll(
      adder,
      running,
      (j) => buckets[j * length + step] ?? 0,
      (j) => place(parity, j),
    )
    addAll(
      adder,
      weighted,
      (j) => running[j] as number,
      (j) => place(2, j),
    )
  }
  const inner = room + 3 * chunks * pointBytes
  reduceBuckets(adder, accumulators, running.subarray(1), inner, pointBytes)
  // Now WEIGHTED = Σ j · R_j and TOTAL = Σ_(j>0) R_j.
  accumulators.multiply(TEMPORARY, WEIGHTED, length)
  accumulators.clear(WEIGHTED)
  accumulators.add(WEIGHTED, TEMPORARY)
  accumulators.addPoint(TOTAL, running[0] as number)
  halve(adder, weighted, (j) => place(2, j))
  for (const reference of weighted.subarray(0, SERIAL_BUCKETS)) accumulators.addPoint(WEIGHTED, reference)
}

/** sums[j] += term(j) for all j, as one batch; equal places are allowed. */
function addAll(
  adder: PairAdder,
  sums: Uint32Array,
  term: (index: number) => Reference,
  place: (index: number) => number,
): void {
  for (let j = 0; j < sums.length; j++) {
    const [sum, other] = [sums[j] as number, term(j)]
    if (other === 0) continue
    if (sum === 0) sums[j] = other
    else {
      const out = place(j)
      adder.add(sum, other, out)
      sums[j] = out
    }
  }
  settle(adder, sums)
}

/** Computes what is queued and replaces infinite sums by 0. */
function settle(adder: PairAdder, sums: Uint32Array): void {
  adder.flush()
  if (!adder.hasInfinities) return
  const infinities = adder.takeInfinities()
  sums.forEach((sum, j) => {
    if (infinities.has(sum)) sums[j] = 0
  })
}

/** Adds the upper half of the sums to the lower until few are left; the others become 0. */
function halve(adder: PairAdder, sums: Uint32Array, place: (index: number) => number): void {
  let n = sums.length
  while (n > SERIAL_BUCKETS) {
    const half = Math.ceil(n / 2)
    const lower = sums.subarray(0, half)
    const upper = sums.slice(half, n)
    addAll(adder, lower, (j) => upper[j] ?? 0, place)
    sums.fill(0, half, n)
    n = half
  }
}

function reduceSerially(accumulators: ProjectiveAccumulators, buckets: Uint32Array): void {
  accumulators.clear(WEIGHTED)
  accumulators.clear(TOTAL)
  for (let i = buckets.length - 1; i >= 0; i--) {
    accumulators.addPoint(TOTAL, buckets[i] as number)
    accumulators.add(WEIGHTED, TOTAL)
  }
}
