import { describe, expect, it } from 'vitest'
import { blockBytes, MemoryArena } from '../../src/cpu/arena.ts'
import { ARENA_BASE } from '../../src/cpu/thread-context.ts'

const PAGE_BYTES = 65_536
const makeArena = (maximumPages = 64): MemoryArena => {
  const memory = new WebAssembly.Memory({ initial: 17, maximum: maximumPages, shared: true })
  return new MemoryArena(memory, maximumPages)
}

describe('MemoryArena', () => {
  it('aligns blocks to 128 bytes above the base and counts what is used', () => {
    const arena = makeArena()
    const first = arena.allocate(1)
    const second = arena.allocate(129)
    expect(first).toBe(ARENA_BASE)
    expect(second).toBe(ARENA_BASE + 128)
    expect(arena.usedBytes).toBe(128 + 256)
    expect(blockBytes(0)).toBe(128)
    arena.free(first)
    arena.free(second)
    expect(arena.usedBytes).toBe(0)
  })

  it('reuses the lowest gap that fits and joins neighbours', () => {
    const arena = makeArena()
    const [a, b, c, d] = [256, 256, 256, 256].map((bytes) => arena.allocate(bytes)) as [number, number, number, number]
    arena.free(a)
    arena.free(c)
    expect(arena.allocate(512)).toBe(d + 256) // neither gap holds it
    expect(arena.allocate(256)).toBe(a)
    arena.free(b) // joins the gap left by c
    expect(arena.allocate(512)).toBe(b)
  })

  it('grows the memory, using a free tail first, and keeps content', () => {
    const arena = makeArena()
    const a = arena.allocate(100)
    new Uint8Array(arena.memory.buffer)[a] = 7
    const b = arena.allocate(20 * PAGE_BYTES)
    expect(b).toBe(a + 128)
    expect(arena.memory.buffer.byteLength).toBeGreaterThanOrEqual(b + 20 * PAGE_BYTES)
    expect(new Uint8Array(arena.memory.buffer)[a]).toBe(7)
  })

  it('throws a RangeError past the maximum and stays usable', () => {
    const arena = makeArena(64)
    const room = 64 * PAGE_BYTES - ARENA_BASE
    expect(() => arena.allocate(room + 1)).toThrow(RangeError)
    expect(arena.usedBytes).toBe(0)
    const all = arena.allocate(room)
    expect(() => arena.allocate(1)).toThrow(/exhausted/)
    arena.free(all)
    expect(arena.allocate(room)).toBe(ARENA_BASE)
  })

  it('refuses sizes that are none, and to free twice', () => {
    const arena = makeArena()
    expect(() => arena.allocate(-1)).toThrow(RangeError)
    expect(() => arena.allocate(Number.NaN)).toThrow(RangeError)
    const a = arena.allocate(64)
    arena.free(a)
    expect(() => arena.free(a)).toThrow(/No block/)
    expect(() => arena.free(a + 64)).toThrow(/No block/)
  })

  it('never hands out overlapping blocks, over a long random run', () => {
    const arena = makeArena(256)
    const live = new Map<number, number>()
    let state = 1
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 8) % below
    }
    for (let step = 0; step < 2_000; step++) {
      const addresses = [...live.keys()]
      if (addresses.length > 20 || (addresses.length > 0 && random(2) === 0)) {
        const address = addresses[random(addresses.length)] as number
        arena.free(address)
        live.delete(address)
      } else {
        const bytes = 1 + random(100_000)
        const address = arena.allocate(bytes)
        for (const [other, size] of live) expect(address >= other + size || address + bytes <= other).toBe(true)
        live.set(address, bytes)
      }
    }
    for (const address of live.keys()) arena.free(address)
    expect(arena.usedBytes).toBe(0)
    expect(arena.allocate(arena.memory.buffer.byteLength - ARENA_BASE)).toBe(ARENA_BASE)
  })
})
