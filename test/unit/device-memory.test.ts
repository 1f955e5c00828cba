/** What GPUs have of their own memory: how circuits are planned for it, what is refused, and how batches share it. */
import { describe, expect, it, test } from 'vitest'
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { gpuMemoryRefusal } from '../../src/budget/gpu-memory.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { DeviceMemory } from '../../src/device/device-memory.ts'
import type { DeviceInfo } from '../../src/device/device-spec.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { paramsLayout, QUERIES } from '../../src/params/layout.ts'
import { assignmentBytes, partitionBytes } from '../../src/webgpu/assignment/assignment-bytes.ts'
import { leastGpuBytes, planGpu, totalOf } from '../../src/webgpu/working-set.ts'

const GIB = 2 ** 30
/** What an H200 offers, and WebGPU's default. */
const BINDINGS = [2 ** 31 - 4, 2 ** 27]
/** One of each family and size of domain: a shape takes seconds to build. */
const CIRCUITS: readonly CircuitId[] = [
  'wpost-2k',
  'wpost-32g',
  'winning-32g',
  'porep-2k',
  'porep-32g',
  'snap-8m',
  'snap-32g',
]

function sizeOf(circuitId: CircuitId) {
  const size = circuitSize(circuitId)
  if (size === undefined) throw new Error(`no size of ${circuitId}`)
  return size
}

describe('a plan', () => {
  test.each(CIRCUITS)('of %s counts at least its shape, and never more memory than there is', (circuitId) => {
    const size = sizeOf(circuitId)
    for (const bindingBytes of BINDINGS) {
      const { shape } = assignmentBytes(circuitShape(circuitId), bindingBytes)
      const least = leastGpuBytes(size, bindingBytes)
      for (const memoryBytes of [least, 1.1 * least, 2 * least, 16 * GIB, 48 * GIB, 139 * GIB]) {
        if (memoryBytes < least) continue
        const plan = planGpu(size, { memoryBytes, bindingBytes })
        expect(plan.shapeBytes).toBeGreaterThanOrEqual(shape)
        expect(plan.shapeBytes + plan.workingBytes + totalOf(plan.kept)).toBeLessThanOrEqual(memoryBytes)
      }
    }
  })

  it('streams the points of a large circuit where they do not fit, and keeps them where they do', () => {
    const size = sizeOf('porep-32g')
    const [bindingBytes] = BINDINGS as [number]
    const { queries } = paramsLayout(size)
    const points = QUERIES.reduce((sum, query) => sum + queries[query].points * queries[query].pointBytes, 0)
    expect(points / GIB).toBeGreaterThan(44)
    const streamed = planGpu(size, { memoryBytes: 16 * GIB, bindingBytes })
    expect(streamed.kept).toEqual({})
    const all = planGpu(size, { memoryBytes: 139 * GIB, bindingBytes })
    expect(Object.keys(all.kept)).toEqual(QUERIES)
    // Should they not be kept after all: two ranges of 2^24 points in G1. Else they are in the working set.
    expect([all.passingBytes, streamed.passingBytes]).toEqual([2 * 2 ** 24 * 96, 0])
    // As allocated: rounded up, by a 64th at most.
    expect(totalOf(all.kept)).toBeGreaterThanOrEqual(points)
    expect(totalOf(all.kept)).toBeLessThan(points * (1 + 1 / 32))
    const some = Object.keys(planGpu(size, { memoryBytes: 40 * GIB, bindingBytes }).kept)
    expect(some.length).toBeGreaterThan(0)
    expect(some.length).toBeLessThan(QUERIES.length)
  })

  it('of a small circuit keeps its points where memory is not known', () => {
    const kept = (circuitId: CircuitId) => Object.keys(planGpu(sizeOf(circuitId), { bindingBytes: 2 ** 27 }).kept)
    expect(kept('winning-32g')).toEqual(QUERIES)
    expect(kept('porep-32g')).toEqual([])
  })

  it('has room for z beside the quotient where its sums take as much, of counted memory only', () => {
    const size = sizeOf('porep-32g')
    const [bindingBytes] = BINDINGS as [number]
    const { quotientWithValues } = partitionBytes(size, bindingBytes)
    // z, a, b and c of nearly 2^27 scalars, and some tens of megabytes of witness.
    expect(quotientWithValues / GIB).toBeCloseTo(16, 0)
    const plans = [16, 24, 139].map((gib) => planGpu(size, { memoryBytes: gib * GIB, bindingBytes }))
    expect(plans.map(({ keepsValues }) => keepsValues)).toEqual([false, true, true])
    for (const { keepsValues, workingBytes } of plans) {
      if (keepsValues) expect(workingBytes).toBeGreaterThan(quotientWithValues)
    }
    expect(planGpu(size, { bindingBytes }).keepsValues).toBe(false)
  })

  it('reads more parts of streamed points at once where memory allows, within what it counts', () => {
    const size = sizeOf('porep-32g')
    const [bindingBytes] = BINDINGS as [number]
    const least = leastGpuBytes(size, bindingBytes)
    const planOf = (memoryBytes: number) => planGpu(size, { memoryBytes, bindingBytes })
    const atOnce = [least, 16 * GIB, 24 * GIB, 56 * GIB].map((memoryBytes) => planOf(memoryBytes).partsAtOnce)
    // A sixteenth of what 7/8 of 16 GiB leave beyond 12.4, in buffers of 16 MiB.
    const some = 4 + Math.floor((14 * GIB - least) / 16 / 2 ** 24)
    expect(atOnce).toEqual([4, some, 16, 16])
    expect(some).toBeGreaterThan(4)
    // With no room for one more the plan is that for the least; with room for one it counts that.
    const one = planOf(Math.ceil(((least + 16 * 2 ** 24) * 8) / 7))
    expect(planOf(Math.ceil(((least + 16 * 2 ** 24 - 8) * 8) / 7)).partsAtOnce).toBe(4)
    expect(one.partsAtOnce).toBe(5)
    expect(one.workingBytes).toBeGreaterThanOrEqual(planOf(least).workingBytes + 2 ** 24)
    // Points that stay are read once, and those of small circuits are there before long.
    expect(planOf(139 * GIB).partsAtOnce).toBe(4)
    expect(planGpu(size, { bindingBytes }).partsAtOnce).toBe(4)
    const small = sizeOf('winning-32g')
    const streamed = planGpu(small, { memoryBytes: 1.2 * leastGpuBytes(small, bindingBytes), bindingBytes })
    expect([streamed.partsAtOnce, Object.keys(streamed.kept).length < QUERIES.length]).toEqual([4, true])
  })

  it('of a WinningPoSt fits what other plans leave free, where that is enough for its sums at once', () => {
    const size = sizeOf('winning-32g')
    const [bindingBytes] = BINDINGS as [number]
    const taken = (gib: number) => {
      const { shapeBytes, workingBytes, kept, joint } = planGpu(size, { memoryBytes: gib * GIB, bindingBytes })
      expect(joint).toBeDefined()
      return (shapeBytes + workingBytes + totalOf(kept)) / GIB
    }
    for (const gib of [12.5, 13.6, 16, 24, 32]) expect(taken(gib)).toBeLessThanOrEqual(gib / 8)
    // Past that there is more than is of use, and on a card of 8 GiB nothing large to leave room for.
    expect([8, 48, 139].map((gib) => taken(gib) > 4.5)).toEqual([true, true, true])
  })

  it('with the least memory has shorter ranges', () => {
    const size = sizeOf('porep-32g')
    const [bindingBytes] = BINDINGS as [number]
    const memoryBytes = leastGpuBytes(size, bindingBytes)
    const wide = planGpu(size, { memoryBytes: 139 * GIB, bindingBytes })
    expect(planGpu(size, { memoryBytes, bindingBytes }).rangePoints.g1).toBeLessThanOrEqual(wide.rangePoints.g1)
  })
})

