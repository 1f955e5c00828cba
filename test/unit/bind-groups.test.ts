import { describe, expect, test } from 'vitest'
import { BindGroups, PARAMS_STRIDE } from '../../src/webgpu/bind-groups.ts'
import type { CompiledKernel } from '../../src/webgpu/kernel.ts'

const bufferOf = (size: number): GPUBuffer => ({ size }) as GPUBuffer
const compiledOf = (name: string): CompiledKernel =>
  ({ kernel: { name }, layout: { label: name }, pipeline: {}, workgroupSize: 64 }) as unknown as CompiledKernel

function fake(): { readonly groups: BindGroups; readonly made: GPUBindGroupDescriptor[] } {
  const made: GPUBindGroupDescriptor[] = []
  const createBindGroup = (descriptor: GPUBindGroupDescriptor): GPUBindGroup => {
    made.push(descriptor)
    return { label: String(made.length) } as GPUBindGroup
  }
  return { groups: new BindGroups({ createBindGroup }), made }
}

describe('bind groups', () => {
  const [kernel, other] = [compiledOf('sums'), compiledOf('scan')]
  const [a, b, uniform] = [bufferOf(64), bufferOf(64), bufferOf(1024)]

  test('are made once for the same buffers and ranges of a kernel', () => {
    const { groups, made } = fake()
    const group = groups.of(kernel, [a, { buffer: b, offset: 256, size: 32 }], uniform)
    expect(groups.of(kernel, [a, { buffer: b, offset: 256, size: 32 }], uniform)).toBe(group)
    expect(made).toHaveLength(1)
    expect(made[0]).toEqual({
      label: 'sums',
      layout: kernel.layout,
      entries: [
        { binding: 0, resource: { buffer: a } },
        { binding: 1, resource: { buffer: b, offset: 256, size: 32 } },
        { binding: 2, resource: { buffer: uniform, offset: 0, size: PARAMS_STRIDE } },
      ],
    })
  })

  test('differ by kernel, by buffer and its place, by range and by uniform', () => {
    const { groups, made } = fake()
    const all = [
      groups.of(kernel, [a, b], uniform),
      groups.of(other, [a, b], uniform),
      groups.of(kernel, [b, a], uniform),
      groups.of(kernel, [a, b]),
      groups.of(kernel, [a, b], bufferOf(1024)),
      groups.of(kernel, [a, { buffer: b, offset: 0, size: 64 }], uniform),
      groups.of(kernel, [a, { buffer: b, offset: 0, size: 32 }], uniform),
      groups.of(kernel, [a, { buffer: b, offset: 256, size: 32 }], uniform),
      groups.of(kernel, [a, b, uniform]),
    ]
    // The last one binds the same three buffers as the first, but the whole of the third one.
    expect(new Set(all).size).toBe(all.length)
    expect(made).toHaveLength(all.length)
  })

  test('are not kept without end', () => {
    const { groups, made } = fake()
    for (let k = 0; k < 5000; k++) groups.of(kernel, [bufferOf(64)])
    const group = groups.of(kernel, [a])
    expect(groups.of(kernel, [a])).toBe(group)
    expect(made).toHaveLength(5001)
  })
})
