/**
 * Compiles kernels before they are needed. Two at a time is what Dawn compiles for one device, however many are asked
 * for; a driver that has not seen them before takes seconds then. Helper devices beside it compile more at once, and
 * the driver remembers what it compiled: the device gets what a helper has compiled within milliseconds. Once helpers
 * are there the device begins no kernel itself, for what they have compiled would wait behind it.
 */
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Gpu } from './gpu.ts'
import type { Kernel } from './kernel.ts'

/** A driver that knows the first kernels has one of them ready by then. */
const PATIENCE_MS = 250
/** To close a device blocks the event loop for 50 ms: not when the first proof begins. */
const LINGER_MS = 5_000
/** They share the event loop of the process. */
const MOST_HELPERS = 4
/** Kernels that a device compiles at a time. */
const LANES = 2
/** Cores that a helper keeps busy. */
const CORES_PER_HELPER = 3

/** Helpers that are worth their start on this machine. */
export const compileHelpers = (cores: number = availableParallelism()): number =>
  Math.max(0, Math.min(MOST_HELPERS, Math.floor(cores / CORES_PER_HELPER) - 1))

/** How kernels are compiled ahead; the defaults suit a large GPU. */
export interface CompileAheadOptions {
  /** @default what the machine's cores allow */
  readonly helpers?: number | undefined
  /**
   * How long one of the first kernels may take before helpers are opened; 0 where the driver has most likely not seen
   * them.
   */
  readonly patienceMs?: number | undefined
  /** How long helpers stay open when there is nothing left for them. */
  readonly lingerMs?: number | undefined
}

type Helper = Pick<Gpu, 'prepare' | 'close'>

/** Has one device and its helpers compile some kernels, in the background. */
export class CompileAhead {
  /** Resolves when the device was asked for every kernel and has answered, and no helper is left. Never rejects. */
  readonly done: Promise<void>
  readonly #gpu: Pick<Gpu, 'prepare' | 'open'>
  /** Not begun. */
  readonly #left: Kernel[]
  /** By kernel: called when the device has answered. */
  readonly #answer = new Map<Kernel, () => void>()
  readonly #answered = new Map<Kernel, Promise<void>>()
  readonly #helpers: Helper[] = []
  readonly #over = new AbortController()
  #helped = false

  /**
   * @param kernels in the order in which they are begun: what is needed first, and the longest of that first
   * @param openHelper opens another device of the same adapter; one that can't be opened is done without
   */
  constructor(
    gpu: Pick<Gpu, 'prepare' | 'open'>,
    kernels: readonly Kernel[],
    openHelper: () => Promise<Helper>,
    options: CompileAheadOptions = {},
  ) {
    this.#gpu = gpu
    this.#left = [...new Set(kernels)]
    for (const kernel of this.#left) {
      const answered = new Promise<void>((resolve) => void this.#answer.set(kernel, resolve))
      this.#answered.set(kernel, answered)
    }
    this.done = this.#compile(openHelper, options)
  }

  /**
   * Resolves when the device was asked for these kernels, as far as they are compiled ahead, and has answered. Whoever
   * asks for them before that has the device begin them itself.
   */
  async ready(kernels: readonly Kernel[]): Promise<void> {
    await Promise.all(kernels.map((kernel) => this.#answered.get(kernel)))
  }

  /** Closes helpers as soon as they have nothing to do. */
  end(): void {
    this.#over.abort()
  }

  async #compile(
    openHelper: () => Promise<Helper>,
    { helpers = compileHelpers(), patienceMs = PATIENCE_MS, lingerMs = LINGER_MS }: CompileAheadOptions,
  ): Promise<void> {
    const first = this.#left.slice(0, LANES)
    const ownLanes = (): Promise<void>[] =>
      Array.from({ length: LANES }, () => this.#lane(() => !this.#helped, this.#gpu))
    const own = ownLanes()
    if (helpers > 0 && (await this.#isSlow(first, patienceMs))) {
      this.#helped = true
      await Promise.allSettled(Array.from({ length: helpers }, () => this.#help(openHelper)))
    } else {
      // Its compilers need not wait for the next one's module.
      own.push(...ownLanes())
    }
    await Promise.all(own)
    // Where no helper could be opened.
    await Promise.all(this.#left.splice(0).map((kernel) => this.#ask(kernel)))
    await Promise.all(this.#answered.values())
    if (this.#helpers.length > 0) await delay(lingerMs, undefined, { signal: this.#over.signal }).catch(() => {})
    for (const helper of this.#helpers) await helper.close()
  }

  /** Whether all of some kernels take longer than that. */
  async #isSlow(kernels: readonly Kernel[], patienceMs: number): Promise<boolean> {
    if (patienceMs === 0) return true
    const patience = new AbortController()
    const slow = delay(patienceMs, true, { signal: patience.signal }).catch(() => false)
    const known = Promise.race(kernels.map((kernel) => this.#answered.get(kernel))).then(() => false)
    const result = await Promise.race([slow, known])
    patience.abort()
    return result
  }

  async #help(openHelper: () => Promise<Helper>): Promise<void> {
    const helper = await openHelper()
    this.#helpers.push(helper)
    await Promise.all(Array.from({ length: LANES }, () => this.#lane(() => this.#gpu.open, helper)))
  }

  /**
   * Compiles one kernel after another on the device, or on a helper and then, from the driver's cache, on the device.
   */
  async #lane(goOn: () => boolean, on: Pick<Gpu, 'prepare'>): Promise<void> {
    while (goOn()) {
      const kernel = this.#left.shift()
      if (kernel === undefined) return
      // What a helper fails at the device compiles itself.
      if (on !== this.#gpu) await on.prepare([kernel]).catch(() => {})
      const asked = this.#ask(kernel)
      if (on === this.#gpu) await asked
    }
  }

  /** A kernel that the device refuses is refused again where it is needed, and fails there. */
  async #ask(kernel: Kernel): Promise<void> {
    await this.#gpu.prepare([kernel]).catch(() => {})
    this.#answer.get(kernel)?.()
  }
}
