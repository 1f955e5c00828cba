import { describe, expect, test } from 'vitest'
import { CompiledKernels, type CompileTarget } from '../../src/webgpu/compiled-kernels.ts'
import type { Kernel } from '../../src/webgpu/kernel.ts'

const kernelOf = (name: string, tuned?: boolean): Kernel => ({
  name,
  fields: [],
  parts: ['invocation.wgsl'],
  entry: 'main',
  bindings: ['read', 'read_write', 'uniform'],
  ...(tuned === undefined ? {} : { tuned }),
})

/** A device that compiles what `refuse` does not throw for, and notes the sizes of workgroups. */
function fake(refuse: () => void = () => {}) {
  const asked: string[] = []
  const waiting: (() => void)[] = []
  const device = {
    createBindGroupLayout: (descriptor: object) => descriptor,
    createPipelineLayout: (descriptor: object) => descriptor,
    createShaderModule: () => ({
      getCompilationInfo: async () => ({ messages: [{ type: 'error', lineNum: 7, message: 'no such name' }] }),
    }),
    pushErrorScope: () => {},
    popErrorScope: async () => null,
    createComputePipelineAsync: async ({ label, compute }: GPUComputePipelineDescriptor) => {
      asked.push(`${label} ${JSON.stringify(compute.constants)}`)
      await new Promise<void>((resolve) => waiting.push(resolve))
      refuse()
      return { label }
    },
  }
  const target = { device, info: { name: 'fake' }, guard: <T>(promise: Promise<T>) => promise }
  const kernels = new CompiledKernels(target as unknown as CompileTarget)
  const answer = (): void => {
    for (const resolve of waiting.splice(0)) resolve()
  }
  return { kernels, asked, answer }
}

describe('compiled kernels', () => {
  test('are compiled once, those that are tuned once for each size of workgroups', async () => {
    const { kernels, asked, answer } = fake()
    const [plain, tuned] = [kernelOf('plain'), kernelOf('tuned', true)]
    const first = [kernels.prepare([plain, tuned], 32), kernels.prepare([plain], 32), kernels.prepare([plain], 128)]
    expect(() => kernels.of(plain, 32)).toThrow('Kernel plain was not prepared.')
    answer()
    await Promise.all(first)
    expect(asked).toEqual(['plain {}', 'tuned {"workgroup_size":32}'])
    expect([kernels.of(plain, 128).workgroupSize, kernels.of(tuned, 32).workgroupSize]).toEqual([64, 32])
    expect(() => kernels.of(tuned, 128)).toThrow('Kernel tuned was not prepared.')
    const second = kernels.prepare([plain, tuned], 128)
    answer()
    await second
    expect(asked.slice(2)).toEqual(['tuned {"workgroup_size":128}'])
  })

  test('that are refused fail with the line at fault, and are tried again', async () => {
    let refused = 0
    const { kernels, asked, answer } = fake(() => {
      if (refused++ === 0) throw new Error('invalid')
    })
    const kernel = kernelOf('sums')
    const first = kernels.prepare([kernel], 64)
    answer()
    await expect(first).rejects.toMatchObject({
      code: 'ERR_GPU_VALIDATION',
      message: 'Kernel sums was refused: line 7: no such name',
      details: { device: 'fake' },
    })
    const again = kernels.prepare([kernel], 64)
    answer()
    await again
    expect(kernels.of(kernel, 64).kernel).toBe(kernel)
    expect(asked).toHaveLength(2)
  })

  test('are not idle while one is being compiled, also one that will be refused', async () => {
    const { kernels, answer } = fake(() => {
      throw new Error('invalid')
    })
    const preparing = kernels.prepare([kernelOf('sums')], 64)
    let idle = false
    const waited = kernels.idle().then(() => {
      idle = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(idle).toBe(false)
    answer()
    await expect(preparing).rejects.toThrow('sums')
    await waited
  })
})
