/**
 * Read-back buffers: memory of the host that the device copies to. A ring of a few takes what is large out of the
 * device part by part, as it lies in the mapping: a file is written straight from there.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { TakePoints } from '../groth16/proving-device.ts'
import { BufferRing } from './buffer-ring.ts'
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
  readonly #ring: BufferRing
  readonly #using = new Set<Promise<unknown>>()
  #released = false

  constructor(gpu: Gpu) {
    this.#gpu = gpu
    this.#ring = new BufferRing(gpu, {
      label: 'read back',
      size: READ_BACK_BYTES,
      usage: USAGE.mapRead | USAGE.copyDst,
    })
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
        const size = Math.min(READ_BACK_BYTES, bytes - at)
        const part = this.#part(from, at, size, await this.#ring.take(READ_BACK_BUFFERS), take)
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

  #give(buffer: GPUBuffer): void {
    this.#ring.give(buffer)
    if (this.#released) this.#ring.trim()
  }

  /**
   * Destroys the ring, once nothing reads from it any more; what is read from for longer goes when it is given back.
   */
  async release(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#using), delay(RELEASE_LIMIT_MS, undefined, { ref: false })])
    this.#released = true
    this.#ring.trim()
  }
}
