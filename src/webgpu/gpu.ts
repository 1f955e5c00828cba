/**
 * One opened device: buffers that are counted and reused, pipelines compiled once, commands that are waited for. Every wait is
 * raced against the loss of the device and every failure leaves as a typed error.
 */
import { GpuDeviceLostError, GpuOutOfMemoryError, GpuValidationError } from '../errors.ts'
import { Commands, type CommandTarget } from './commands.ts'
import { type CompiledKernel, composeKernel, type Kernel } from './kernel.ts'
import { type AdapterInfo, MAP, type OpenedGpu, type OpenGpuOptions, openGpu, USAGE } from './open-gpu.ts'
import { UnitPace } from './unit-pace.ts'

const STORAGE_USAGE = USAGE.storage | USAGE.copySrc | USAGE.copyDst
/** Uploads past this size go through mapped staging buffers: `writeBuffer` copies twice. */
const STAGED_UPLOAD_BYTES = 1 << 20
const STAGING_BYTES = 16 << 20
const STAGING_BUFFERS = 3
/** Sizes are rounded up to an eighth of their power of two, so that buffers are found again for similar work. */
const roundSize = (bytes: number): number => {
  const step = Math.max(256, 2 ** (Math.floor(Math.log2(Math.max(bytes, 1))) - 3))
  return Math.ceil(Math.max(bytes, 16) / step) * step
}

export class Gpu implements CommandTarget {
  readonly device: GPUDevice
  readonly info: AdapterInfo
  readonly limits: GPUSupportedLimits
  /** Largest range of a buffer that a kernel may be given. */
  readonly bindingBytes: number
  /** Bytes of all buffers that exist, in use or kept for reuse. */
  allocatedBytes = 0
  /** Bytes that crossed to and from the device. */
  uploadedBytes = 0
  downloadedBytes = 0
  /** How much work makes a unit on this adapter. */
  readonly pace: UnitPace = new UnitPace()
  /** `performance.now()` when the last unit was done. */
  lastUnitEnd = 0
  /** Told of every unit when it is done: its label, and the milliseconds that it took. */
  onUnit: ((label: string, ms: number) => void) | undefined
  #instance: unknown
  #lost: GpuDeviceLostError | undefined
  #closed = false
  readonly #lostSignal: Promise<never>
  readonly #memoryBytes: number
  readonly #idle = new Map<number, GPUBuffer[]>()
  readonly #compiled = new Map<string, Promise<CompiledKernel>>()
  readonly #ready = new Map<string, CompiledKernel>()
  readonly #staging: GPUBuffer[] = []
  #stagingCreated = 0
  readonly #stagingWaiters: ((buffer: GPUBuffer) => void)[] = []

