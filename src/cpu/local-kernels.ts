/** The kernels of the CPU device on the calling thread, for work that is too short to be handed to others. */
import { readFileSync } from 'node:fs'
import { frToBytes } from '../field/fr.ts'
import type { ShortSum } from '../groth16/proving-device.ts'
import { MemoryArena } from './arena.ts'
import { combineWindows } from './msm/combine.ts'
import { sumByDoubling, type Term } from './msm/doubling-sum.ts'
import { ENCODED_BYTES, type Group, groupKernels, POINT_BYTES } from './msm/group-kernels.ts'
import { decodePoint } from './msm/projective.ts'
import { chooseBackend, kernelModuleName } from './relaxed-simd.ts'
import { ARENA_BASE, type ThreadContext } from './thread-context.ts'
import { SCRATCH_BYTES } from './thread-pool.ts'
import { wasmFile } from './wasm-file.ts'

const PAGE_BYTES = 0x1_0000
const INITIAL_PAGES: number = (ARENA_BASE + SCRATCH_BYTES) / PAGE_BYTES + 16

export interface LocalKernels {
  readonly context: ThreadContext
  readonly arena: MemoryArena
}

/**
 * Instantiates the kernels over a memory of their own: about 20 ms, and 11 MiB to begin with.
 * @param maximumPages of 64 KiB, that the arena may grow to
 * @throws {Error} the package was not built
 */
export function localKernels(maximumPages: number): LocalKernels {
  const file = kernelModuleName(chooseBackend('auto'))
  const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: maximumPages, shared: true })
  const arena = new MemoryArena(memory, maximumPages)
  const scratch = arena.allocate(SCRATCH_BYTES)
  const env = { memory, scratch: new WebAssembly.Global({ value: 'i32', mutable: false }, scratch) }
  const module = new WebAssembly.Module(readFileSync(wasmFile(file)))
  const kernels = new WebAssembly.Instance(module, { env }).exports
  return { context: { memory, kernels, circuit: {}, scratch, scratchBytes: SCRATCH_BYTES }, arena }
}

let instance: LocalKernels | undefined

/**
 * Σ_w 2^(windowBits · w) Σ_i windows[w][i], about 1 µs an addition in G1 (2 in G2) and as much a doubling.
 * @param windows encoded points, uncompressed big-endian, infinity allowed; window 0 first
 * @returns the encoded sum
 * @throws {Error} a point is not on the curve, or the package was not built
 */
export function sumOfWindows(
  group: Group,
  windowBits: number,
  windows: readonly (readonly Uint8Array[])[],
): Uint8Array {
  instance ??= localKernels(INITIAL_PAGES)
  return combineWindows(instance.context, { group, windowBits, windows })
}

/**
 * Σ scalars[i] · points[i] of a few points: bit by bit, 255 doublings in all and some 127 additions a scalar.
 * @param points uncompressed big-endian, infinity allowed
 * @param scalars not negative, below 2^256
 * @returns the encoded sum
 */
export const shortSum: ShortSum = (group, points, scalars) => {
  instance ??= localKernels(INITIAL_PAGES)
  const { context, arena } = instance
  const kernels = groupKernels(context, group)
  const room = arena.allocate(points.length * POINT_BYTES[group] + ENCODED_BYTES[group])
  try {
    const encoded = room + points.length * POINT_BYTES[group]
    const terms = points.flatMap((point, i): Term[] => {
      const scalar = frToBytes(scalars[i] as bigint)
      const finite = decodePoint(context, kernels, point, room + i * POINT_BYTES[group], encoded) !== 0
      return finite ? [{ scalar, points: [i] }] : []
    })
    return sumByDoubling(context, arena, group, room, terms)
  } finally {
    arena.free(room)
  }
}
