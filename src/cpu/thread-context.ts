/**
 * What a task of the CPU device sees on the thread it runs on, and what the coordinating side calls.
 *
 * All threads share one WebAssembly memory (at most 4 GiB). Below {@link ARENA_BASE} lie constants, written with the
 * same bytes by every instance; above it, blocks that the coordinator allocates and whose addresses travel in the
 * arguments of tasks.
 */
import type { Run } from '../groth16/proving-device.ts'

/**
 * First address of the allocator. Static data of the AssemblyScript module ends below 64 KiB, constants of the kernels
 * below this.
 */
export const ARENA_BASE = 0x10_0000

export interface ThreadContext {
  /** Shared by all threads; `buffer` must be read anew after a growth. */
  readonly memory: WebAssembly.Memory
  /** Exports of one of `dist/wasm/kernels-*.wasm`. */
  readonly kernels: Readonly<Record<string, (...args: number[]) => number>>
  /** Exports of `dist/wasm/circuit.wasm`. */
  readonly circuit: Readonly<Record<string, (...args: number[]) => number>>
  /** A block of memory that only this thread uses. */
  readonly scratch: number
  readonly scratchBytes: number
}

/**
 * Synchronous work of at most about 200 ms. Arguments and result must survive structured clone; big data goes by
 * address.
 */
export type ThreadTask<A = never, R = unknown> = (context: ThreadContext, args: A) => R

export interface Arena {
  /** @returns a byte address, aligned to 128. Grows the memory; throws `RangeError` past its maximum. */
  allocate(bytes: number): number
  free(address: number): void
  /** Bytes allocated now. */
  readonly usedBytes: number
}

export interface ThreadPool {
  readonly threads: number
  /** To be read anew after every wait: it is another one once the pool was renewed. Addresses stay. */
  readonly memory: WebAssembly.Memory
  readonly arena: Arena
  /** Which arithmetic the kernels use: doubles with fused multiply-add, or integers. */
  readonly backend: 'fma' | 'integer'
  /**
   * Runs one task a time on each thread, in the order of `args`, until all are done; results in that order. Between
   * tasks: reports `run.unit(done / args.length)`, and stops with `run.signal.reason` once the signal aborts (after the
   * tasks that were already running have ended, so that their memory can be freed).
   */
  run<A, R>(task: string, args: readonly A[], run: Run): Promise<R[]>
  close(): Promise<void>
}