describe('a circuit that can never fit', () => {
  const gpu: DeviceInfo = {
    kind: 'webgpu',
    name: 'a card',
    maxLog2Domain: 27,
    adapter: {
      vendor: '',
      architecture: '',
      driver: '',
      software: false,
      limits: { maxStorageBufferBindingSize: 2 ** 31 - 4 },
    },
  }

  it('is refused with the numbers, and the memory that is asked for suffices', () => {
    const refusal = gpuMemoryRefusal('porep-32g', [gpu], 8 * GIB, [])
    expect(refusal).toMatchObject({
      code: 'ERR_BUDGET_EXCEEDED',
      details: { field: 'gpu.memoryBytes', received: String(8 * GIB), device: 'a card' },
    })
    const needed = Number(refusal?.details.expected?.replace('at least ', ''))
    expect(needed).toBeGreaterThan(12 * GIB)
    expect(needed).toBeLessThan(13.5 * GIB)
    expect(gpuMemoryRefusal('porep-32g', [gpu], needed, [])).toBeUndefined()
    expect(gpuMemoryRefusal('porep-32g', [gpu], needed - 1, [])).toBeDefined()
    expect(gpuMemoryRefusal('porep-32g', [gpu], 16 * GIB, [])).toBeUndefined()
  })

  it('is not a PoRep of 32 GiB beside a preloaded WinningPoSt on a card of 16 GiB', () => {
    expect(gpuMemoryRefusal('porep-32g', [gpu], 16 * GIB, ['winning-32g'])).toBeUndefined()
  })

  it('is one that a preloaded circuit leaves no room for, but not that circuit itself', () => {
    const needed = Number(gpuMemoryRefusal('porep-32g', [gpu], 1, [])?.details.expected?.replace('at least ', ''))
    const refusal = gpuMemoryRefusal('porep-32g', [gpu], needed, ['winning-32g'])
    expect(refusal?.message).toContain('set aside for what was preloaded')
    expect(gpuMemoryRefusal('porep-32g', [gpu], needed, ['porep-32g'])).toBeUndefined()
  })

  it('is not known of a device of other kind, or without a limit', () => {
    expect(gpuMemoryRefusal('porep-32g', [{ ...gpu, kind: 'cpu' }], 1, [])).toBeUndefined()
    expect(gpuMemoryRefusal('porep-32g', [gpu], undefined, [])).toBeUndefined()
  })
})

