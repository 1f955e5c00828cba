/** The two secrets that make a proof zero-knowledge. */
import { randomBytes } from 'node:crypto'
import { fromBytesLE } from '../field/bytes.ts'
import { FR_BITS, FR_BYTES, FR_MODULUS } from '../field/fr.ts'

/** One pair a proof. Never logged, never part of an error or an event; whoever knows it learns about the witness. */
export interface Blinding {
  readonly r: bigint
  readonly s: bigint
}

/**
 * A uniform element of Fr from the operating system's generator: numbers of 255 bits are drawn until one is below r (9
 * in 10 are).
 */
export function randomScalar(): bigint {
  for (;;) {
    const bytes = randomBytes(FR_BYTES)
    bytes[FR_BYTES - 1] = (bytes[FR_BYTES - 1] as number) & (0xff >> (8 * FR_BYTES - FR_BITS))
    const value = fromBytesLE(bytes)
    bytes.fill(0)
    if (value < FR_MODULUS) return value
  }
}

/** A new pair, for one proof and no other. */
export function randomBlinding(): Blinding {
  return { r: randomScalar(), s: randomScalar() }
}
