/**
 * What verification computes, in WebAssembly on the calling thread: the sum over a verifying key's points, and
 * pairings.
 */
import type { G1Multiexp } from '../curve/multiexp.ts'
import type { PairingCheck } from '../curve/pairing.ts'
import type { VerifyOptions } from '../groth16/verify.ts'
import type { MemoryArena } from './arena.ts'
import { localKernels } from './local-kernels.ts'
import { SCALAR_BYTES } from './msm/digits.ts'
import { doublingTerms, sumByDoubling } from './msm/doubling-sum.ts'
import { ENCODED_BYTES, groupKernels, POINT_BYTES } from './msm/group-kernels.ts'
import { digitsBytes, multiexpSync } from './msm/multiexp.ts'
import { PairingProduct } from './pairing/pairing-product.ts'
import type { ThreadContext } from './thread-context.ts'

/** 64 MiB: a key of 25,840 inputs takes 3.3 MB, and 1.8 MB more while it is summed over. */
const MAXIMUM_PAGES = 1024

/** Keys whose points stay imported. Ten circuits are in use at most at a time, usually one or two. */
const KEPT_KEYS = 4

class VerifyArithmetic {
  readonly #context: ThreadContext
  readonly #arena: MemoryArena
  /** Imported points by the array that they came from, least recently used first. */
  readonly #imported = new Map<Uint8Array, number>()
  readonly pairings: PairingProduct

  constructor() {
    const { context, arena } = localKernels(MAXIMUM_PAGES)
    this.#context = context
    this.#arena = arena
    this.pairings = new PairingProduct(context, arena)
  }

  sum(points: Uint8Array, scalars: Uint8Array): Uint8Array {
    const count = points.length / ENCODED_BYTES.g1
    if (scalars.length !== count * SCALAR_BYTES) {
      throw new RangeError(`${scalars.length} bytes of scalars for ${points.length} bytes of points`)
    }
    const address = this.#points(points, count)
    const terms = doublingTerms(scalars)
    if (terms !== undefined) return sumByDoubling(this.#context, this.#arena, 'g1', address, terms)
    const blocks = [this.#arena.allocate(scalars.length)]
    try {
      blocks.push(this.#arena.allocate(digitsBytes(count)))
      const [scalarsAt, digits] = blocks as [number, number]
      new Uint8Array(this.#context.memory.buffer).set(scalars, scalarsAt)
      return multiexpSync(this.#context, 'g1', address, scalarsAt, count, digits)
    } finally {
      for (const block of blocks) this.#arena.free(block)
    }
  }

  #points(points: Uint8Array, count: number): number {
    const known = this.#imported.get(points)
    if (known !== undefined) {
      this.#imported.delete(points)
      this.#imported.set(points, known)
      return known
    }
    for (const [oldest, address] of this.#imported) {
      if (this.#imported.size < KEPT_KEYS) break
      this.#imported.delete(oldest)
      this.#arena.free(address)
    }
    const address = this.#import(points, count)
    this.#imported.set(points, address)
    return address
  }

  #import(points: Uint8Array, count: number): number {
    const { lanes, pointBytes, encodedBytes, importPoints } = groupKernels(this.#context, 'g1')
    const address = this.#arena.allocate(count * POINT_BYTES.g1)
    const staged = this.#arena.allocate(points.length)
    try {
      new Uint8Array(this.#context.memory.buffer).set(points, staged)
      for (let i = 0; i < count; i += lanes) {
        const from = staged + i * encodedBytes
        const to = address + i * pointBytes
        const second = i + 1 < count ? 1 : 0
        const faults =
          lanes === 2
            ? importPoints(from, from + second * encodedBytes, to, to + second * pointBytes)
            : importPoints(from, to)
        if (faults !== 0) throw new Error(`point ${i} or its neighbour is not on the curve`)
      }
      return address
    } catch (error) {
      this.#arena.free(address)
      throw error
    } finally {
      this.#arena.free(staged)
    }
  }
}

let instance: VerifyArithmetic | undefined

function shared(): VerifyArithmetic {
  instance ??= new VerifyArithmetic()
  return instance
}

/**
 * {@link G1Multiexp} by the kernels of the CPU device. The first call of a thread compiles them (about 20 ms) and the
 * first for each array of points imports it; arrays are known by identity and must not change.
 * @throws {Error} the package was not built, or a point is not on the curve
 */
export const wasmMultiexp: G1Multiexp = (points, scalars) => shared().sum(points, scalars)

/**
 * {@link PairingCheck} by the same kernels.
 * @throws {Error} the package was not built
 */
export const wasmPairings: PairingCheck = (terms) => shared().pairings.isOne(terms)

/** Both. */
export const wasmArithmetic: VerifyOptions = { multiexp: wasmMultiexp, pairings: wasmPairings }
