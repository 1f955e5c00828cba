/** Vectors of Fr elements in a pool's memory, and slow transforms to compare with. */
import type { ThreadPool } from '../../src/cpu/thread-context.ts'
import { FR_BYTES, FR_MODULUS, frAdd, frMul, frPow, frWriteBytes, integerFromBytes } from '../../src/field/fr.ts'

/** A seeded stream of field elements; the same seed gives the same elements on every machine. */
export function frStream(seed: number): () => bigint {
  let state = BigInt(seed) + 1n
  return () => {
    // Squaring and adding odd constants modulo r mixes well enough for test values.
    state = frMul(state + 0x9e3779b97f4a7c15f39cc0605cedc834n, state + 0x2545f4914f6cdd1dn)
    return state
  }
}

/** Writes elements and returns their address; the arena's blocks are filled with 0xff first. */
export function putVector(pool: ThreadPool, values: readonly bigint[]): number {
  const address = pool.arena.allocate(values.length * FR_BYTES)
  const bytes = new Uint8Array(pool.memory.buffer, address, values.length * FR_BYTES)
  bytes.fill(0xff)
  for (const [i, value] of values.entries()) frWriteBytes(value, bytes, i * FR_BYTES)
  return address
}

export function getVector(pool: ThreadPool, address: number, length: number): bigint[] {
  const bytes = new Uint8Array(pool.memory.buffer, address, length * FR_BYTES)
  return Array.from({ length }, (_, i) => integerFromBytes(bytes, i * FR_BYTES))
}

/** Σ_n x_n root^(nk) for every k, by definition. */
export function naiveTransform(values: readonly bigint[], root: bigint): bigint[] {
  return values.map((_, k) => {
    const step = frPow(root, BigInt(k))
    let sum = 0n
    for (const value of [...values].reverse()) sum = frAdd(frMul(sum, step), value)
    return sum
  })
}

/** The same by halving, for longer vectors. */
export function slowTransform(values: readonly bigint[], root: bigint): bigint[] {
  if (values.length === 1) return [...values]
  const square = frMul(root, root)
  const [even, odd] = [0, 1].map((parity) =>
    slowTransform(
      values.filter((_, i) => i % 2 === parity),
      square,
    ),
  ) as [bigint[], bigint[]]
  let power = 1n
  const [low, high]: [bigint[], bigint[]] = [[], []]
  for (const [i, e] of even.entries()) {
    const t = frMul(odd[i] as bigint, power)
    low.push(frAdd(e, t))
    high.push(frAdd(e, FR_MODULUS - t))
    power = frMul(power, root)
  }
  return [...low, ...high]
}
