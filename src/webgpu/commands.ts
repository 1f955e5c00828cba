/**
 * One unit of device work: dispatches recorded into a command buffer, submitted together and waited for. Small
 * parameters go into one uniform buffer a unit, at the offsets that bind groups need.
 */
import { GpuOutOfMemoryError, GpuValidationError } from '../errors.ts'
import { type BindGroups, type BufferRange, PARAMS_STRIDE } from './bind-groups.ts'
import type { CompiledKernel, Kernel } from './kernel.ts'
import type { LeavingMemory } from './leaving-memory.ts'
import type { AdapterInfo } from './open-gpu.ts'
import { noteSubmission } from './quiet-polling.ts'

export type { BufferRange } from './bind-groups.ts'

/** The device that commands are for. */
export interface CommandTarget {
  readonly device: GPUDevice
  readonly bindGroups: BindGroups
  /** Workgroups of a dispatch in one dimension. */
  readonly gridWidth: number
  readonly info: AdapterInfo
  compiled(kernel: Kernel): CompiledKernel
  /** A buffer for parameters, of at least so many bytes. */
  uniform(bytes: number): GPUBuffer
  releaseUniform(buffer: GPUBuffer): void
  /** Settles as the promise does, or rejects once the device is lost. */
  guard<T>(promise: Promise<T>): Promise<T>
  readonly leaving: Pick<LeavingMemory, 'submitted'>
  readonly onUnit: ((label: string, ms: number) => void) | undefined
  /** `performance.now()` when the last unit was done. */
  lastUnitEnd: number
}

interface DispatchData {
  /** In the order of the kernel's bindings, without the uniform. */
  readonly buffers: readonly BufferRange[]
  /** Words of the uniform, if the kernel has one. */
  readonly params?: readonly number[] | Uint32Array
}

/** Workgroups in all; past 65,535 they spread over a {@link grid}, which `workgroup_number` in WGSL undoes. */
export interface Dispatch extends DispatchData {
  readonly workgroups: number
}

/** Invocations in all, of a kernel that declares `override workgroup_size`. */
export interface ThreadDispatch extends DispatchData {
  readonly threads: number
}

/**
 * Columns and rows of a grid of at least so many workgroups, none of them more than `width` columns: exactly as many
 * where the number is a power of two, else up to one less than a row too many, which kernels must pass over.
 */
export function grid(workgroups: number, width: number): [columns: number, rows: number] {
  let rows = 1
  while (workgroups > rows * width) rows *= 2
  return [Math.ceil(workgroups / rows), rows]
}

type RecordedDispatch = Dispatch & { readonly compiled: CompiledKernel }
type Operation =
  | { readonly kind: 'dispatch'; readonly dispatch: RecordedDispatch; readonly index: number }
  | { readonly kind: 'clear'; readonly buffer: GPUBuffer; readonly offset: number; readonly bytes: number }
  | {
      readonly kind: 'copy'
      readonly from: GPUBuffer
      readonly fromOffset: number
      readonly to: GPUBuffer
      readonly toOffset: number
      readonly bytes: number
    }

/** Work as it is recorded, until it is submitted once. */
export class Commands {
  readonly #gpu: CommandTarget
  readonly #label: string
  readonly #operations: Operation[] = []
  readonly #params: (Dispatch['params'] | undefined)[] = []

  constructor(gpu: CommandTarget, label: string) {
    this.#gpu = gpu
    this.#label = label
  }

  /** Records a dispatch of a kernel that {@link Gpu.prepare} compiled. */
  dispatch(kernel: Kernel, dispatch: Dispatch | ThreadDispatch): this {
    if (('threads' in dispatch ? dispatch.threads : dispatch.workgroups) === 0) return this
    const compiled = this.#gpu.compiled(kernel)
    const workgroups =
      'threads' in dispatch ? Math.ceil(dispatch.threads / compiled.workgroupSize) : dispatch.workgroups
    const recorded = { ...dispatch, workgroups, compiled }
    this.#operations.push({ kind: 'dispatch', dispatch: recorded, index: this.#params.length })
    this.#params.push(dispatch.params)
    return this
  }

