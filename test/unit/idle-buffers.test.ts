import { describe, expect, test } from 'vitest'
import { type BufferKind, IdleBuffers } from '../../src/webgpu/idle-buffers.ts'

const bufferOf = (size: number): GPUBuffer => ({ size }) as GPUBuffer

describe('idle buffers', () => {
  test('are found again by kind and exact size, the latest first, each once', () => {
    const idle = new IdleBuffers()
    const [a, b, c] = [bufferOf(64), bufferOf(64), bufferOf(128)] as const
    for (const buffer of [a, b, c]) idle.give('storage', buffer)
    expect(idle.bytes).toBe(256)
    expect([idle.take('uniform', 64), idle.take('storage', 65)]).toEqual([undefined, undefined])
    expect(idle.take('storage', 64)).toBe(b)
    expect(idle.take('storage', 64)).toBe(a)
    expect(idle.take('storage', 64)).toBeUndefined()
    expect(idle.bytes).toBe(128)
  })

  test('leave in the order in which they came, whatever their kind and size', () => {
    const idle = new IdleBuffers()
    const sizes: [BufferKind, number][] = [
      ['storage', 512],
      ['uniform', 256],
      ['storage', 64],
      ['read back', 256],
      ['storage', 512],
    ]
    const buffers = sizes.map(([, size]) => bufferOf(size))
    for (const [k, [kind]] of sizes.entries()) idle.give(kind, buffers[k] as GPUBuffer)
    // Wanted meanwhile, and given back: it is the youngest now.
    expect(idle.take('uniform', 256)).toBe(buffers[1])
    idle.give('uniform', buffers[1] as GPUBuffer)
    const left: number[] = []
    for (let next = idle.takeOldest(); next !== undefined; next = idle.takeOldest()) left.push(buffers.indexOf(next))
    expect(left).toEqual([0, 2, 3, 4, 1])
    expect(idle.bytes).toBe(0)
  })
  test('leave by age among those that are large enough', () => {
    const idle = new IdleBuffers()
    const [small, first, second] = [bufferOf(64), bufferOf(1024), bufferOf(512)]
    for (const buffer of [small, first, second]) idle.give('storage', buffer as GPUBuffer)
    expect([idle.takeOldest(512), idle.takeOldest(512), idle.takeOldest(512)]).toEqual([first, second, undefined])
    expect(idle.bytes).toBe(64)
    expect(idle.takeOldest()).toBe(small)
  })
})
