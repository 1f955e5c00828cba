import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { CompileAhead, compileHelpers } from '../../src/webgpu/compile-ahead.ts'
import type { Kernel } from '../../src/webgpu/kernel.ts'

const kernels: Kernel[] = Array.from({ length: 9 }, (_, i) => ({
  name: `kernel ${i}`,
  fields: [],
  parts: [],
  entry: 'main',
  bindings: [],
}))

/** Compiles two kernels at a time; one that another compiler has done before takes no time. */
class Compiler {
  readonly asked: string[] = []
  readonly #known: Set<string>
  readonly #ms: number
  readonly #refused: string | undefined
  #running = 0
  most = 0
  open = true
  closed = 0

  constructor(known: Set<string>, ms: number, refused?: string) {
    this.#known = known
    this.#ms = ms
    this.#refused = refused
  }

  async prepare([kernel]: readonly Kernel[]): Promise<void> {
    const { name } = kernel as Kernel
    this.asked.push(name)
    this.most = Math.max(this.most, ++this.#running)
    try {
      await delay(this.#known.has(name) ? 0 : this.#ms)
      if (name === this.#refused) throw new Error(`${name} is refused`)
      this.#known.add(name)
    } finally {
      this.#running--
    }
  }

  async close(): Promise<void> {
    this.closed++
  }
}

const names = kernels.map(({ name }) => name)
const sorted = (asked: readonly string[]): string[] => [...asked].sort()

describe('kernels compiled ahead', () => {
  it('are compiled by the device alone, in order, where the driver knows them', async () => {
    const gpu = new Compiler(new Set(names), 0)
    const ahead = new CompileAhead(gpu, kernels, () => Promise.reject(new Error('no helper is wanted')), {
      helpers: 2,
      patienceMs: 1000,
    })
    await ahead.ready(kernels.slice(0, 3))
    await ahead.done
    expect(gpu.asked).toEqual(names)
    expect(gpu.most).toBeLessThanOrEqual(4)
  })

  it('are shared out to helpers, each kernel once, where they take long; the device asks for each when it is known', async () => {
    const known = new Set<string>()
    const gpu = new Compiler(known, 60)
    const opened: Compiler[] = []
    const openHelper = async (): Promise<Compiler> => {
      const helper = new Compiler(known, 60)
      opened.push(helper)
      return helper
    }
    const ahead = new CompileAhead(gpu, kernels, openHelper, { helpers: 2, patienceMs: 10, lingerMs: 0 })
    await ahead.ready(kernels)
    await ahead.done
    expect(opened.map(({ closed }) => closed)).toEqual([1, 1])
    // The device began two by itself; all others were begun by one helper.
    expect(sorted(opened.flatMap(({ asked }) => asked))).toEqual(names.slice(2))
    expect(sorted(gpu.asked)).toEqual(names)
  })

  it('are given to helpers at once where the driver has seen none; these stay until they are told to go', async () => {
    const known = new Set<string>()
    const gpu = new Compiler(known, 20)
    const helper = new Compiler(known, 20)
    const ahead = new CompileAhead(gpu, kernels, async () => helper, { helpers: 1, patienceMs: 0, lingerMs: 60_000 })
    await ahead.ready(kernels)
    expect(helper.closed).toBe(0)
    ahead.end()
    await ahead.done
    expect(helper.closed).toBe(1)
    expect(sorted(gpu.asked)).toEqual(names)
  })

  it('are compiled by the device where no helper can be opened, or a helper fails at one', async () => {
    const gpu = new Compiler(new Set(), 20)
    await new CompileAhead(gpu, kernels, () => Promise.reject(new Error('no device')), { helpers: 2, patienceMs: 5 })
      .done
    expect(sorted(gpu.asked)).toEqual(names)
    const own = new Compiler(new Set(), 20)
    const failing = new Compiler(new Set(), 5, 'kernel 4')
    await new CompileAhead(own, kernels, async () => failing, { helpers: 1, patienceMs: 5, lingerMs: 0 }).done
    expect(sorted(own.asked)).toEqual(names)
    expect(failing.closed).toBe(1)
  })

  it('settle also when the device refuses one or is gone', async () => {
    const gpu = new Compiler(new Set(), 5, 'kernel 1')
    const ahead = new CompileAhead(gpu, kernels, async () => new Compiler(new Set(), 5), { helpers: 0 })
    await ahead.ready(kernels)
    await ahead.done
    expect(sorted(gpu.asked)).toEqual(names)
    const gone = new Compiler(new Set(), 30, 'kernel 0')
    gone.open = false
    await new CompileAhead(gone, kernels, async () => new Compiler(new Set(), 5), {
      helpers: 1,
      patienceMs: 5,
      lingerMs: 0,
    }).done
    expect(sorted(gone.asked)).toEqual(names)
  })

  it('get as many helpers as the machine has cores to spare', () => {
    expect([1, 2, 4, 6, 9, 15, 16, 64].map((cores) => compileHelpers(cores))).toEqual([0, 0, 0, 1, 2, 4, 4, 4])
  })
})
