/**
 * The allocator of the threads' shared memory. Only the coordinating thread allocates; tasks get addresses.
 *
 * First fit at the lowest address: what the memory once grew to stays resident, so blocks are packed towards the bottom
 * and the peak of the working set, not the sum of its phases, decides how far it grows.
 */
import type { Arena } from './thread-context.ts'
import { ARENA_BASE } from './thread-context.ts'

const ALIGNMENT = 128
const PAGE_BYTES = 65_536
/** Grown by at least this much, so that small blocks don't cost a system call each. */
const GROWTH_PAGES = 16

/** Bytes that a block of `bytes` takes: rounded up to the alignment, at least one unit. */
export function blockBytes(bytes: number): number {
  return Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT)
}

/** The memory can't grow any further; what was allocated stays valid. */
export class MemoryExhaustedError extends RangeError {
  override readonly name = 'MemoryExhaustedError'
}

/** A free stretch of memory; `end` is exclusive. */
interface Span {
  start: number
  end: number
}

/** First-fit allocator over a growing WebAssembly memory. Blocks are aligned to 128 bytes and are not cleared. */
export class MemoryArena implements Arena {
  #memory: WebAssembly.Memory
  readonly #maximumPages: number
  readonly #blocks = new Map<number, number>()
  /** Sorted by address; no two touch. */
  #free: Span[]
  #usedBytes = 0

  /** @param maximumPages the maximum that the memory was made with, in pages of 64 KiB */
  constructor(memory: WebAssembly.Memory, maximumPages: number) {
    this.#memory = memory
    this.#maximumPages = maximumPages
    this.#free = [{ start: ARENA_BASE, end: memory.buffer.byteLength }]
  }

  get memory(): WebAssembly.Memory {
    return this.#memory
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /**
   * @returns the address of a block of `bytes` bytes with unspecified content
   * @throws {MemoryExhaustedError} if the memory can't grow that far
   */
  allocate(bytes: number): number {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RangeError(`A block of ${bytes} bytes can't be allocated`)
    const size = blockBytes(bytes)
    let index = this.#free.findIndex((span) => span.end - span.start >= size)
    if (index < 0) {
      this.#grow(size)
      index = this.#free.length - 1
    }
    const span = this.#free[index] as Span
    const address = span.start
    span.start += size
    if (span.start === span.end) this.#free.splice(index, 1)
    this.#blocks.set(address, size)
    this.#usedBytes += size
    return address
  }

  /** @throws {Error} if no block starts at `address` (freed twice, or never allocated) */
  free(address: number): void {
    const size = this.#blocks.get(address)
    if (size === undefined) throw new Error(`No block is allocated at address ${address}`)
    this.#blocks.delete(address)
    this.#usedBytes -= size
    this.#insert(address, address + size)
  }

  /** Pages up to the end of the last block. */
  get leastPages(): number {
    const end = [...this.#blocks].reduce((most, [address, size]) => Math.max(most, address + size), ARENA_BASE)
    return Math.ceil(end / PAGE_BYTES)
  }

  /**
   * Moves to another memory, of at least {@link leastPages} and not more than there are. Blocks keep their addresses
   * and contents; of an untouched memory nothing else becomes resident.
   * @param without blocks whose content nobody needs
   */
  moveTo(memory: WebAssembly.Memory, without: ReadonlySet<number>): void {
    const [from, to] = [new Uint8Array(this.#memory.buffer), new Uint8Array(memory.buffer)]
    for (const [address, size] of this.#blocks) {
      if (!without.has(address)) to.set(from.subarray(address, address + size), address)
    }
    const end = to.length
    this.#free = this.#free
      .filter(({ start }) => start < end)
      .map((span) => ({ ...span, end: Math.min(span.end, end) }))
    this.#memory = memory
  }

  /** Extends the memory so that its last free span holds `size` bytes. */
  #grow(size: number): void {
    const end = this.#memory.buffer.byteLength
    const last = this.#free.at(-1)
    const tail = last !== undefined && last.end === end ? end - last.start : 0
    const needed = Math.ceil((size - tail) / PAGE_BYTES)
    const room = this.#maximumPages - end / PAGE_BYTES
    const pages = Math.min(room, Math.max(needed, GROWTH_PAGES))
    try {
      if (needed > room) throw new RangeError(`it has ${this.#maximumPages * PAGE_BYTES} bytes at most`)
      this.#memory.grow(pages)
    } catch (cause) {
      const { message } = cause as Error
      const wanted = `${size} bytes wanted, ${this.#usedBytes} in use`
      throw new MemoryExhaustedError(`The CPU device's memory is exhausted: ${wanted}; ${message}`, { cause })
    }
    this.#insert(end, end + pages * PAGE_BYTES)
  }

  /** Puts a span back, joined with the free neighbours it touches. */
  #insert(start: number, end: number): void {
    const free = this.#free
    let index = free.findIndex((span) => span.start > start)
    if (index < 0) index = free.length
    const before = free[index - 1]
    const after = free[index]
    const joinsBefore = before !== undefined && before.end === start
    const joinsAfter = after !== undefined && after.start === end
    if (joinsBefore && joinsAfter) {
      before.end = after.end
      free.splice(index, 1)
    } else if (joinsBefore) before.end = end
    else if (joinsAfter) after.start = start
    else free.splice(index, 0, { start, end })
  }
}
