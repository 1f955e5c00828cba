/**
 * The kernels that a device has compiled: once each and size of workgroups, as many at a time as are asked for. One
 * that the device refuses fails with the line at fault, and is compiled anew when it is asked for again.
 */
import { GpuValidationError } from '../errors.ts'
import { type CompiledKernel, composeKernel, type Kernel, WORKGROUP_SIZE } from './kernel.ts'
import type { AdapterInfo } from './open-gpu.ts'

/** What compiling needs of a device. */
export interface CompileTarget {
  readonly device: GPUDevice
  readonly info: AdapterInfo
  /** Settles as the promise does, or rejects once the device is lost. */
  guard<T>(promise: Promise<T>): Promise<T>
}

/** The compiled kernels of one device. */
export class CompiledKernels {
  readonly #target: CompileTarget
  readonly #begun = new Map<string, Promise<CompiledKernel>>()
  readonly #ready = new Map<string, CompiledKernel>()
  /** In the hands of the compiler's threads. */
  readonly #compiling = new Set<Promise<unknown>>()

  constructor(target: CompileTarget) {
    this.#target = target
  }

  /**
   * Compiles kernels that are not compiled yet, all at once.
   * @param tunedSize invocations of a workgroup of those that are tuned
   * @throws {GpuValidationError} the device refused one
   * @throws {GpuDeviceLostError}
   */
  async prepare(kernels: readonly Kernel[], tunedSize: number): Promise<void> {
    await Promise.all(kernels.map((kernel) => this.#prepare(kernel, tunedSize)))
  }

  /** A kernel that {@link prepare} has compiled for this size. */
  of(kernel: Kernel, tunedSize: number): CompiledKernel {
    const compiled = this.#ready.get(keyOf(kernel, tunedSize))
    if (compiled === undefined) throw new Error(`Kernel ${kernel.name} was not prepared.`)
    return compiled
  }

  /** Resolves when no thread of the compiler is at work for what was asked for until now. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#compiling)
  }

  #prepare(kernel: Kernel, tunedSize: number): Promise<CompiledKernel> {
    const key = keyOf(kernel, tunedSize)
    let promise = this.#begun.get(key)
    if (promise === undefined) {
      promise = this.#target.guard(this.#compile(kernel, sizeOf(kernel, tunedSize))).then((compiled) => {
        this.#ready.set(key, compiled)
        return compiled
      })
      promise.catch(() => this.#begun.delete(key))
      this.#begun.set(key, promise)
    }
    return promise
  }

  async #compile(kernel: Kernel, workgroupSize: number): Promise<CompiledKernel> {
    const { device, info } = this.#target
    const { name: label, tuned } = kernel
    const layout = device.createBindGroupLayout({ label, entries: kernel.bindings.map(layoutEntry) })
    // Faults of the source are told by getCompilationInfo below; the scope only keeps them from the console.
    device.pushErrorScope('validation')
    const module = device.createShaderModule({ label, code: composeKernel(kernel) })
    device.popErrorScope().catch(() => {})
    const compiling = device.createComputePipelineAsync({
      label,
      layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout] }),
      compute: {
        module,
        entryPoint: kernel.entry,
        constants: tuned === true ? { workgroup_size: workgroupSize } : {},
      },
    })
    this.#compiling.add(compiling)
    try {
      return { kernel, workgroupSize, pipeline: await compiling, layout }
    } catch (error) {
      // Of a device that is lost every compilation fails: the guard tells that.
      const { messages } = await this.#target.guard(module.getCompilationInfo())
      const first = messages.find((message) => message.type === 'error')
      const reason = first === undefined ? (error as Error).message : `line ${first.lineNum}: ${first.message}`
      throw new GpuValidationError(`Kernel ${label} was refused: ${reason}`, { details: { device: info.name } })
    } finally {
      this.#compiling.delete(compiling)
    }
  }
}

/** `GPUShaderStage.COMPUTE`, which is not defined where Dawn's globals are not. */
const COMPUTE_STAGE = 4

const layoutEntry = (binding: Kernel['bindings'][number], index: number): GPUBindGroupLayoutEntry => ({
  binding: index,
  visibility: COMPUTE_STAGE,
  buffer:
    binding === 'uniform'
      ? { type: 'uniform', hasDynamicOffset: true }
      : { type: binding === 'read' ? 'read-only-storage' : 'storage' },
})

const sizeOf = ({ tuned }: Kernel, tunedSize: number): number => (tuned === true ? tunedSize : WORKGROUP_SIZE)

const keyOf = ({ name, tuned }: Kernel, tunedSize: number): string =>
  tuned === true ? `${name}, workgroups of ${tunedSize}` : name
