/** Thread tasks that fill in an assignment, evaluate its rows and pick scalars from it. */
import type { ThreadContext, ThreadTask } from '../thread-context.ts'

/** Bytes of a scalar: little-endian, canonical. */
export const SCALAR_BYTES = 32
const SCALAR_WORDS = 8

/** Room for a piece of a circuit at the end of a thread's scratch: 13 words and the wires of one template. */
const PIECE_BYTES = 65_536

export interface WalkArgs {
  /** Address of the context (`CircuitTables.writeContext`). */
  readonly context: number
  /** Pieces in the order of the circuit, as `planCircuit` cut them. */
  readonly pieces: readonly Uint32Array[]
  /** One of `MODE` of the circuit module. */
  readonly mode: number
  /** Where rows go, in mode `rows`. */
  readonly rows?: { readonly a: number; readonly b: number } | undefined
}

type CircuitFunction = (...args: number[]) => number

function circuitFunction({ circuit }: ThreadContext, name: string): CircuitFunction {
  return circuit[name] as CircuitFunction
}

const walk: ThreadTask<WalkArgs, void> = (thread, { context, pieces, mode, rows }) => {
  const { memory, scratch, scratchBytes } = thread
  const pieceAt = scratch + scratchBytes - PIECE_BYTES
  // Other tasks use the scratch block too, so its constants are written again.
  circuitFunction(thread, 'bindScratch')(scratch, scratchBytes - PIECE_BYTES)
  circuitFunction(thread, 'bindContext')(context)
  if (rows !== undefined) circuitFunction(thread, 'bindRows')(rows.a, rows.b)
  const walkPiece = circuitFunction(thread, 'walkPiece')
  for (const words of pieces) {
    if (words.byteLength > PIECE_BYTES) throw new Error(`A template has ${words.length} wires`)
    new Uint32Array(memory.buffer, pieceAt, words.length).set(words)
    walkPiece(pieceAt, mode)
  }
}

/** Index of the first of `count` scalars that is not below r, or `count`. */
const firstNotCanonical: ThreadTask<{ readonly address: number; readonly count: number }, number> = (
  thread,
  { address, count },
) => {
  circuitFunction(thread, 'bindScratch')(thread.scratch, thread.scratchBytes)
  return circuitFunction(thread, 'firstNotCanonical')(address, count) >>> 0
}

export interface GatherArgs {
  /** Bits that select scalars of `from`, least significant first within each byte. */
  readonly bits: number
  /** Bit to start at, a multiple of 8, and how many set bits to skip from there. */
  readonly firstBit: number
  readonly skip: number
  /** Scalars to copy. */
  readonly count: number
  /** Address of the scalar that belongs to bit 0. */
  readonly from: number
  readonly to: number
}

/** Copies the scalars of the selected bits next to each other. */
const gather: ThreadTask<GatherArgs, void> = ({ memory }, { bits, firstBit, skip, count, from, to }) => {
  const bytes = new Uint8Array(memory.buffer)
  const words = new Int32Array(memory.buffer)
  let toSkip = skip
  let target = to / 4
  const end = target + count * SCALAR_WORDS
  for (let byteAt = bits + firstBit / 8, bit = firstBit; target < end; byteAt++, bit += 8) {
    let byte = bytes[byteAt] as number
    while (byte !== 0 && target < end) {
      const lowest = 31 - Math.clz32(byte & -byte)
      byte &= byte - 1
      if (toSkip > 0) {
        toSkip--
        continue
      }
      const source = from / 4 + (bit + lowest) * SCALAR_WORDS
      for (let i = 0; i < SCALAR_WORDS; i++) words[target + i] = words[source + i] as number
      target += SCALAR_WORDS
    }
  }
}

/** Tasks of this module, for the registry. */
export const ASSIGNMENT_TASKS: Readonly<{
  'assignment-walk': ThreadTask<WalkArgs, void>
  'assignment-first-not-canonical': ThreadTask<{ readonly address: number; readonly count: number }, number>
  'assignment-gather': ThreadTask<GatherArgs, void>
}> = {
  'assignment-walk': walk,
  'assignment-first-not-canonical': firstNotCanonical,
  'assignment-gather': gather,
}
