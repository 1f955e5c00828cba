import { expect, test } from 'vitest'
import { GpuDeviceLostError, GpuOutOfMemoryError } from '../../src/errors.ts'
import type { GpuShape } from '../../src/webgpu/assignment/gpu-shape.ts'
import { primeMemory } from '../../src/webgpu/assignment/prime-memory.ts'
import type { Gpu } from '../../src/webgpu/gpu.ts'

const GIB = 2 ** 30

/** Memory whose buffers are counted; made ones are idle, and still allocated, when they were released. */
class Memory {
  readonly bindingBytes = GIB
  readonly made: string[] = []
  allocatedBytes: number
  readonly plannedBytes: number
  inUse = 0
  readonly #fail: { readonly after: number; readonly error: Error } | undefined

  constructor(usedBytes: number, plannedBytes: number, fail?: { readonly after: number; readonly error: Error }) {
    this.allocatedBytes = usedBytes
    this.plannedBytes = plannedBytes
    this.#fail = fail
  }

  async allocate(bytes: number, label: string): Promise<GPUBuffer> {
    if (this.made.length === this.#fail?.after) throw this.#fail.error
    this.made.push(label)
    this.allocatedBytes += bytes
    this.inUse++
    return { size: bytes } as GPUBuffer
  }

  release(): void {
    this.inUse--
  }

  async returned(): Promise<void> {
    expect(this.made).toEqual([])
  }
}

/** A domain of 2^27: four shards of 1 GiB each of z, a, b and c. */
const large = { inputs: 100, aux: 2 ** 27 - 1000, log2Domain: 27, root: { totals: { bits: 2 ** 27, wide: 2 ** 20 } } }

async function prime(memory: Memory, shape: object = large): Promise<Memory> {
  await primeMemory(memory as unknown as Gpu, { shape } as unknown as GpuShape)
  expect(memory.inUse).toBe(0)
  return memory
}

test('makes the polynomials of two partitions, of one, or of none, as there is room', async () => {
  const of = (name: string): string[] => Array.from({ length: 4 }, (_, k) => `${name} ${k}`)
  const one = [...of('assignment'), ...of('rows a'), ...of('rows b'), ...of('products on the domain')]
  expect((await prime(new Memory(45 * GIB, 121 * GIB))).made).toEqual([...one, ...one])
  expect((await prime(new Memory(45 * GIB, 70 * GIB))).made).toEqual(one)
  expect((await prime(new Memory(45 * GIB, 48 * GIB))).made).toEqual([])
})

test('makes nothing of a small circuit, or where nobody knows how much memory there is', async () => {
  const small = { ...large, aux: 2 ** 19, log2Domain: 19, root: { totals: { bits: 0, wide: 2 ** 19 } } }
  expect((await prime(new Memory(0, 121 * GIB), small)).made).toEqual([])
  expect((await prime(new Memory(0, Number.POSITIVE_INFINITY))).made).toEqual([])
})

test('leaves it to the first partition to fail of what the driver refuses, but not of a lost device', async () => {
  const refused = { after: 6, error: new GpuOutOfMemoryError('no more') }
  expect((await prime(new Memory(0, 121 * GIB, refused))).made).toHaveLength(6)
  const lost = new Memory(0, 121 * GIB, { after: 6, error: new GpuDeviceLostError('gone') })
  await expect(primeMemory(lost as unknown as Gpu, { shape: large } as unknown as GpuShape)).rejects.toThrow('gone')
  expect(lost.inUse).toBe(0)
})
