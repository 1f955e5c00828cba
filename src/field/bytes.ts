/**
 * Integers of fixed length as bytes. Scalars travel little-endian (32 bytes), coordinates of points big-endian (48
 * bytes), as in the Rust crates `blstrs` and `pairing`. Lengths are multiples of 8, so that a 64-bit word is one
 * `DataView` access.
 */

function view(bytes: Uint8Array): DataView {
  if (bytes.length % 8 !== 0) throw new RangeError(`expected a multiple of 8 bytes, got ${bytes.length}`)
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** @param bytes little-endian, a multiple of 8 bytes */
export function fromBytesLE(bytes: Uint8Array): bigint {
  const words = view(bytes)
  let value = 0n
  for (let at = bytes.length - 8; at >= 0; at -= 8) value = (value << 64n) | words.getBigUint64(at, true)
  return value
}

/** @param bytes big-endian, a multiple of 8 bytes */
export function fromBytesBE(bytes: Uint8Array): bigint {
  const words = view(bytes)
  let value = 0n
  for (let at = 0; at < bytes.length; at += 8) value = (value << 64n) | words.getBigUint64(at, false)
  return value
}

/**
 * Writes `value` little-endian over all of `out`.
 * @throws {RangeError} the value is negative or does not fit
 */
export function writeBytesLE(value: bigint, out: Uint8Array): void {
  const words = view(out)
  let rest = value
  for (let at = 0; at < out.length; at += 8) {
    words.setBigUint64(at, rest, true)
    rest >>= 64n
  }
  if (rest !== 0n) throw new RangeError(`value does not fit ${out.length} bytes`)
}

/**
 * Writes `value` big-endian over all of `out`.
 * @throws {RangeError} the value is negative or does not fit
 */
export function writeBytesBE(value: bigint, out: Uint8Array): void {
  const words = view(out)
  let rest = value
  for (let at = out.length - 8; at >= 0; at -= 8) {
    words.setBigUint64(at, rest, false)
    rest >>= 64n
  }
  if (rest !== 0n) throw new RangeError(`value does not fit ${out.length} bytes`)
}
