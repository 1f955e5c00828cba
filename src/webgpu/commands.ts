/**
 * One unit of device work: dispatches recorded into a command buffer, submitted together and waited for. Small parameters go
 * into one uniform buffer a unit, at the offsets that bind groups need.
 */
import { GpuOutOfMemoryError, GpuValidationError } from '../errors.ts'
import type { Gpu } from './gpu.ts'
import type { Kernel } from './kernel.ts'
import { USAGE } from './open-gpu.ts'

/** A buffer, or a range of one: `offset` must be a multiple of minStorageBufferOffsetAlignment (256 at most). */
export type BufferRange = GPUBuffer | { readonly buffer: GPUBuffer; readonly offset: number; readonly size: number }

export interface Dispatch {
  /** In the order of the kernel's bindings, without the uniform. */
  readonly buffers: readonly BufferRange[]
  /** Words of the uniform, if the kernel has one. */
  readonly params?: readonly number[] | Uint32Array
  /** Workgroups in all; past 65,535 they spread over two dimensions, which `workgroup_number` in WGSL undoes. */
  readonly workgroups: number
}

const PARAMS_STRIDE = 256

export class Commands {
  readonly #gpu: Gpu
  readonly #label: string
  readonly #dispatches: { kernel: Kernel; dispatch: Dispatch; params: number | undefined }[] = []
  readonly #params: Uint32Array[] = []

  constructor(gpu: Gpu, label: string) {
    this.#gpu = gpu
    this.#label = label
  }

  dispatch(kernel: Kernel, dispatch: Dispatch): this {
    if (dispatch.workgroups === 0) return this
    let params: number | undefined
    if (dispatch.params !== undefined) {
      params = this.#params.length
      this.#params.push(Uint32Array.from(dispatch.params))
    }
    this.#dispatches.push({ kernel, dispatch, params })
    return this
  }

  /** Submits what was recorded and resolves when the device has done it. */
  async submit(): Promise<void> {
    const { device } = this.#gpu
    if (this.#dispatches.length === 0) return
    let uniform: GPUBuffer | undefined
    device.pushErrorScope('validation')
    device.pushErrorScope('out-of-memory')
    try {
      if (this.#params.length > 0) {
        const bytes = new Uint32Array((this.#params.length * PARAMS_STRIDE) / 4)
        this.#params.forEach((words, i) => bytes.set(words, (i * PARAMS_STRIDE) / 4))
        uniform = device.createBuffer({
          label: `${this.#label} parameters`,
          size: bytes.byteLength,
          usage: USAGE.uniform | USAGE.copyDst,
        })
        device.queue.writeBuffer(uniform, 0, bytes)
      }
      const encoder = device.createCommandEncoder({ label: this.#label })
      const pass = encoder.beginComputePass({ label: this.#label })
      for (const { kernel, dispatch, params } of this.#dispatches) this.#encode(pass, kernel, dispatch, uniform, params)
      pass.end()
      device.queue.submit([encoder.finish()])
    } finally {
      const [memory, validation] = [device.popErrorScope(), device.popErrorScope()]
      const done = device.queue.onSubmittedWorkDone()
      // All three promises are awaited together, so that none of them rejects unseen when the device is lost.
      const [memoryError, validationError] = await this.#gpu.guard(Promise.all([memory, validation, done]))
      uniform?.destroy()
      const details = { device: this.#gpu.info.name }
      if (memoryError !== null) throw new GpuOutOfMemoryError(`${this.#label}: ${memoryError.message}`, { details })
      if (validationError !== null)
        throw new GpuValidationError(`${this.#label}: ${validationError.message}`, { details })
    }
  }

  #encode(
    pass: GPUComputePassEncoder,
    kernel: Kernel,
    { buffers, workgroups }: Dispatch,
    uniform: GPUBuffer | undefined,
    params: number | undefined,
  ): void {
    const { pipeline, layout } = this.#gpu.compiled(kernel)
    const entries: GPUBindGroupEntry[] = buffers.map((range, binding) => ({
      binding,
      resource: 'buffer' in range ? range : { buffer: range },
    }))
    if (uniform !== undefined && params !== undefined) {
      entries.push({
        binding: buffers.length,
        resource: { buffer: uniform, offset: params * PARAMS_STRIDE, size: PARAMS_STRIDE },
      })
    }
    pass.setPipeline(pipeline)
    pass.setBindGroup(0, this.#gpu.device.createBindGroup({ label: kernel.name, layout, entries }))
    const limit = this.#gpu.limits.maxComputeWorkgroupsPerDimension
    const x = Math.min(workgroups, limit)
    pass.dispatchWorkgroups(x, Math.ceil(workgroups / x))
  }
}
