/** Scalars as they lie in requests and witnesses: 32 bytes little-endian, canonical, that is, below r. */

/** r, the order of BLS12-381's subgroups, as 32-bit words, least significant first. */
const R_WORDS: readonly number[] = [
  0x0000_0001, 0xffff_ffff, 0xfffe_5bfe, 0x53bd_a402, 0x09a1_d805, 0x3339_d808, 0x299d_7d48, 0x73ed_a753,
]

const R_TOP_BYTE = 0x73

/** Whether the 32 bytes at `offset` are a number below r. Nearly always the top byte decides. */
export function isCanonicalScalar(bytes: Uint8Array, offset: number = 0): boolean {
  const top = bytes[offset + 31] as number
  if (top !== R_TOP_BYTE) return top < R_TOP_BYTE
  for (let word = 7; word >= 0; word--) {
    const at = offset + word * 4
    const value =
      ((bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24)) >>>
      0
    const limit = R_WORDS[word] as number
    if (value !== limit) return value < limit
  }
  return false
}

/** Whether the 32 bytes of `a` at `aOffset` and of `b` at `bOffset` are equal. */
export function equalScalars(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number): boolean {
  for (let i = 0; i < 32; i++) if (a[aOffset + i] !== b[bOffset + i]) return false
  return true
}

/** Views of the scalars in a row of them. */
export function scalarsOf(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(32 * i, 32 * (i + 1)))
}

/** Lower-case hex of 32 bytes, for errors. */
export function scalarHex(bytes: Uint8Array, offset: number = 0): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + offset, 32).toString('hex')
}