describe('memory that batches share', () => {
  const runOf = (options: { signal?: AbortSignal; urgent?: boolean } = {}): Run => ({
    signal: new AbortController().signal,
    unit: () => {},
    ...options,
  })
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  it('is waited for, urgent ones first, and nothing passes the first', async () => {
    const memory = new DeviceMemory(
      () => 100,
      async () => {},
    )
    const first = await memory.admit('porep-2k', 80, runOf())
    const order: string[] = []
    const wait = async (name: string, bytes: number, urgent = false): Promise<Disposable> => {
      const held = await memory.admit('snap-2k', bytes, runOf({ urgent }))
      order.push(name)
      return held
    }
    const large = wait('large', 90)
    await settle()
    const small = wait('small', 5)
    await settle()
    const urgent = wait('urgent', 60, true)
    await settle()
    expect(order).toEqual([])
    first[Symbol.dispose]()
    const held = await urgent
    await settle()
    expect(order).toEqual(['urgent'])
    held[Symbol.dispose]()
    ;(await large)[Symbol.dispose]()
    ;(await small)[Symbol.dispose]()
    expect(order).toEqual(['urgent', 'large', 'small'])
    expect(memory.freeBytes).toBe(100)
  })

  it('is made by giving idle circuits up', async () => {
    const idle: Disposable[] = []
    const memory = new DeviceMemory(
      () => 100,
      async () => {
        for (const held of idle.splice(0)) held[Symbol.dispose]()
      },
    )
    idle.push(memory.hold('snap-2k', 70, 0))
    const batch = await memory.admit('porep-2k', 90, runOf())
    expect(memory.freeBytes).toBe(10)
    batch[Symbol.dispose]()
    expect(memory.freeBytes).toBe(100)
  })

  it('is made of the circuit that it is for only where others are not enough', async () => {
    const idle = new Map<CircuitId, Disposable>()
    const memory = new DeviceMemory(
      () => 100,
      async (may) => {
        for (const [circuitId, held] of idle) if (may(circuitId) && idle.delete(circuitId)) held[Symbol.dispose]()
      },
    )
    idle.set('porep-2k', memory.hold('porep-2k', 40, 0))
    idle.set('snap-2k', memory.hold('snap-2k', 30, 0))
    const first = await memory.admit('porep-2k', 50, runOf())
    expect([...idle.keys()]).toEqual(['porep-2k'])
    first[Symbol.dispose]()
    const second = await memory.admit('porep-2k', 70, runOf())
    expect([[...idle.keys()], memory.freeBytes]).toEqual([[], 30])
    second[Symbol.dispose]()
  })

  it('is not made of the circuit that it is for where that would not be enough', async () => {
    const idle = new Map<CircuitId, Disposable>()
    const memory = new DeviceMemory(
      () => 100,
      async (may) => {
        for (const [circuitId, held] of idle) if (may(circuitId) && idle.delete(circuitId)) held[Symbol.dispose]()
      },
    )
    // 40 in all, of which 30 would be held again: 10 are free, and 20 without it.
    idle.set('porep-2k', memory.hold('porep-2k', 40, 30))
    const first = await memory.admit('snap-2k', 20, runOf())
    const second = await memory.admit('snap-2k', 30, runOf())
    const waiting = memory.admit('porep-2k', 35, runOf())
    await settle()
    expect([...idle.keys()]).toEqual(['porep-2k'])
    // 30 are free, and 40 without it.
    first[Symbol.dispose]()
    await settle()
    expect([...idle.keys()]).toEqual([])
    second[Symbol.dispose]()
    ;(await waiting)[Symbol.dispose]()
    expect(memory.freeBytes).toBe(100)
  })

  it('is made also of circuits that became idle while it was waited for', async () => {
    const idle: Disposable[] = []
    const memory = new DeviceMemory(
      () => 100,
      async () => {
        for (const held of idle.splice(0)) held[Symbol.dispose]()
      },
    )
    const circuit = memory.hold('snap-2k', 60, 0)
    const first = await memory.admit('porep-2k', 30, runOf())
    const waiting = memory.admit('snap-2k', 50, runOf())
    await settle()
    idle.push(circuit)
    first[Symbol.dispose]()
    const second = await waiting
    expect([idle.length, memory.freeBytes]).toEqual([0, 50])
    second[Symbol.dispose]()
    expect(memory.freeBytes).toBe(100)
  })

  it('is made of circuits that fall idle while other batches go on', async () => {
    const idle: Disposable[] = []
    const memory = new DeviceMemory(
      () => 100,
      async () => {
        for (const held of idle.splice(0)) held[Symbol.dispose]()
      },
    )
    const circuit = memory.hold('snap-2k', 40, 0)
    const [first, other] = [await memory.admit('porep-2k', 30, runOf()), await memory.admit('snap-2k', 10, runOf())]
    const waiting = memory.admit('wpost-2k', 80, runOf())
    await settle()
    // 50 are free once its batch has ended, and 90 without the circuit, which nobody uses then.
    idle.push(circuit)
    first[Symbol.dispose]()
    await settle()
    expect([idle.length, memory.freeBytes]).toEqual([0, 10])
    for (const held of [await waiting, other]) held[Symbol.dispose]()
    expect(memory.freeBytes).toBe(100)
  })

  it('is made of circuits that it is set aside for only where nothing else helps', async () => {
    const idle = new Map<CircuitId, Disposable>()
    const memory = new DeviceMemory(
      () => 100,
      async (may) => {
        for (const [circuitId, held] of idle) if (may(circuitId) && idle.delete(circuitId)) held[Symbol.dispose]()
      },
    )
    idle.set('winning-2k', memory.hold('winning-2k', 10, 0))
    idle.set('snap-2k', memory.hold('snap-2k', 30, 0))
    memory.setAside('winning-2k', 20)
    const first = await memory.admit('porep-2k', 60, runOf())
    expect([...idle.keys()]).toEqual(['winning-2k'])
    const waiting = memory.admit('porep-2k', 75, runOf())
    await settle()
    expect([...idle.keys()]).toEqual(['winning-2k'])
    first[Symbol.dispose]()
    ;(await waiting)[Symbol.dispose]()
    expect([[...idle.keys()], memory.freeBytes]).toEqual([[], 80])
  })

  it('given up waiting for, it goes to the next', async () => {
    const memory = new DeviceMemory(
      () => 100,
      async () => {},
    )
    const first = await memory.admit('porep-2k', 50, runOf())
    const controller = new AbortController()
    const large = memory.admit('porep-2k', 90, runOf({ signal: controller.signal }))
    large.catch(() => {})
    await settle()
    const small = memory.admit('porep-2k', 40, runOf())
    await settle()
    expect(memory.freeBytes).toBe(50)
    controller.abort('enough')
    await expect(large).rejects.toBe('enough')
    const held = await small
    expect(memory.freeBytes).toBe(10)
    held[Symbol.dispose]()
    first[Symbol.dispose]()
    expect(memory.freeBytes).toBe(100)
  })

  it('set aside is there for its circuit whoever works, and comes back when it is given up', async () => {
    const memory = new DeviceMemory(
      () => 100,
      async () => {},
    )
    memory.setAside('winning-2k', 30)
    memory.setAside('winning-2k', 30)
    expect([memory.freeBytes, memory.setAsideBytes('porep-2k'), memory.setAsideBytes('winning-2k')]).toEqual([
      70, 30, 0,
    ])
    const other = await memory.admit('porep-2k', 70, runOf())
    const own = await memory.admit('winning-2k', 25, runOf({ urgent: true }))
    memory.giveUp('winning-2k')
    expect(memory.freeBytes).toBe(0)
    own[Symbol.dispose]()
    own[Symbol.dispose]()
    expect(memory.freeBytes).toBe(30)
    other[Symbol.dispose]()
    expect(memory.freeBytes).toBe(100)
  })

  it('tells that who waits lives', async () => {
    const memory = new DeviceMemory(
      () => 100,
      async () => {},
    )
    const first = await memory.admit('porep-2k', 100, runOf())
    const shares: number[] = []
    const waiting = memory.admit('porep-2k', 10, { ...runOf(), unit: (share) => void shares.push(share) })
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect(shares).toEqual([0])
    first[Symbol.dispose]()
    ;(await waiting)[Symbol.dispose]()
  })
})
