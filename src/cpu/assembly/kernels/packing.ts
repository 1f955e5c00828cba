/** Digits of w bits from and to little-endian integers in memory. */
import type { FunctionBuilder } from './wat.ts'
import { get, i64, offset32 } from './wat.ts'

/**
 * Where digit i of w bits starts in a little-endian integer: the byte to load 8 bytes from, and the shift; never past
 * its end.
 */
export function digitPosition(i: number, w: number, bytes: number): readonly [byte: number, shift: number] {
  const byte = Math.min(Math.floor((i * w) / 8), bytes - 8)
  return [byte, i * w - 8 * byte]
}

/** Stores digits in [0, 2^w) as a little-endian integer of `bytes` bytes, 8 at a time. */
export function packWords(
  f: FunctionBuilder,
  digits: readonly string[],
  w: number,
  bytes: number,
  address: string,
): void {
  for (let word = 0; word < bytes / 8; word++) {
    const parts: string[] = []
    digits.forEach((digit, i) => {
      const shift = i * w - 64 * word
      if (shift <= -w || shift >= 64) return
      parts.push(shift >= 0 ? `(i64.shl ${get(digit)} ${i64(shift)})` : `(i64.shr_u ${get(digit)} ${i64(-shift)})`)
    })
    f.do(`(i64.store align=1 ${offset32(address, 8 * word)} ${parts.reduce((a, b) => `(i64.or ${a} ${b})`)})`)
  }
}
