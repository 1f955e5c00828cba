/**
 * Staging buffers: memory of the host that the device copies from. A ring of them is made as it is needed and reused; a
 * buffer is mapped until it is sent, so that a file can be read straight into it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { BufferRing, type RingTarget } from './buffer-ring.ts'
import { MAP, USAGE } from './open-gpu.ts'
import { STAGING_BUFFERS, STAGING_BYTES } from './staging-plan.ts'

/** A file that does not answer is not waited for when the device is closed. */
const CLOSE_LIMIT_MS = 1_000

/** A ring of mapped buffers that bytes are sent through. */
export class StagingRing {
  readonly #target: RingTarget
  readonly #ring: BufferRing
  readonly #filling = new Set<Promise<unknown>>()

  constructor(target: RingTarget) {
    this.#target = target
    this.#ring = new BufferRing(target, {
      label: 'staging',
      size: STAGING_BYTES,
      usage: USAGE.mapWrite | USAGE.copySrc,
      mappedAtCreation: true,
    })
  }

  /** Bytes of the ring, in use or not. */
  get bytes(): number {
    return this.#ring.bytes
  }

  /**
   * Sends up to {@link STAGING_BYTES} through a buffer of the ring.
   * @param bytes a multiple of 4
   * @param fill writes them; the memory is the ring's again once the promise settles
   * @param submit submits what copies from the buffer; the buffer is reused when the device has done that
   * @param most buffers that the ring may have for it
   * @returns what `submit` returns
   * @throws what `fill` or `submit` throw
   */
  async send<T>(
    bytes: number,
    fill: (target: Uint8Array) => void | Promise<void>,
    submit: (staging: GPUBuffer) => T,
    most: number = STAGING_BUFFERS,
  ): Promise<T> {
    const buffer = await this.#ring.take(most)
    const filling = (async () => fill(new Uint8Array(buffer.getMappedRange(0, bytes))))()
    this.#filling.add(filling)
    try {
      await filling
    } catch (error) {
      // Mapped anew: a range that is handed out once is not handed out again.
      buffer.unmap()
      this.#map(buffer)
      throw error
    } finally {
      this.#filling.delete(filling)
    }
    buffer.unmap()
    try {
      return submit(buffer)
    } finally {
      this.#map(buffer)
    }
  }

  /** Waits until nothing is written to the ring's memory any more. */
  async idle(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#filling), delay(CLOSE_LIMIT_MS, undefined, { ref: false })])
  }

  /** Destroys the buffers that are not in use. */
  trim(): void {
    this.#ring.trim()
  }

  /** Maps a buffer, which waits for the device to be done with it, and gives it to whoever comes next. */
  #map(buffer: GPUBuffer): void {
    this.#target.guard(buffer.mapAsync(MAP.write)).then(
      () => this.#ring.give(buffer),
      // The device is gone, and the buffer with it.
      () => {},
    )
  }
}
