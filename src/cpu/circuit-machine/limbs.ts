/** Scalars in the form that `circuit.wasm` computes with: nine limbs of 29 bits in a record of ten 32-bit words. */
import { FR_MODULUS } from '../../field/fr.ts'

/** Bytes of a limb record. */
export const LIMB_RECORD_BYTES = 40
const LIMB_RECORD_WORDS = 10
const LIMB_BITS = 29n
const LIMB_MASK = (1n << LIMB_BITS) - 1n
/** log2 of the Montgomery radix R. */
const RADIX_BITS = 261n

/** Writes value · R mod r as the record with this number. `value` is canonical. */
export function writeMontgomery(words: Uint32Array, record: number, value: bigint): void {
  let rest = (value << RADIX_BITS) % FR_MODULUS
  const first = record * LIMB_RECORD_WORDS
  for (let limb = 0; limb < 9; limb++) {
    words[first + limb] = Number(rest & LIMB_MASK)
    rest >>= LIMB_BITS
  }
  words[first + 9] = 0
}

/** Limb records, in Montgomery form, of canonical values. */
export function montgomeryRecords(values: readonly bigint[]): Uint32Array {
  const words = new Uint32Array(values.length * LIMB_RECORD_WORDS)
  for (const [record, value] of values.entries()) writeMontgomery(words, record, value)
  return words
}
