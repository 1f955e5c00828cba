/**
 * Read-back buffers: memory of the host that the device copies to. A ring of a few takes what is large out of the
 * device part by part, as it lies in the mapping: a file is written straight from there.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { TakePoints } from '../groth16/proving-device.ts'
import type { Gpu } from './gpu.ts'
import { MAP, USAGE } from './open-gpu.ts'

/** Bytes that are read back at once. */
export const READ_BACK_BYTES: number = 16 * 2 ** 20
/** Some are copied to while others are used: a copy waits for the units that were submitted before it. */
export const READ_BACK_BUFFERS = 8

/** A file that does not answer is not waited for when the ring is given up. */
const RELEASE_LIMIT_MS = 1_000

/** A ring of mapped buffers, made when they are needed first. */
export class ReadBackRing {
  readonly #gpu: Gpu
  readonly #free: GPUBuffer[] = []
  readonly #waiters: ((buffer: GPUBuffer) => void)[] = []
  readonly #using = new Set<Promise<unknown>>()
  #made = 0
  #released = false

  constructor(gpu: Gpu) {
    this.#gpu = gpu
  }

  /**
   * Hands out the first bytes of a buffer, part by part. The copies of a part are submitted when a buffer of the ring
   * is free for it, the last one's when `submitted` is called: from then on the buffer may be written to.
   * @param bytes a multiple of 4
   * @throws what `take` rejects with; no call of it is in flight then
   */
  async read(from: GPUBuffer, bytes: number, take: TakePoints, submitted: () => void): Promise<void> {
    const parts: Promise<void>[] = []
    let failed = false
    try {
      for (let at = 0; at < bytes && !failed; at += READ_BACK_BYTES) {
        const part = this.#part(from, at, Math.min(READ_BACK_BYTES, bytes - at), await this.#buffer(), take)
        part.catch(() => {
          failed = true
        })
        parts.push(part)
      }
    } finally {
      submitted()
      await Promise.allSettled(parts)
    }
    await Promise.all(parts)
  }

  async #part(from: GPUBuffer, at: number, bytes: number, buffer: GPUBuffer, take: TakePoints): Promise<void> {
    const gpu = this.#gpu
    try {
      const encoder = gpu.device.createCommandEncoder({ label: 'read back' })
      encoder.copyBufferToBuffer(from, at, buffer, 0, bytes)
      gpu.device.queue.submit([encoder.finish()])
      gpu.downloadedBytes += bytes
      await gpu.guard(buffer.mapAsync(MAP.read, 0, bytes))
    } catch (error) {
      // The device is gone, and the buffer with it.
      this.#give(buffer)
      throw error
    }
    const using = take(at, new Uint8Array(buffer.getMappedRange(0, bytes)))
    this.#using.add(using)
    try {
      await using
    } finally {
      this.#using.delete(using)
      buffer.unmap()
      this.#give(buffer)
    }
  }

  async #buffer(): Promise<GPUBuffer> {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#made < READ_BACK_BUFFERS) {
      this.#made++
      try {
        return await this.#gpu.create({
          label: 'read back',
          size: READ_BACK_BYTES,
          usage: USAGE.mapRead | USAGE.copyDst,
        })
      } catch (error) {
        this.#made--
        throw error
      }
    }
    return await this.#gpu.guard(new Promise<GPUBuffer>((resolve) => this.#waiters.push(resolve)))
  }

  #give(buffer: GPUBuffer): void {
    const waiter = this.#waiters.shift()
    if (waiter !== undefined) waiter(buffer)
    else if (this.#released) this.#gpu.destroy(buffer)
    else this.#free.push(buffer)
  }

  /**
   * Destroys the ring, once nothing reads from it any more; what is read from for longer goes when it is given back.
   */
  async release(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#using), delay(RELEASE_LIMIT_MS, undefined, { ref: false })])
    this.#released = true
    for (const buffer of this.#free.splice(0)) this.#gpu.destroy(buffer)
  }
}
