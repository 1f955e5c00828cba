/** Who proves, as 32 bytes. */

/**
 * The payload of the miner's ID address: its number as unsigned LEB128 (7 bits a byte, least significant first, the top
 * bit set on all but the last byte), zero-padded to 32 bytes. `1000n` gives `e8 07 00 …`. Enters replica ids and the
 * selection of WinningPoSt sectors, not the PoSt circuits.
 *
 * @param minerId from 0 to 2^64 − 1
 * @throws {RangeError} outside that
 */
export function proverId(minerId: bigint): Uint8Array {
  if (minerId < 0n || minerId >= 1n << 64n) throw new RangeError(`minerId must be from 0 to 2^64 - 1, got ${minerId}`)
  const bytes = new Uint8Array(32)
  let rest = minerId
  for (let i = 0; ; i++) {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    bytes[i] = rest === 0n ? low : low | 0x80
    if (rest === 0n) return bytes
  }
}
