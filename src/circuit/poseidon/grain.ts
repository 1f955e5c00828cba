/**
 * The Grain LFSR in self-shrinking mode that the Poseidon paper (Grassi et al., appendix F) draws round constants from.
 */
import { FR_BITS, FR_MODULUS } from '../../field/fr.ts'

const STATE_BITS = 80
/** Taps of the feedback polynomial. */
const TAPS = [62, 51, 38, 23, 13, 0] as const
/** Outputs thrown away before the first constant. */
const WARM_UP = 160

/**
 * Draws uniform elements of Fr for one instance of Poseidon.
 * @param width t, elements of the state
 * @param count how many constants
 */
export function grainConstants(width: number, fullRounds: number, partialRounds: number, count: number): bigint[] {
  // A ring buffer: bit i of the register is state[(head + i) mod 80].
  const state = new Uint8Array(STATE_BITS)
  let length = 0
  const push = (value: number, bits: number): void => {
    for (let bit = bits - 1; bit >= 0; bit--) state[length++] = (value >>> bit) & 1
  }
  push(1, 2) // a prime field
  push(1, 4) // the S-box is a power x^alpha
  push(FR_BITS, 12)
  push(width, 12)
  push(fullRounds, 10)
  push(partialRounds, 10)
  push(2 ** 30 - 1, 30)

  let head = 0
  const step = (): number => {
    let bit = 0
    for (const tap of TAPS) {
      const at = head + tap
      bit ^= state[at >= STATE_BITS ? at - STATE_BITS : at] as number
    }
    // The bit that leaves is overwritten by the one that enters.
    state[head] = bit
    head = head + 1 === STATE_BITS ? 0 : head + 1
    return bit
  }
  for (let i = 0; i < WARM_UP; i++) step()

  // Self-shrinking: bits come in pairs; the second counts if the first is 1.
  const nextBit = (): number => {
    for (;;) {
      const selector = step()
      const bit = step()
      if (selector === 1) return bit
    }
  }

  const constants: bigint[] = []
  while (constants.length < count) {
    // 255 bits, most significant first, in hexadecimal digits; the first digit has three.
    let hex = '0x'
    for (let bits = FR_BITS; bits > 0; ) {
      let digit = 0
      do {
        digit = (digit << 1) | nextBit()
        bits--
      } while (bits % 4 !== 0)
      hex += digit.toString(16)
    }
    const constant = BigInt(hex)
    if (constant < FR_MODULUS) constants.push(constant)
  }
  return constants
}