  private constructor(opened: OpenedGpu, memoryBytes: number, bindingBytes: number) {
    this.device = opened.device
    this.info = opened.info
    this.limits = opened.device.limits
    this.bindingBytes = Math.min(bindingBytes, this.limits.maxStorageBufferBindingSize)
    this.#instance = opened.instance
    this.#memoryBytes = memoryBytes
    this.#lostSignal = new Promise((_, reject) => {
      opened.device.lost.then((info) => {
        this.#lost = new GpuDeviceLostError(
          this.#closed ? 'The device was closed.' : `The GPU device was lost: ${info.message || info.reason}.`,
          { details: { device: this.info.name } },
        )
        reject(this.#lost)
      })
    })
    this.#lostSignal.catch(() => {})
  }

  /** @param memoryBytes device memory that may be allocated. */
  static async open(options: OpenGpuOptions & { readonly memoryBytes?: number | undefined } = {}): Promise<Gpu> {
    const { memoryBytes = Number.POSITIVE_INFINITY, bindingBytes = Number.POSITIVE_INFINITY } = options
    return new Gpu(await openGpu(options), memoryBytes, bindingBytes)
  }

  /** Settles as the promise does, or rejects once the device is lost. */
  async guard<T>(promise: Promise<T>): Promise<T> {
    if (this.#lost !== undefined) throw this.#lost
    return Promise.race([promise, this.#lostSignal])
  }

  /** Compiles kernels (once each, in parallel), so that {@link Commands.dispatch} finds them. */
  async prepare(kernels: readonly Kernel[]): Promise<void> {
    await Promise.all(kernels.map((kernel) => this.#compile(kernel)))
  }

  compiled(kernel: Kernel): CompiledKernel {
    const compiled = this.#ready.get(kernelKey(kernel))
    if (compiled === undefined) throw new Error(`Kernel ${kernel.name} was not prepared.`)
    return compiled
  }

  #compile(kernel: Kernel): Promise<CompiledKernel> {
    const key = kernelKey(kernel)
    let promise = this.#compiled.get(key)
    if (promise === undefined) {
      promise = this.guard(this.#compileNow(kernel)).then((compiled) => {
        this.#ready.set(key, compiled)
        return compiled
      })
      promise.catch(() => this.#compiled.delete(key))
      this.#compiled.set(key, promise)
    }
    return promise
  }

  async #compileNow(kernel: Kernel): Promise<CompiledKernel> {
    const layout = this.device.createBindGroupLayout({
      label: kernel.name,
      entries: kernel.bindings.map((binding, index) => ({
        binding: index,
        visibility: 4,
        buffer: { type: binding === 'uniform' ? 'uniform' : binding === 'read' ? 'read-only-storage' : 'storage' },
      })),
    })
    // Faults of the source are told by getCompilationInfo below; the scope only keeps them from the console.
    this.device.pushErrorScope('validation')
    const module = this.device.createShaderModule({ label: kernel.name, code: composeKernel(kernel) })
    this.device.popErrorScope().catch(() => {})
    try {
      const pipeline = await this.device.createComputePipelineAsync({
        label: kernel.name,
        layout: this.device.createPipelineLayout({ label: kernel.name, bindGroupLayouts: [layout] }),
        compute: { module, entryPoint: kernel.entry, constants: kernel.overrides ?? {} },
      })
      return { kernel, pipeline, layout }
    } catch (error) {
      if (this.#lost !== undefined) throw this.#lost
      const { messages } = await module.getCompilationInfo()
      const first = messages.find((message) => message.type === 'error')
      const reason = first === undefined ? (error as Error).message : `line ${first.lineNum}: ${first.message}`
      throw new GpuValidationError(`Kernel ${kernel.name} was refused: ${reason}`, {
        details: { device: this.info.name },
      })
    }
  }

  /**
   * A storage buffer of at least `bytes`; its content is undefined.
   * @throws {GpuOutOfMemoryError} the device refused, or the memory allowed is used up
   */
  async allocate(bytes: number, label: string): Promise<GPUBuffer> {
    const size = roundSize(bytes)
    if (this.#lost !== undefined) throw this.#lost
    const idle = this.#idle.get(size)?.pop()
    if (idle !== undefined) {
      idle.label = label
      return idle
    }
    if (this.allocatedBytes + size > this.#memoryBytes) this.trim()
    const outOfMemory = (cause?: unknown): GpuOutOfMemoryError =>
      new GpuOutOfMemoryError(`No device memory for ${label}: ${size} bytes on top of ${this.allocatedBytes}.`, {
        cause,
        details: { device: this.info.name, received: String(size) },
      })
    if (size > this.limits.maxBufferSize || this.allocatedBytes + size > this.#memoryBytes) throw outOfMemory()
    this.allocatedBytes += size
    try {
      const buffer = await this.#create({ label, size, usage: STORAGE_USAGE })
      if (buffer !== undefined) return buffer
      this.trim()
      const again = await this.#create({ label, size, usage: STORAGE_USAGE })
      if (again !== undefined) return again
      throw outOfMemory()
    } catch (error) {
      this.allocatedBytes -= size
      throw error
    }
  }

  async #create(descriptor: GPUBufferDescriptor): Promise<GPUBuffer | undefined> {
    this.device.pushErrorScope('out-of-memory')
    const buffer = this.device.createBuffer(descriptor)
    const error = await this.guard(this.device.popErrorScope())
    if (error === null) return buffer
    buffer.destroy()
    return undefined
  }

  /** Gives a buffer back for reuse. Work already submitted still sees it: the queue is in order. */
  release(buffer: GPUBuffer): void {
    const idle = this.#idle.get(buffer.size)
    if (idle === undefined) this.#idle.set(buffer.size, [buffer])
    else idle.push(buffer)
  }

  /** Destroys the buffers kept for reuse. */
  trim(): void {
    for (const buffers of this.#idle.values()) {
      for (const buffer of buffers) {
        this.allocatedBytes -= buffer.size
        buffer.destroy()
      }
    }
    this.#idle.clear()
  }

  /** Bytes in buffers that are in use. */
  get usedBytes(): number {
    let idle = 0
    for (const [size, buffers] of this.#idle) idle += size * buffers.length
    return this.allocatedBytes - idle
  }

  /** Copies bytes (a multiple of 4) into a buffer; they may be reused once the promise resolves. */
  async upload(buffer: GPUBuffer, offset: number, bytes: Uint8Array): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost
    this.uploadedBytes += bytes.byteLength
    if (bytes.byteLength <= STAGED_UPLOAD_BYTES) {
      // Dawn crashes on a view of a SharedArrayBuffer; a copy of these few bytes is on a buffer of its own.
      this.device.queue.writeBuffer(buffer, offset, new Uint8Array(bytes))
      return
    }
    for (let at = 0; at < bytes.byteLength; at += STAGING_BYTES) {
      const part = bytes.subarray(at, Math.min(at + STAGING_BYTES, bytes.byteLength))
      const staging = await this.#takeStaging()
      new Uint8Array(staging.getMappedRange(0, part.byteLength)).set(part)
      staging.unmap()
      const encoder = this.device.createCommandEncoder({ label: 'upload' })
      encoder.copyBufferToBuffer(staging, 0, buffer, offset + at, part.byteLength)
      this.device.queue.submit([encoder.finish()])
      this.guard(staging.mapAsync(MAP.write)).then(
        () => this.#giveStaging(staging),
        () => {},
      )
    }
  }

  async #takeStaging(): Promise<GPUBuffer> {
    const free = this.#staging.pop()
    if (free !== undefined) return free
    if (this.#stagingCreated < STAGING_BUFFERS) {
      this.#stagingCreated++
      return this.device.createBuffer({
        label: 'staging',
        size: STAGING_BYTES,
        usage: USAGE.mapWrite | USAGE.copySrc,
        mappedAtCreation: true,
      })
    }
    return this.guard(new Promise((resolve) => this.#stagingWaiters.push(resolve)))
  }

  #giveStaging(buffer: GPUBuffer): void {
    const waiter = this.#stagingWaiters.shift()
    if (waiter === undefined) this.#staging.push(buffer)
    else waiter(buffer)
  }

  /** Reads a range back. Slow per byte: for small results only. */
  async download(buffer: GPUBuffer, offset: number, bytes: number): Promise<Uint8Array> {
    if (this.#lost !== undefined) throw this.#lost
    this.downloadedBytes += bytes
    const target = this.device.createBuffer({ label: 'read back', size: bytes, usage: USAGE.mapRead | USAGE.copyDst })
    try {
      const encoder = this.device.createCommandEncoder({ label: 'read back' })
      encoder.copyBufferToBuffer(buffer, offset, target, 0, bytes)
      this.device.queue.submit([encoder.finish()])
      await this.guard(target.mapAsync(MAP.read))
      return new Uint8Array(target.getMappedRange()).slice()
    } finally {
      target.destroy()
    }
  }

  /** Starts recording one unit of work. */
  commands(label: string): Commands {
    return new Commands(this, label)
  }

  /** Frees everything. Idempotent. Drop the object afterwards: the process can't exit while Dawn's instance is reachable. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.trim()
    this.device.destroy()
    await this.device.lost
    this.#instance = undefined
  }

  /** Keeps the instance reachable, and tells whether the device is open. */
  get open(): boolean {
    return this.#instance !== undefined && this.#lost === undefined
  }
}

const kernelKey = (kernel: Kernel): string =>
  kernel.overrides === undefined ? kernel.name : `${kernel.name} ${JSON.stringify(kernel.overrides)}`
