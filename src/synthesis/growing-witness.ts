/** A witness in the making, on SharedArrayBuffers: bits and wide values are appended, inputs are set. */
import type { CompactWitness } from '../circuit/shape.ts'
import { BitWriter } from './bit-writer.ts'
import type { MerkleLayout } from './merkle-record.ts'
import { writeSiblings } from './path-witness.ts'

export interface WitnessBytes {
  readonly inputsBytes: number
  readonly bitsBytes: number
  readonly wideBytes: number
}

const SCALAR_BYTES = 32

export class GrowingWitness {
  readonly bits: BitWriter
  readonly #witness: CompactWitness
  #wide = 0

  constructor({ inputsBytes, bitsBytes, wideBytes }: WitnessBytes) {
    const words = new Uint32Array(new SharedArrayBuffer(bitsBytes))
    this.#witness = {
      inputs: new Uint8Array(new SharedArrayBuffer(inputsBytes)),
      // Words are little-endian on every machine that Node runs on.
      bits: new Uint8Array(words.buffer),
      wide: new Uint8Array(new SharedArrayBuffer(wideBytes)),
    }
    this.bits = new BitWriter(words)
  }

  /** The public inputs, 32 bytes little-endian each, after the constant ONE. */
  setInputs(inputs: Uint8Array): void {
    this.#witness.inputs[0] = 1
    this.#witness.inputs.set(inputs, SCALAR_BYTES)
  }

  /** Appends a range of bytes to the wide values. @param length a scalar's, if left out */
  append(bytes: Uint8Array, from = 0, length: number = SCALAR_BYTES): void {
    this.#witness.wide.set(bytes.subarray(from, from + length), this.#wide)
    this.#wide += length
  }

  /** Appends the siblings of a path that begins at `proof`. */
  appendSiblings(layout: MerkleLayout, bytes: Uint8Array, proof: number): void {
    this.#wide = writeSiblings(layout, bytes, proof, this.#witness.wide, this.#wide)
  }

  /** @throws {Error} less or more was written than the circuit has */
  finish(): CompactWitness {
    const { bits, wide } = this.#witness
    if (this.#wide !== wide.length || Math.ceil(this.bits.length / 64) * 8 !== bits.length) {
      throw new Error('a witness of another size than the circuit’s')
    }
    return this.#witness
  }
}
