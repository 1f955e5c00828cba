/**
 * Writes BLAKE2s's compression function (RFC 7693) in AssemblyScript, unrolled: the message schedule of each of the ten
 * rounds stands in its loads, and the working vector in local variables, which a loop could not do.
 *
 * The working vector is four rows of four words; a round mixes the columns, rotates rows 1 to 3 so that diagonals
 * become columns, mixes again, and rotates back. Message words are gathered lane by lane, which is off the critical
 * path. Two messages at once take turns, statement by statement: their dependent chains interleave.
 */

/** Which message word each step of a round takes (RFC 7693, section 2.7). */
const SIGMA: readonly (readonly number[])[] = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
]

/** The rows of one message's working vector, and where its words are. */
interface Lanes {
  readonly a: string
  readonly b: string
  readonly c: string
  readonly d: string
  readonly words: string
}

const FIRST: Lanes = { a: 'a', b: 'b', c: 'c', d: 'd', words: 'data' }
const SECOND: Lanes = { a: 'aa', b: 'bb', c: 'cc', d: 'dd', words: 'other' }

/** A row with its words rotated left by `count`. */
function turned(row: string, count: number): string {
  const bytes = Array.from({ length: 16 }, (_, i) => (i + 4 * count) % 16)
  return `${row} = i8x16.shuffle(${row}, ${row}, ${bytes.join(', ')})`
}

/** Half of the mixing of four columns, with the message words of the four. */
function mixed(
  schedule: readonly (number | undefined)[],
  rotateD: string,
  rotateB: string,
): ((lanes: Lanes) => string)[] {
  return [
    ({ a, b, words }) => `${a} = i32x4.add(i32x4.add(${a}, words(${words}, ${schedule.join(', ')})), ${b})`,
    ({ a, d }) => `${d} = ${rotateD}(v128.xor(${d}, ${a}))`,
    ({ c, d }) => `${c} = i32x4.add(${c}, ${d})`,
    ({ b, c }) => `${b} = ${rotateB}(v128.xor(${b}, ${c}))`,
  ]
}

/** The ten rounds, statement by statement for each message. */
function rounds(messages: readonly Lanes[]): string {
  const lines = SIGMA.flatMap((sigma, round) => {
    /** Every other word of a half of the schedule: the first or second message word of each of four columns. */
    const schedule = (first: number): (number | undefined)[] => [0, 2, 4, 6].map((step) => sigma[first + step])
    const half = (first: number): ((lanes: Lanes) => string)[] => [
      ...mixed(schedule(first), 'rotate16', 'rotate12'),
      ...mixed(schedule(first + 1), 'rotate8', 'rotate7'),
    ]
    const turn = (b: number, c: number, d: number): ((lanes: Lanes) => string)[] => [
      (lanes) => turned(lanes.b, b),
      (lanes) => turned(lanes.c, c),
      (lanes) => turned(lanes.d, d),
    ]
    const steps = [...half(0), ...turn(1, 2, 3), ...half(8), ...turn(3, 2, 1)]
    return [`// Round ${round}`, ...steps.flatMap((step) => messages.map(step))]
  })
  return lines.join('\n')
}

const HELPERS = `
export const IV_LOW: v128 = i32x4(0x6a09e667, <i32>0xbb67ae85, 0x3c6ef372, <i32>0xa54ff53a)
export const IV_HIGH: v128 = i32x4(0x510e527f, <i32>0x9b05688c, 0x1f83d9ab, 0x5be0cd19)

// @ts-ignore: decorator
@inline
function rotate16(x: v128): v128 {
  return i8x16.shuffle(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
}
// @ts-ignore: decorator
@inline
function rotate8(x: v128): v128 {
  return i8x16.shuffle(x, x, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12)
}
// @ts-ignore: decorator
@inline
function rotate12(x: v128): v128 {
  return v128.or(i32x4.shr_u(x, 12), i32x4.shl(x, 20))
}
// @ts-ignore: decorator
@inline
function rotate7(x: v128): v128 {
  return v128.or(i32x4.shr_u(x, 7), i32x4.shl(x, 25))
}
// @ts-ignore: decorator
@inline
function words(m: usize, i: usize, j: usize, k: usize, l: usize): v128 {
  return v128.load_lane<u32>(
    m + 4 * l,
    v128.load_lane<u32>(m + 4 * k, v128.load_lane<u32>(m + 4 * j, v128.load_zero<u32>(m + 4 * i), 1), 2),
    3,
  )
}
`

/**
 * The module that `circuit/blake2s.ts` imports as `./blake2s-compress`:
 *
 * - `compress(state, data, blocks, counter, tail, last)` compresses whole blocks; `counter` has the bytes of the
 *   message before them, each block counts as `tail` bytes, and `last` is all ones if the block is the message's last;
 * - `compressTwo(state, data, counter, state2, other, counter2, blocks)` does so for two states and messages at once,
 *   of 64 bytes a block;
 * - the two halves of the initial vector.
 */
export function blake2sCompressSource(): string {
  return `${HELPERS}
export function compress(state: usize, data: usize, blocks: u32, counter: u64, tail: u32, last: u32): void {
  let low = v128.load(state)
  let high = v128.load(state, 16)
  for (let block: u32 = 0; block < blocks; block++, data += 64) {
    counter += tail
    let a = low
    let b = high
    let c = IV_LOW
    let d = v128.xor(IV_HIGH, i32x4.replace_lane(i64x2.replace_lane(i64x2.splat(0), 0, counter), 2, last))
    ${rounds([FIRST])}
    low = v128.xor(low, v128.xor(a, c))
    high = v128.xor(high, v128.xor(b, d))
  }
  v128.store(state, low)
  v128.store(state, high, 16)
}

export function compressTwo(state: usize, data: usize, counter: u64, state2: usize, other: usize, counter2: u64, blocks: u32): void {
  let low = v128.load(state)
  let high = v128.load(state, 16)
  let low2 = v128.load(state2)
  let high2 = v128.load(state2, 16)
  for (let block: u32 = 0; block < blocks; block++, data += 64, other += 64) {
    counter += 64
    counter2 += 64
    let a = low
    let b = high
    let c = IV_LOW
    let d = v128.xor(IV_HIGH, i64x2.replace_lane(i64x2.splat(0), 0, counter))
    let aa = low2
    let bb = high2
    let cc = IV_LOW
    let dd = v128.xor(IV_HIGH, i64x2.replace_lane(i64x2.splat(0), 0, counter2))
    ${rounds([FIRST, SECOND])}
    low = v128.xor(low, v128.xor(a, c))
    high = v128.xor(high, v128.xor(b, d))
    low2 = v128.xor(low2, v128.xor(aa, cc))
    high2 = v128.xor(high2, v128.xor(bb, dd))
  }
  v128.store(state, low)
  v128.store(state, high, 16)
  v128.store(state2, low2)
  v128.store(state2, high2, 16)
}
`
}
