/**
 * Sums of many independent pairs of affine points, a batch at a time (the kernels of assembly/kernels/batch.ts).
 *
 * A *reference* to a point is its address, with bit 0 set to take it negated; 0 is infinity.
 */
import type { ThreadContext } from '../thread-context.ts'
import type { GroupKernels } from './group-kernels.ts'
import { KERNEL_SCRATCH_BYTES } from './group-kernels.ts'

export type Reference = number

/**
 * Additions that share an inversion: 2,048 is where its 30 µs stop mattering and the records still lie in a 2 MiB
 * cache.
 */
const BATCH_PAIRS = 2048
const PAIR_WORDS = 3

/** Scratch that a {@link PairAdder} takes, from the start of the thread's block. */
export function pairAdderBytes(kernels: GroupKernels): number {
  return recordsOffset() + (BATCH_PAIRS / kernels.lanes) * kernels.recordBytes
}

function recordsOffset(): number {
  // One pair more than a batch: padding to a whole vector.
  return KERNEL_SCRATCH_BYTES + Math.ceil(((BATCH_PAIRS + 1) * PAIR_WORDS * 4) / 128) * 128
}

export class PairAdder {
  /** Addresses of sums since the last {@link takeInfinities} that are infinity. */
  readonly #infinities = new Set<number>()
  readonly #context: ThreadContext
  readonly #kernels: GroupKernels
  readonly #listAddress: number
  readonly #records: number
  readonly #list: Uint32Array
  #words = 0

  constructor(context: ThreadContext, kernels: GroupKernels) {
    this.#context = context
    this.#kernels = kernels
    this.#listAddress = context.scratch + KERNEL_SCRATCH_BYTES
    this.#records = context.scratch + recordsOffset()
    // The view stays right when the memory grows: a shared buffer never moves.
    this.#list = new Uint32Array(context.memory.buffer, this.#listAddress, (BATCH_PAIRS + 1) * PAIR_WORDS)
  }

  /**
   * Queues out = a + b; neither may be infinity, nor depend on a sum that is still queued. `out` may be the address of
   * a or b, or of an operand of a pair queued before it.
   */
  add(a: Reference, b: Reference, out: number): void {
    const list = this.#list
    const words = this.#words
    list[words] = a
    list[words + 1] = b
    list[words + 2] = out
    this.#words = words + PAIR_WORDS
    if (this.#words === BATCH_PAIRS * PAIR_WORDS) this.flush()
  }

  /** Computes all that is queued. */
  flush(): void {
    if (this.#words === 0) return
    const { lanes, gather, products, finish } = this.#kernels
    const pairs = this.#words / PAIR_WORDS
    const vectors = Math.ceil(pairs / lanes)
    // Repeating the last pair writes the same sum to the same place twice.
    if (vectors * lanes > pairs) this.#list.copyWithin(this.#words, this.#words - PAIR_WORDS, this.#words)
    this.#words = 0
    gather(this.#listAddress, vectors, this.#records)
    let infinite: number[] = []
    if (products(this.#records, vectors) !== 0) {
      infinite = this.#mend(vectors)
      products(this.#records, vectors)
    }
    finish(this.#listAddress, vectors, this.#records)
    for (const pair of infinite) {
      const out = this.#list[pair * PAIR_WORDS + 2] as number
      new Uint8Array(this.#context.memory.buffer, out, this.#kernels.pointBytes).fill(0)
      this.#infinities.add(out)
    }
  }

  /** Whether some sum was infinity since the last call of {@link takeInfinities}. */
  get hasInfinities(): boolean {
    return this.#infinities.size > 0
  }

  /** Addresses of such sums; forgets them. */
  takeInfinities(): ReadonlySet<number> {
    const taken = new Set(this.#infinities)
    this.#infinities.clear()
    return taken
  }

  /** Turns P + P into doublings. @returns the pairs P + (−P) */
  #mend(vectors: number): number[] {
    const { lanes, recordBytes, mend } = this.#kernels
    const infinite: number[] = []
    for (let vector = 0; vector < vectors; vector++) {
      const bits = mend(this.#records + vector * recordBytes)
      for (let lane = 0; lane < lanes; lane++) if ((bits >> lane) & 1) infinite.push(vector * lanes + lane)
    }
    return infinite
  }
}
