/**
 * What a witness sends of Merkle paths: index bits and siblings of each level and, of a tree of SHA-256, the bits of
 * each hash.
 */
import type { BitWriter } from './bit-writer.ts'
import type { MerkleLayout } from './merkle-record.ts'
import { readU32 } from './records.ts'
import {
  bitsOfPlan,
  constantForm,
  ELEMENT_FORM,
  type FlatPlan,
  flatPlan,
  INITIAL_FORM,
  initialState,
  paddingWords,
  VARIABLE_STATE_FORM,
  writeCompression,
} from './sha256-witness.ts'

const SCALAR_BYTES = 32
const SCALAR_BITS = 255
const PAIR_BYTES = 2 * SCALAR_BYTES

/** Siblings of a path: wide scalars that it sends. */
export function pathSiblings({ levels }: MerkleLayout): number {
  return levels.reduce((sum, { arity }) => sum + arity - 1, 0)
}

/** Index bits of a path. */
export function pathIndexBits({ levels }: MerkleLayout): number {
  return levels.reduce((sum, { bits }) => sum + bits, 0)
}

/**
 * Copies the siblings of a path, from the leaf upwards. @param proof offset of the inclusion proof @returns the end in
 * `wide`
 */
export function writeSiblings(
  layout: MerkleLayout,
  bytes: Uint8Array,
  proof: number,
  wide: Uint8Array,
  at: number,
): number {
  let to = at
  for (const { arity, siblings } of layout.levels) {
    const length = (arity - 1) * SCALAR_BYTES
    wide.set(bytes.subarray(proof + siblings, proof + siblings + length), to)
    to += length
  }
  return to
}

/** Appends the index bits of a path whose hashes are derived. */
export function writeIndexBits(layout: MerkleLayout, bytes: Uint8Array, proof: number, out: BitWriter): void {
  for (const level of layout.levels) out.put(readU32(bytes, proof + level.index), level.bits)
}

/** Writes the bits of hashes of two field elements, as TreeD is made of. Holds its plans; used from one thread. */
export class Sha256PathWriter {
  readonly #elements: FlatPlan = flatPlan(INITIAL_FORM, [...ELEMENT_FORM, ...ELEMENT_FORM])
  readonly #padding: FlatPlan = flatPlan(VARIABLE_STATE_FORM, paddingWords(16, 8 * PAIR_BYTES).map(constantForm))
  readonly #pair: Uint8Array = new Uint8Array(PAIR_BYTES)
  readonly #paddingBlock: Uint8Array = wordsToBytes(paddingWords(16, 8 * PAIR_BYTES))
  readonly #current: Uint8Array = new Uint8Array(SCALAR_BYTES)

  /** Bits that a hash sends: both elements, two compressions. */
  readonly pairBits: number = 2 * SCALAR_BITS + bitsOfPlan(this.#elements) + bitsOfPlan(this.#padding)
  /** Bits that one level of a path sends: its index and the hash. */
  readonly levelBits: number = 1 + this.pairBits

  /** Appends the bits of a path in a binary tree of SHA-256. @param proof offset of the inclusion proof */
  writePath(layout: MerkleLayout, bytes: Uint8Array, proof: number, out: BitWriter): void {
    const pair = this.#pair
    const current = this.#current
    current.set(bytes.subarray(proof + layout.leaf, proof + layout.leaf + SCALAR_BYTES))
    for (const { siblings, index } of layout.levels) {
      const right = readU32(bytes, proof + index)
      out.put(right, 1)
      pair.set(current, right * SCALAR_BYTES)
      pair.set(bytes.subarray(proof + siblings, proof + siblings + SCALAR_BYTES), (1 - right) * SCALAR_BYTES)
      this.writePair(pair, 0, out, current, 0)
    }
  }

  /**
   * Appends the bits of the hash of the two elements at `pair[at]`.
   * @param digest receives the hash at `to`, 32 bytes; may be the memory of the pair
   */
  writePair(pair: Uint8Array, at: number, out: BitWriter, digest: Uint8Array, to: number): void {
    out.putScalar(pair, at)
    out.putScalar(pair, at + SCALAR_BYTES)
    const state = initialState()
    writeCompression(this.#elements, state, pair, at, out)
    writeCompression(this.#padding, state, this.#paddingBlock, 0, out)
    digest.set(wordsToBytes([...state]), to)
    digest[to + SCALAR_BYTES - 1] = (digest[to + SCALAR_BYTES - 1] as number) & 0x3f
  }
}

/** Words as the bytes of a message, big-endian. */
export function wordsToBytes(words: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(4 * words.length)
  const view = new DataView(bytes.buffer)
  for (const [i, word] of words.entries()) view.setUint32(4 * i, word)
  return bytes
}