  /** Fills a range with zeros; offset and length in bytes, multiples of 4. */
  clear(buffer: GPUBuffer, offset: number, bytes: number): this {
    if (bytes > 0) this.#operations.push({ kind: 'clear', buffer, offset, bytes })
    return this
  }

  /** Copies a range; offsets and length in bytes, multiples of 4. */
  copy(from: GPUBuffer, fromOffset: number, to: GPUBuffer, toOffset: number, bytes: number): this {
    if (bytes > 0) this.#operations.push({ kind: 'copy', from, fromOffset, to, toOffset, bytes })
    return this
  }

  /** Operations recorded. */
  get size(): number {
    return this.#operations.length
  }

  /**
   * Submits what was recorded and resolves when the device has done it.
   * @returns the milliseconds that it took, from its submission or from when the device was done with what came before
   * @throws {GpuOutOfMemoryError} {@link GpuValidationError} {@link GpuDeviceLostError}
   */
  async submit(): Promise<number> {
    const { device } = this.#gpu
    if (this.#operations.length === 0) return 0
    const uniform = this.#uniform()
    device.pushErrorScope('validation')
    device.pushErrorScope('out-of-memory')
    const encoder = device.createCommandEncoder({ label: this.#label })
    let pass: GPUComputePassEncoder | undefined
    for (const operation of this.#operations) {
      if (operation.kind === 'dispatch') {
        pass ??= encoder.beginComputePass({ label: this.#label })
        this.#encode(pass, operation.dispatch, uniform, operation.index)
        continue
      }
      pass?.end()
      pass = undefined
      if (operation.kind === 'clear') encoder.clearBuffer(operation.buffer, operation.offset, operation.bytes)
      else {
        const { from, fromOffset, to, toOffset, bytes } = operation
        encoder.copyBufferToBuffer(from, fromOffset, to, toOffset, bytes)
      }
    }
    pass?.end()
    device.queue.submit([encoder.finish()])
    const done = this.#gpu.leaving.submitted()
    noteSubmission()
    // Awaited together, so that none rejects unseen when the device is lost.
    const start = performance.now()
    const [memory, validation] = await this.#gpu.guard(
      Promise.all([device.popErrorScope(), device.popErrorScope(), device.queue.onSubmittedWorkDone()]),
    )
    done()
    this.#gpu.releaseUniform(uniform)
    const now = performance.now()
    const ms = now - Math.max(start, this.#gpu.lastUnitEnd)
    this.#gpu.lastUnitEnd = now
    this.#gpu.onUnit?.(this.#label, ms)
    const details = { device: this.#gpu.info.name }
    if (memory !== null) throw new GpuOutOfMemoryError(`${this.#label}: ${memory.message}`, { details })
    if (validation !== null) throw new GpuValidationError(`${this.#label}: ${validation.message}`, { details })
    return ms
  }

  /** Parameters of all dispatches, one stride each. */
  #uniform(): GPUBuffer {
    const words = new Uint32Array((Math.max(1, this.#params.length) * PARAMS_STRIDE) / 4)
    for (const [index, params] of this.#params.entries()) {
      if (params !== undefined) words.set(params, (index * PARAMS_STRIDE) / 4)
    }
    const buffer = this.#gpu.uniform(words.byteLength)
    this.#gpu.device.queue.writeBuffer(buffer, 0, words)
    return buffer
  }

  #encode(
    pass: GPUComputePassEncoder,
    { compiled, buffers, params, workgroups }: RecordedDispatch,
    uniform: GPUBuffer,
    index: number,
  ): void {
    pass.setPipeline(compiled.pipeline)
    if (params === undefined) pass.setBindGroup(0, this.#gpu.bindGroups.of(compiled, buffers))
    else pass.setBindGroup(0, this.#gpu.bindGroups.of(compiled, buffers, uniform), [index * PARAMS_STRIDE])
    pass.dispatchWorkgroups(...grid(workgroups, this.#gpu.gridWidth))
  }
}
