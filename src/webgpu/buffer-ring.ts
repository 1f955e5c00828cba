/**
 * A few buffers of one size and use, each in one pair of hands at a time: made as they are needed, kept for whoever
 * comes next.
 */

/** What a ring needs of its device. */
export interface RingTarget {
  /** Settles as the promise does, or rejects once the device is lost. */
  guard<T>(promise: Promise<T>): Promise<T>
  /**
   * Makes a buffer that counts as device memory.
   * @throws {GpuOutOfMemoryError}
   */
  create(descriptor: GPUBufferDescriptor): Promise<GPUBuffer>
  destroy(buffer: GPUBuffer): void
}

interface Waiter {
  readonly resolve: (buffer: GPUBuffer) => void
  readonly reject: (reason: unknown) => void
}

/** The buffers of a ring, and who waits for one. */
export class BufferRing {
  readonly #target: RingTarget
  readonly #descriptor: GPUBufferDescriptor
  readonly #free: GPUBuffer[] = []
  readonly #waiters: Waiter[] = []
  #made = 0

  /** @param descriptor of each buffer */
  constructor(target: RingTarget, descriptor: GPUBufferDescriptor) {
    this.#target = target
    this.#descriptor = descriptor
  }

  /** Bytes of the ring, in use or not. */
  get bytes(): number {
    return this.#made * this.#descriptor.size
  }

  /**
   * A buffer for one who gives it back. Where memory is short the ring has fewer than it may.
   * @param most buffers that the ring may have for it
   * @throws {GpuOutOfMemoryError} there is no room for one; {@link GpuDeviceLostError}
   */
  async take(most: number): Promise<GPUBuffer> {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#made < most) {
      this.#made++
      try {
        return await this.#target.create(this.#descriptor)
      } catch (error) {
        this.#made--
        // A ring of fewer buffers does as well, only slower; without any, who waits for one would wait for ever.
        if (this.#made === 0) {
          for (const { reject } of this.#waiters.splice(0)) reject(error)
          throw error
        }
        const given = this.#free.pop()
        if (given !== undefined) return given
      }
    }
    const waiting = new Promise<GPUBuffer>((resolve, reject) => this.#waiters.push({ resolve, reject }))
    return await this.#target.guard(waiting)
  }

  /** Takes a buffer back, for whoever waits longest. */
  give(buffer: GPUBuffer): void {
    const waiter = this.#waiters.shift()
    if (waiter === undefined) this.#free.push(buffer)
    else waiter.resolve(buffer)
  }

  /** Destroys the buffers that are not in use. */
  trim(): void {
    for (const buffer of this.#free.splice(0)) {
      this.#target.destroy(buffer)
      this.#made--
    }
  }
}
