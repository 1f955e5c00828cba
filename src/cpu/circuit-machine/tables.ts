import type { CircuitShape } from '../../circuit/shape.ts'
import { writeBytesBE } from '../../field/bytes.ts'
import type { ThreadPool } from '../thread-context.ts'
import { type ShapeImage, serializeShape } from './image.ts'
import { montgomeryRecords } from './limbs.ts'
import { poseidonTable } from './poseidon-table.ts'

/** Bytes of a context, see {@link ContextFields}. */
export const CONTEXT_BYTES = 64

/** Addresses and limits of one walk; `walk.ts` of the AssemblyScript module describes keys, fixed area and window. */
export interface ContextFields {
  readonly fixedBase?: number
  readonly fixedKeys?: number
  readonly windowBase?: number
  readonly windowFirst?: number
  readonly windowKeys?: number
  readonly bits?: number
  readonly bitCount?: number
  readonly wide?: number
  readonly wideCount?: number
}

/** A circuit's image and constants in WebAssembly memory. */
export class CircuitTables {
  readonly shape: CircuitShape
  readonly image: ShapeImage
  readonly #owner: Pick<ThreadPool, 'memory' | 'arena'>
  readonly #blocks: number[] = []
  readonly #imageAt: number
  readonly #limbsAt: number
  #bytesAt = 0
  readonly #poseidonsAt: number

  /**
   * Serialises a shape and places it with its coefficients and Poseidon constants.
   * @param owner of the memory
   * @throws {Error} the shape contradicts itself
   * @throws {RangeError} the memory can't grow that far
   */
  constructor(owner: Pick<ThreadPool, 'memory' | 'arena'>, shape: CircuitShape) {
    this.shape = shape
    this.#owner = owner
    this.image = serializeShape(shape)
    try {
      this.#imageAt = this.#place(this.image.words)
      this.#limbsAt = this.#place(montgomeryRecords(shape.coefficients))
      const poseidons = this.image.poseidons.map(({ arity, domainTag }) => this.#place(poseidonTable(arity, domainTag)))
      this.#poseidonsAt = this.#place(Uint32Array.from(poseidons))
    } catch (error) {
      this.release()
      throw error
    }
  }

  /** The coefficients as the digest writes them, made on first use. */
  #coefficientBytes(): number {
    if (this.#bytesAt === 0) {
      const { coefficients } = this.shape
      const bytes = new Uint8Array(32 * coefficients.length)
      for (const [i, coefficient] of coefficients.entries())
        writeBytesBE(coefficient, bytes.subarray(32 * i, 32 * i + 32))
      this.#bytesAt = this.#place(bytes)
    }
    return this.#bytesAt
  }

  /** Writes a context to an address. @param digest whether the walk needs coefficients in bytes */
  writeContext(address: number, fields: ContextFields, digest = false): void {
    const { shape } = this
    const words = [
      this.#imageAt,
      this.#limbsAt,
      digest ? this.#coefficientBytes() : 0,
      this.#poseidonsAt,
      shape.inputs,
      shape.inputs + shape.aux,
      shape.constraints,
      fields.fixedBase ?? 0,
      fields.fixedKeys ?? 0,
      fields.windowBase ?? 0,
      fields.windowFirst ?? 0,
      fields.windowKeys ?? 0,
      fields.bits ?? 0,
      fields.bitCount ?? 0,
      fields.wide ?? 0,
      fields.wideCount ?? 0,
    ]
    new Uint32Array(this.#owner.memory.buffer, address, words.length).set(words)
  }

  /** Frees the memory. Idempotent. */
  release(): void {
    for (const block of this.#blocks.splice(0)) this.#owner.arena.free(block)
  }

  #place(data: Uint32Array | Uint8Array): number {
    const address = this.#owner.arena.allocate(data.byteLength)
    this.#blocks.push(address)
    placeBytes(this.#owner.memory, address, data)
    return address
  }
}

/** Copies an array into WebAssembly memory. */
export function placeBytes(memory: WebAssembly.Memory, address: number, data: Uint32Array | Uint8Array): void {
  new Uint8Array(memory.buffer).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address)
}
