/**
 * BLAKE2s-256, unkeyed (RFC 7693). A state is 128 bytes: h at 0 (8 × u32), bytes compressed at 32 (u64), bytes buffered
 * at 40 (u32), the buffer at 64 (64 bytes).
 */
import { compress, compressTwo, IV_HIGH, IV_LOW } from './blake2s-compress'

export function blake2sInit(state: usize): void {
  v128.store(state, IV_LOW)
  v128.store(state, IV_HIGH, 16)
  // Parameter block: digest length 32, no key, fanout 1, depth 1.
  store<u32>(state, load<u32>(state) ^ 0x0101_0020)
  store<u64>(state, 0, 32)
  store<u32>(state, 0, 40)
}

/** Absorbs bytes. A full buffer waits, because the last block of a message is compressed differently. */
export function blake2sUpdate(state: usize, data: usize, bytes: u32): void {
  if (!bytes) return
  const buffered = load<u32>(state, 40)
  let counter = load<u64>(state, 32)
  if (buffered) {
    const free: u32 = 64 - buffered
    if (bytes <= free) {
      memory.copy(state + 64 + buffered, data, bytes)
      store<u32>(state, buffered + bytes, 40)
      return
    }
    memory.copy(state + 64 + buffered, data, free)
    compress(state, state + 64, 1, counter, 64, 0)
    counter += 64
    data += free
    bytes -= free
  }
  const blocks = (bytes - 1) >> 6
  compress(state, data, blocks, counter, 64, 0)
  const rest = bytes - (blocks << 6)
  memory.copy(state + 64, data + (blocks << 6), rest)
  store<u64>(state, counter + ((<u64>blocks) << 6), 32)
  store<u32>(state, rest, 40)
}

/** Absorbs the same bytes into two states, which may have buffered differently. */
export function blake2sUpdateTwo(state: usize, state2: usize, data: usize, bytes: u32): void {
  // A buffer that is brought to 64 bytes is compressed with the next byte: fill both, and leave both not empty.
  const first: u32 = 64 - load<u32>(state, 40)
  const first2: u32 = 64 - load<u32>(state2, 40)
  if (bytes <= first + 64 || bytes <= first2 + 64) {
    blake2sUpdate(state, data, bytes)
    blake2sUpdate(state2, data, bytes)
    return
  }
  blake2sUpdate(state, data, first)
  blake2sUpdate(state2, data, first2)
  compressBuffer(state)
  compressBuffer(state2)
  const rest = bytes - first
  const rest2 = bytes - first2
  const blocks = (min(rest, rest2) - 1) >> 6
  compressTwo(state, data + first, load<u64>(state, 32), state2, data + first2, load<u64>(state2, 32), blocks)
  const hashed = blocks << 6
  store<u64>(state, load<u64>(state, 32) + hashed, 32)
  store<u64>(state2, load<u64>(state2, 32) + hashed, 32)
  blake2sUpdate(state, data + first + hashed, rest - hashed)
  blake2sUpdate(state2, data + first2 + hashed, rest2 - hashed)
}

/** Compresses a full buffer that is known not to be the last block. */
function compressBuffer(state: usize): void {
  const counter = load<u64>(state, 32)
  compress(state, state + 64, 1, counter, 64, 0)
  store<u64>(state, counter + 64, 32)
  store<u32>(state, 0, 40)
}

/**
 * Writes the digest (32 bytes) of what was absorbed so far; the state stays usable. `copy` is another state that is
 * overwritten.
 */
export function blake2sDigest(state: usize, copy: usize, out: usize): void {
  memory.copy(copy, state, 128)
  const buffered = load<u32>(copy, 40)
  memory.fill(copy + 64 + buffered, 0, 64 - buffered)
  compress(copy, copy + 64, 1, load<u64>(copy, 32), buffered, 0xffff_ffff)
  memory.copy(out, copy, 32)
}
