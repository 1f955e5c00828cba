/** Bit arrays of variables, as 32-bit words while they are built: bit i is bit i mod 32 of word ⌊i / 32⌋. */
import type { BitArray } from './shape.ts'

/** Words that hold so many bits. */
export const wordsFor = (bits: number): number => Math.ceil(bits / 32)

/** Sets one bit. */
export function setBit(words: Uint32Array, index: number): void {
  words[index >>> 5] = (words[index >>> 5] as number) | (1 << (index & 31))
}

/** Whether a bit is set. */
export function testBit(words: Uint32Array, index: number): boolean {
  return (((words[index >>> 5] as number) >>> (index & 31)) & 1) === 1
}

/** Sets target[offset + i] for each set bit i of the source. Bits of the source past its length must be 0. */
export function orBits(target: Uint32Array, offset: number, source: Uint32Array): void {
  const shift = offset & 31
  let at = offset >>> 5
  for (let i = 0; i < source.length; i++, at++) {
    const word = source[i] as number
    // Padding is skipped with the zeros, so nothing is read or written past the target's end.
    if (word !== 0) {
      target[at] = (target[at] as number) | (word << shift)
      // The part that spills over; a shift by 32 would be one by 0.
      const spill = shift > 0 ? word >>> (32 - shift) : 0
      if (spill !== 0) target[at + 1] = (target[at + 1] as number) | spill
    }
  }
}

/** How many bits are set. */
export function countBits(words: Uint32Array): number {
  let count = 0
  for (let i = 0; i < words.length; i++) {
    let word = words[i] as number
    // Sums of neighbours: of 2, 4, 8 bits, then all four bytes by one multiplication.
    word -= (word >>> 1) & 0x5555_5555
    word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333)
    count += Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
  }
  return count
}

/** Words for some bits, padded to a multiple of 8 bytes as a {@link BitArray} is. */
export const paddedWordsFor = (bits: number): number => 2 * Math.ceil(bits / 64)

/**
 * The same memory as bytes, least significant bit first: words are little-endian on every machine that Node runs on.
 */
export function asBitArray(words: Uint32Array): BitArray {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}
