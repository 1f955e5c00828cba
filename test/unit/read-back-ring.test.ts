/** Reading back where device memory is short: with fewer buffers, or with the reason if there is none. */
import { expect, test } from 'vitest'
import type { Gpu } from '../../src/webgpu/gpu.ts'
import { READ_BACK_BYTES, ReadBackRing } from '../../src/webgpu/read-back.ts'

/** A device that has room for so many buffers. */
function deviceFor(buffers: number) {
  let made = 0
  let destroyed = 0
  const buffer = {
    mapAsync: async () => {},
    getMappedRange: (_: number, bytes: number) => new ArrayBuffer(bytes),
    unmap: () => {},
  }
  const gpu = {
    downloadedBytes: 0,
    device: {
      createCommandEncoder: () => ({ copyBufferToBuffer: () => {}, finish: () => {} }),
      queue: { submit: () => {} },
    },
    guard: <T>(promise: Promise<T>) => promise,
    create: async () => {
      if (made === buffers) throw new Error('no memory')
      made++
      return { ...buffer }
    },
    destroy: () => void destroyed++,
  }
  return { gpu: gpu as unknown as Gpu, left: () => made - destroyed }
}

const from = {} as GPUBuffer
const parts = 5

test('goes on with the buffers that there is room for, each in one pair of hands', async () => {
  const { gpu, left } = deviceFor(2)
  const ring = new ReadBackRing(gpu)
  const taken: number[] = []
  let [now, most] = [0, 0]
  const take = async (at: number): Promise<void> => {
    most = Math.max(most, ++now)
    await new Promise((resolve) => setImmediate(resolve))
    now--
    taken.push(at / READ_BACK_BYTES)
  }
  await ring.read(from, parts * READ_BACK_BYTES, take, () => {})
  expect([taken.sort(), most]).toEqual([[0, 1, 2, 3, 4], 2])
  expect(gpu.downloadedBytes).toBe(parts * READ_BACK_BYTES)
  await ring.release()
  expect(left()).toBe(0)
})

test('tells why it can’t, and that nothing more is read', async () => {
  const ring = new ReadBackRing(deviceFor(0).gpu)
  let submitted = 0
  const reading = ring.read(
    from,
    parts * READ_BACK_BYTES,
    async () => {},
    () => submitted++,
  )
  await expect(reading).rejects.toThrow('no memory')
  expect(submitted).toBe(1)
})
