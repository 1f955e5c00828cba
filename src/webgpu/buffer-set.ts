import type { Gpu } from './gpu.ts'

/** Buffers that are released together, on every path: `using` or `finally`. */
export class BufferSet {
  readonly #gpu: Gpu
  readonly #releases: (() => void)[] = []

  constructor(gpu: Gpu) {
    this.#gpu = gpu
  }

  async allocate(bytes: number, label: string): Promise<GPUBuffer> {
    const buffer = await this.#gpu.allocate(bytes, label)
    this.#releases.push(() => this.#gpu.release(buffer))
    return buffer
  }

  /** Takes over anything that has to be released with the set. */
  own<T extends { release(): void }>(resource: T): T {
    this.#releases.push(() => resource.release())
    return resource
  }

  release(): void {
    for (const release of this.#releases.splice(0)) release()
  }
}
