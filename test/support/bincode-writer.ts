/** Writes bincode field by field. */
import { frToBytes } from '../../src/field/fr.ts'

/** Collects values one after another: integers little-endian, lengths as u64. */
export class BincodeWriter {
  readonly #parts: Uint8Array[] = []

  u32(value: number): void {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    this.#parts.push(bytes)
  }

  u64(value: bigint | number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(BigInt(value))
    this.#parts.push(bytes)
  }

  scalar(value: bigint): void {
    this.raw(frToBytes(value))
  }

  raw(bytes: Uint8Array): void {
    this.#parts.push(bytes)
  }

  bytes(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.#parts))
  }
}
