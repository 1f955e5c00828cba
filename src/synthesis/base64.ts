/** Base64 from bytes to bytes, strictly: Node's decoder skips what it doesn't know, and wants a string. */

const INVALID = 0xff
const PAD = 0x3d

const VALUES: Uint8Array = new Uint8Array(256).fill(INVALID)
for (const [i, character] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) {
  VALUES[character.charCodeAt(0)] = i
}

/**
 * Decodes the standard alphabet, padded.
 * @returns undefined for anything else
 */
export function decodeBase64(text: Uint8Array): Uint8Array | undefined {
  const { length } = text
  if (length % 4 !== 0) return undefined
  if (length === 0) return new Uint8Array(0)
  const padding = text[length - 1] !== PAD ? 0 : text[length - 2] !== PAD ? 1 : 2
  const out = new Uint8Array((length / 4) * 3 - padding)
  const whole = padding === 0 ? length : length - 4
  let at = 0
  // No value has bits above the sixth: any in `seen` is of a character that is none.
  let seen = 0
  for (let i = 0; i < whole; i += 4, at += 3) {
    const a = VALUES[text[i] as number] as number
    const b = VALUES[text[i + 1] as number] as number
    const c = VALUES[text[i + 2] as number] as number
    const d = VALUES[text[i + 3] as number] as number
    seen |= a | b | c | d
    out[at] = (a << 2) | (b >>> 4)
    out[at + 1] = (b << 4) | (c >>> 2)
    out[at + 2] = (c << 6) | d
  }
  if (padding > 0) {
    const a = VALUES[text[whole] as number] as number
    const b = VALUES[text[whole + 1] as number] as number
    const c = padding === 1 ? (VALUES[text[whole + 2] as number] as number) : 0
    seen |= a | b | c
    // Bits that no byte gets must be 0.
    if ((padding === 1 ? c & 3 : b & 15) !== 0) return undefined
    out[at] = (a << 2) | (b >>> 4)
    if (padding === 1) out[at + 1] = (b << 4) | (c >>> 2)
  }
  return seen < 64 ? out : undefined
}
