/**
 * One opened device: buffers that are counted and reused, pipelines compiled once, commands that are waited for. Every
 * wait is raced against the loss of the device and every failure leaves as a typed error.
 */
import { GpuDeviceLostError, GpuOutOfMemoryError } from '../errors.ts'
import { allocationBytes } from './allocation.ts'
import { BindGroups } from './bind-groups.ts'
import type { RingTarget } from './buffer-ring.ts'
import { Commands, type CommandTarget } from './commands.ts'
import { CompiledKernels, type CompileTarget } from './compiled-kernels.ts'
import { type BufferKind, IdleBuffers } from './idle-buffers.ts'
import type { CompiledKernel, Kernel } from './kernel.ts'
import { LeavingMemory } from './leaving-memory.ts'
import { type AdapterInfo, MAP, type OpenedGpu, type OpenGpuOptions, openGpu, USAGE } from './open-gpu.ts'
import { noteSubmission } from './quiet-polling.ts'
import { StagingRing } from './staging.ts'
import { STAGING_BYTES } from './staging-plan.ts'
import { DEFAULT_TUNING, type Tuning } from './tuning.ts'
import { UnitGate } from './unit-gate.ts'
import { UnitPace } from './unit-pace.ts'

const STORAGE_USAGE = USAGE.storage | USAGE.copySrc | USAGE.copyDst
/** Uploads past this size go through mapped staging buffers: `writeBuffer` copies twice. */
const STAGED_UPLOAD_BYTES = 1 << 20
const LEAST_SMALL_BYTES = 4096

/**
 * Share of the memory to count on that may be on its way back to the driver beside what is allocated: without it, every
 * buffer that takes another's place would wait for all work in flight.
 */
const LEAVING_SHARE = 1 / 16

interface GpuMemoryOption {
  /** Device memory that may be allocated. @default what the driver gives */
  readonly memoryBytes?: number | undefined
}

/** A device with its buffers, kernels and queue. */
export class Gpu implements CommandTarget, CompileTarget, RingTarget {
  readonly device: GPUDevice
  readonly info: AdapterInfo
  readonly limits: GPUSupportedLimits
  /** Largest range of a buffer that a kernel may be given. */
  readonly bindingBytes: number
  readonly gridWidth: number
  /** Bytes of all buffers that exist, in use or kept for reuse. */
  allocatedBytes = 0
  /**
   * Memory to plan for: what the card has, or what the driver gave when it refused more; infinite where neither is
   * known.
   */
  givenBytes: number = Number.POSITIVE_INFINITY
  /** The most that {@link allocatedBytes} was. */
  peakBytes = 0
  /** Bytes that crossed to and from the device. */
  uploadedBytes = 0
  downloadedBytes = 0
  readonly bindGroups: BindGroups
  /** How much work makes a unit on this adapter. */
  readonly pace: UnitPace = new UnitPace()
  /** Whose unit goes next. */
  readonly gate: UnitGate = new UnitGate()
  /** What larger uploads go through. */
  readonly staging: StagingRing = new StagingRing(this)
  /** `performance.now()` when the last unit was done. */
  lastUnitEnd = 0
  /** Told of every unit when it is done: its label, and the milliseconds that it took. */
  onUnit: ((label: string, ms: number) => void) | undefined
  #instance: unknown
  #lost: GpuDeviceLostError | undefined
  #closed = false
  readonly #lostSignal: Promise<never>
  /** Device memory that may be allocated. */
  readonly memoryBytes: number
  /** Buffers that are no more, and count as memory for a while. */
  readonly leaving: LeavingMemory = new LeavingMemory()
  /** Buffers for reuse. */
  readonly #idle = new IdleBuffers()
  #tuning: Tuning = DEFAULT_TUNING
  readonly #kernels = new CompiledKernels(this)

