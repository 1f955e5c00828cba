/** ChaCha with 8 rounds as a random number generator: `ChaCha8Rng` of rand_chacha, stream 0. */

const WORDS = 16
const DOUBLE_ROUNDS = 4
/** "expand 32-byte k". */
const CONSTANTS = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574] as const

export class ChaCha8 {
  readonly #input = new Uint32Array(WORDS)
  readonly #block = new Uint32Array(WORDS)
  #next = WORDS

  /** @param seed 32 bytes */
  constructor(seed: Uint8Array) {
    const view = new DataView(seed.buffer, seed.byteOffset, 32)
    this.#input.set(CONSTANTS)
    for (let i = 0; i < 8; i++) this.#input[4 + i] = view.getUint32(4 * i, true)
  }

  /** The next 64-bit number modulo `limit`, which is at most 2^53. */
  below(limit: number): number {
    const low = this.#word()
    return Number(((BigInt(this.#word()) << 32n) | BigInt(low)) % BigInt(limit))
  }

  #word(): number {
    if (this.#next === WORDS) this.#refill()
    return this.#block[this.#next++] as number
  }

  #refill(): void {
    const block = this.#block
    block.set(this.#input)
    for (let i = 0; i < DOUBLE_ROUNDS; i++) {
      for (let column = 0; column < 4; column++) quarterRound(block, column, 4 + column, 8 + column, 12 + column)
      for (let d = 0; d < 4; d++) quarterRound(block, d, 4 + ((d + 1) & 3), 8 + ((d + 2) & 3), 12 + ((d + 3) & 3))
    }
    for (let i = 0; i < WORDS; i++) block[i] = (block[i] as number) + (this.#input[i] as number)
    // No stream here is long enough for the counter to leave its first word.
    this.#input[12] = (this.#input[12] as number) + 1
    this.#next = 0
  }
}

function quarterRound(s: Uint32Array, a: number, b: number, c: number, d: number): void {
  addXorRotate(s, a, b, d, 16)
  addXorRotate(s, c, d, b, 12)
  addXorRotate(s, a, b, d, 8)
  addXorRotate(s, c, d, b, 7)
}

/** x += y; z = (z ⊕ x) <<< count. */
function addXorRotate(s: Uint32Array, x: number, y: number, z: number, count: number): void {
  s[x] = (s[x] as number) + (s[y] as number)
  const value = (s[z] as number) ^ (s[x] as number)
  s[z] = (value << count) | (value >>> (32 - count))
}
