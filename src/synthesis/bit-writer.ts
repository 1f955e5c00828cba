/** Appends bits to a bit array a word at a time. */
export class BitWriter {
  readonly #words: Uint32Array
  #bit = 0

  /** @param words zeros, long enough for all that will be written */
  constructor(words: Uint32Array) {
    this.#words = words
  }

  /** Bits written so far. */
  get length(): number {
    return this.#bit
  }

  /**
   * Appends the lowest `count` bits of a number, the lowest first. @param value below 2^count; @param count at most 32
   */
  put(value: number, count: number): void {
    const words = this.#words
    const at = this.#bit >>> 5
    const shift = this.#bit & 31
    words[at] = (words[at] as number) | (value << shift)
    // What spills over; a shift by 32 would be one by 0.
    if (shift + count > 32) words[at + 1] = value >>> (32 - shift)
    this.#bit += count
  }

  /** Appends the bits of `value` that are set in `mask`, the lowest first. */
  putMasked(value: number, mask: number): void {
    if (mask === 0xffff_ffff) {
      this.put(value, 32)
      return
    }
    // Run after run of ones.
    for (let rest = mask, from = 0; rest !== 0; ) {
      const skipped = 31 - Math.clz32(rest & -rest)
      rest >>>= skipped
      from += skipped
      const count = rest === 0xffff_ffff ? 32 : 31 - Math.clz32(~rest & (rest + 1))
      this.put((value >>> from) & (2 ** count - 1), count)
      rest = count === 32 ? 0 : rest >>> count
      from += count
    }
  }

  /** Appends the lowest 255 bits of 32 bytes little-endian. */
  putScalar(bytes: Uint8Array, at: number): void {
    for (let i = 0; i < 32; i += 4) {
      const word =
        (bytes[at + i] as number) |
        ((bytes[at + i + 1] as number) << 8) |
        ((bytes[at + i + 2] as number) << 16) |
        ((bytes[at + i + 3] as number) << 24)
      this.put(word >>> 0, i < 28 ? 32 : 31)
    }
  }
}