  private constructor(
    opened: OpenedGpu,
    { memoryBytes, bindingBytes, gridWidth }: Pick<OpenGpuOptions, 'bindingBytes' | 'gridWidth'> & GpuMemoryOption,
  ) {
    const most = Number.POSITIVE_INFINITY
    this.device = opened.device
    this.bindGroups = new BindGroups(opened.device)
    this.info = opened.info
    this.limits = opened.device.limits
    this.bindingBytes = Math.min(bindingBytes ?? most, this.limits.maxStorageBufferBindingSize)
    this.gridWidth = Math.min(gridWidth ?? most, this.limits.maxComputeWorkgroupsPerDimension)
    this.#instance = opened.instance
    this.memoryBytes = memoryBytes ?? most
    this.#lostSignal = new Promise((_, reject) => {
      opened.device.lost.then((info) => {
        const why = this.#closed ? 'The device was closed.' : `The GPU device was lost: ${info.message || info.reason}.`
        this.#lost = this.#lostError(why)
        reject(this.#lost)
      })
    })
    this.#lostSignal.catch(() => {})
  }

  /** @throws {GpuUnavailableError} there is no adapter, or none that is wanted */
  static async open(options: OpenGpuOptions & GpuMemoryOption = {}): Promise<Gpu> {
    return new Gpu(await openGpu(options), options)
  }

  #lostError(message: string): GpuDeviceLostError {
    return new GpuDeviceLostError(message, { details: { device: this.info.name } })
  }

  /** Settles as the promise does, or rejects once the device is lost. */
  async guard<T>(promise: Promise<T>): Promise<T> {
    if (this.#lost !== undefined) throw this.#lost
    return Promise.race([promise, this.#lostSignal])
  }

  get tuning(): Tuning {
    return this.#tuning
  }

  /**
   * Takes over what the adapter was calibrated to. Where work goes on, the kernels of the new size must have been
   * prepared before.
   */
  tune(tuning: Tuning): void {
    this.#tuning = tuning
    this.pace.start(tuning.firstUnit)
  }

  /** Compiles kernels (once each, in parallel), so that {@link Commands.dispatch} finds them. */
  async prepare(kernels: readonly Kernel[]): Promise<void> {
    if (this.#closed) throw this.#lostError('The device was closed.')
    await this.#kernels.prepare(kernels, this.#tuning.workgroupSize)
  }

  /** A kernel that {@link prepare} has compiled. */
  compiled(kernel: Kernel): CompiledKernel {
    return this.#kernels.of(kernel, this.#tuning.workgroupSize)
  }

  /**
   * A storage buffer of at least `bytes`; its content is undefined.
   * @throws {GpuOutOfMemoryError} the device refused, or the memory allowed is used up
   */
  async allocate(bytes: number, label: string): Promise<GPUBuffer> {
    const size = allocationBytes(bytes)
    if (this.#lost !== undefined) throw this.#lost
    const idle = this.#idle.take('storage', size)
    if (idle !== undefined) {
      idle.label = label
      return idle
    }
    return await this.create({ label, size, usage: STORAGE_USAGE })
  }

  /**
   * A buffer of any use that counts as device memory; {@link destroy} ends it.
   * @throws {GpuOutOfMemoryError} the device refused, or the memory allowed is used up, also after idle buffers were
   * given up
   */
  async create(descriptor: GPUBufferDescriptor): Promise<GPUBuffer> {
    this.#count(descriptor)
    try {
      const leaving = this.leaving.bytes
      if (leaving > 0 && this.allocatedBytes + leaving > (1 + LEAVING_SHARE) * this.plannedBytes) await this.returned()
      const buffer = await this.#tryCreate(descriptor)
      if (buffer !== undefined) return buffer
      this.trim()
      await this.returned()
      const again = await this.#tryCreate(descriptor)
      if (again !== undefined) return again
      const others = this.allocatedBytes - descriptor.size
      this.givenBytes = Math.min(this.givenBytes, others)
      throw this.#outOfMemory(descriptor, others, 'the driver gave no more')
    } catch (error) {
      this.allocatedBytes -= descriptor.size
      throw error
    }
  }

  /**
   * Counts a buffer that is about to be made.
   * @throws {GpuOutOfMemoryError} the memory allowed is used up, also after idle buffers were given up
   */
  #count(descriptor: GPUBufferDescriptor): void {
    const { size } = descriptor
    this.#giveUp(size)
    const others = this.allocatedBytes
    if (others + size > this.memoryBytes) {
      throw this.#outOfMemory(descriptor, others, `gpu.memoryBytes is ${this.memoryBytes}`, 'gpu.memoryBytes')
    }
    const { maxBufferSize } = this.limits
    if (size > maxBufferSize) throw this.#outOfMemory(descriptor, others, `a buffer has ${maxBufferSize} at most`)
    this.allocatedBytes += size
    this.peakBytes = Math.max(this.peakBytes, this.allocatedBytes)
  }

  /**
   * @param others bytes of all other buffers
   * @param field the option that allows no more
   */
  #outOfMemory({ label, size }: GPUBufferDescriptor, others: number, why: string, field?: string): GpuOutOfMemoryError {
    const details = { device: this.info.name, received: String(size), ...(field !== undefined && { field }) }
    const what = `${size} bytes on top of ${others}`
    return new GpuOutOfMemoryError(`No device memory for ${label}: ${what}; ${why}.`, { details })
  }

  async #tryCreate(descriptor: GPUBufferDescriptor): Promise<GPUBuffer | undefined> {
    this.device.pushErrorScope('out-of-memory')
    const buffer = this.device.createBuffer(descriptor)
    const error = await this.guard(this.device.popErrorScope())
    if (error === null) return buffer
    buffer.destroy()
    return undefined
  }

  /** Ends a buffer that {@link create} made. */
  destroy(buffer: GPUBuffer): void {
    this.allocatedBytes -= buffer.size
    this.leaving.destroyed(buffer.size)
    buffer.destroy()
  }

  /** Gives a buffer back for reuse. Work already submitted still sees it: the queue is in order. */
  release(buffer: GPUBuffer): void {
    this.#idle.give('storage', buffer)
  }

  /**
   * A buffer of at least `bytes` for the parameters of one unit, at once; {@link releaseUniform} gives it back.
   * @throws {GpuOutOfMemoryError} the memory allowed is used up
   */
  uniform(bytes: number): GPUBuffer {
    return this.#takeSmall('uniform', bytes, USAGE.uniform | USAGE.copyDst)
  }

  releaseUniform(buffer: GPUBuffer): void {
    this.#idle.give('uniform', buffer)
  }

  /**
   * Small buffers are made without waiting for the driver's word: whether it had no memory shows in the unit that uses
   * them.
   */
  #takeSmall(kind: BufferKind, bytes: number, usage: number): GPUBuffer {
    const descriptor = { label: kind, size: 2 ** Math.ceil(Math.log2(Math.max(bytes, LEAST_SMALL_BYTES))), usage }
    const idle = this.#idle.take(kind, descriptor.size)
    if (idle !== undefined) return idle
    this.#count(descriptor)
    return this.device.createBuffer(descriptor)
  }

  /**
   * Destroys the buffers kept for reuse. The driver gets them back now, and not when the next proof submits its first
   * unit.
   */
  trim(): void {
    for (let buffer = this.#idle.takeOldest(); buffer !== undefined; buffer = this.#idle.takeOldest()) {
      this.destroy(buffer)
    }
    this.staging.trim()
    // A device that is lost or closed has nothing to give back.
    if (!this.#closed) this.returned().catch(() => {})
  }

  /**
   * Destroys idle buffers, those first that nobody wanted for longest, until so many bytes more are within the memory
   * to count on.
   */
  #giveUp(bytes: number): void {
    while (this.allocatedBytes + bytes > this.plannedBytes) {
      // Crumbs would make no room, but be missed: small circuits live on them.
      const buffer = this.#idle.takeOldest(bytes / 8) ?? this.#idle.takeOldest()
      if (buffer === undefined) break
      this.destroy(buffer)
    }
    if (this.allocatedBytes + bytes > this.memoryBytes) this.staging.trim()
  }

  /**
   * Resolves when the driver has got back what was destroyed: Dawn returns it when work that is submitted afterwards is
   * done, and the driver takes 30 ms a gibibyte, in which nothing else can be submitted.
   */
  async returned(): Promise<void> {
    this.device.queue.submit([this.device.createCommandEncoder({ label: 'nothing' }).finish()])
    const done = this.leaving.submitted()
    await this.guard(this.device.queue.onSubmittedWorkDone())
    done()
  }

  /** Memory to count on: what may be allocated, as far as it is there. */
  get plannedBytes(): number {
    return Math.min(this.memoryBytes, this.givenBytes)
  }

  /** Bytes in buffers that are in use; the staging ring is not, between uploads. */
  get usedBytes(): number {
    return this.allocatedBytes - this.staging.bytes - this.#idle.bytes
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
      await this.staging.send(
        part.byteLength,
        (target) => target.set(part),
        (staging) => {
          const encoder = this.device.createCommandEncoder({ label: 'upload' })
          encoder.copyBufferToBuffer(staging, 0, buffer, offset + at, part.byteLength)
          this.device.queue.submit([encoder.finish()])
        },
      )
    }
  }

  /** Reads a range back. Slow per byte: for small results only. */
  async download(buffer: GPUBuffer, offset: number, bytes: number): Promise<Uint8Array> {
    if (this.#lost !== undefined) throw this.#lost
    this.downloadedBytes += bytes
    const target = this.#takeSmall('read back', bytes, USAGE.mapRead | USAGE.copyDst)
    let reusable = false
    try {
      const encoder = this.device.createCommandEncoder({ label: 'read back' })
      encoder.copyBufferToBuffer(buffer, offset, target, 0, bytes)
      this.device.queue.submit([encoder.finish()])
      noteSubmission()
      await this.guard(target.mapAsync(MAP.read, 0, bytes))
      const read = new Uint8Array(target.getMappedRange(0, bytes)).slice()
      target.unmap()
      reusable = true
      return read
    } finally {
      if (reusable) this.#idle.give('read back', target)
      else this.destroy(target)
    }
  }

  /** Starts recording one unit of work. */
  commands(label: string): Commands {
    return new Commands(this, label)
  }

  /**
   * Frees everything. Idempotent. Drop the object afterwards: the process can't exit while Dawn's instance is
   * reachable.
   */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    // What a compiler's thread or the file system still writes to must not go first.
    await Promise.all([this.#kernels.idle(), this.staging.idle()])
    this.trim()
    this.device.destroy()
    await this.device.lost
    this.#instance = undefined
  }

  /** Keeps the instance reachable, and tells whether the device is open. */
  get open(): boolean {
    return this.#instance !== undefined && this.#lost === undefined && !this.#closed
  }
}
