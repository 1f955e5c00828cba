/** Buffers that are kept for reuse: a driver takes 20 ms to make a gibibyte of them, and 30 to take it back. */

/** What a buffer can be reused for. */
export type BufferKind = 'storage' | 'uniform' | 'read back'

interface Idle {
  readonly buffer: GPUBuffer
  /** When it was given, in gifts. */
  readonly since: number
}

/** Buffers that nobody uses, by kind and size. */
export class IdleBuffers {
  /** By kind and size; of equal ones the latest is last. */
  readonly #lists = new Map<string, Idle[]>()
  #gifts = 0
  /** Of all of them. */
  bytes = 0

  /** A buffer of exactly this size: what a plan counted is what is used. */
  take(kind: BufferKind, size: number): GPUBuffer | undefined {
    const key = keyOf(kind, size)
    const list = this.#lists.get(key)
    const idle = list?.pop()
    if (list?.length === 0) this.#lists.delete(key)
    if (idle !== undefined) this.bytes -= size
    return idle?.buffer
  }

  give(kind: BufferKind, buffer: GPUBuffer): void {
    const key = keyOf(kind, buffer.size)
    const idle = { buffer, since: this.#gifts++ }
    const list = this.#lists.get(key)
    if (list === undefined) this.#lists.set(key, [idle])
    else list.push(idle)
    this.bytes += buffer.size
  }

  /** Takes the one that nobody wanted for longest, of those of at least so many bytes. */
  takeOldest(leastBytes = 0): GPUBuffer | undefined {
    let oldest: [key: string, list: Idle[], idle: Idle] | undefined
    for (const [key, list] of this.#lists) {
      const idle = list[0] as Idle
      if (idle.buffer.size >= leastBytes && (oldest === undefined || idle.since < oldest[2].since)) {
        oldest = [key, list, idle]
      }
    }
    if (oldest === undefined) return undefined
    const [key, list, { buffer }] = oldest
    list.shift()
    if (list.length === 0) this.#lists.delete(key)
    this.bytes -= buffer.size
    return buffer
  }
}

const keyOf = (kind: BufferKind, size: number): string => `${kind} ${size}`
