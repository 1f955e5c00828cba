/** Scalars in the nine-limb kernels of `circuit.wasm`, against bigints. */
import { describe, expect, it } from 'vitest'
import { montgomeryRecords } from '../../src/cpu/circuit-machine/limbs.ts'
import { placeBytes } from '../../src/cpu/circuit-machine/tables.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { FR_MODULUS, frAdd, frFromBytes, frInv, frMul, frNeg, frPow, frToBytes } from '../../src/field/fr.ts'
import { frStream } from '../support/fr-vectors.ts'

const machine = new CircuitMachine()
const { exports, memory, arena } = machine

const next = frStream(7)
const EDGES = [
  0n,
  1n,
  2n,
  FR_MODULUS - 1n,
  FR_MODULUS - 2n,
  (FR_MODULUS - 1n) / 2n,
  (1n << 254n) - 1n,
  (1n << 29n) - 1n,
  1n << 29n,
  (1n << 232n) - 1n,
  1n << 232n,
]
const VALUES = [...EDGES, ...Array.from({ length: 60 }, next)]
const PAIRS = VALUES.flatMap((a, i) =>
  [...EDGES, VALUES[(7 * i + 3) % VALUES.length] as bigint].map((b) => [a, b] as const),
)

function put(values: readonly bigint[]): number {
  const address = arena.allocate(32 * values.length)
  placeBytes(memory, address, Uint8Array.from(values.flatMap((value) => [...frToBytes(value)])))
  return address
}

function putWords(words: Uint32Array): number {
  const address = arena.allocate(words.byteLength)
  placeBytes(memory, address, words)
  return address
}

const factors = (...values: bigint[]): number[] => {
  const address = putWords(montgomeryRecords(values))
  return values.map((_, i) => address + 40 * i)
}

function take(address: number, count: number): bigint[] {
  const bytes = Uint8Array.from(new Uint8Array(memory.buffer, address, 32 * count))
  return Array.from({ length: count }, (_, i) => frFromBytes(bytes, 32 * i))
}

describe('scalars in WebAssembly', () => {
  it('multiplies, adds and negates like bigints', () => {
    const a = put(PAIRS.map(([x]) => x))
    const b = put(PAIRS.map(([, y]) => y))
    const out = arena.allocate(32 * PAIRS.length)
    exports.multiplyMany(out, a, b, PAIRS.length)
    expect(take(out, PAIRS.length)).toEqual(PAIRS.map(([x, y]) => frMul(x, y)))
    for (let i = 0; i < PAIRS.length; i++) exports.addBytes(out + 32 * i, a + 32 * i, b + 32 * i)
    expect(take(out, PAIRS.length)).toEqual(PAIRS.map(([x, y]) => frAdd(x, y)))
    for (let i = 0; i < PAIRS.length; i++) exports.negateBytes(out + 32 * i, a + 32 * i)
    expect(take(out, PAIRS.length)).toEqual(PAIRS.map(([x]) => frNeg(x)))
  })

  it('converts to Montgomery form and back', () => {
    const plain = put(VALUES)
    const record = arena.allocate(40)
    const out = arena.allocate(32)
    for (const [i, value] of VALUES.entries()) {
      exports.toMontgomery(record, plain + 32 * i)
      exports.fromMontgomery(out, record)
      expect(take(out, 1)).toEqual([value])
    }
  })

  it('inverts many at once and leaves zeros', () => {
    const address = put(VALUES)
    exports.invertMany(address, VALUES.length, arena.allocate(40 * VALUES.length))
    expect(take(address, VALUES.length)).toEqual(VALUES.map((value) => (value === 0n ? 0n : frInv(value))))
  })

  it('knows what is canonical', () => {
    const bytes = (value: bigint): Uint8Array =>
      Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 255n))
    const address = arena.allocate(32 * 8)
    const cases = [0n, FR_MODULUS - 1n, FR_MODULUS, FR_MODULUS + 1n, (1n << 256n) - 1n, FR_MODULUS - (1n << 64n)]
    for (const value of cases) {
      placeBytes(memory, address, bytes(value))
      expect(exports.isCanonical(address)).toBe(value < FR_MODULUS ? 1 : 0)
    }
    placeBytes(memory, address, Uint8Array.from([...bytes(1n), ...bytes(FR_MODULUS - 1n), ...bytes(FR_MODULUS)]))
    expect(exports.firstNotCanonical(address, 3)).toBe(2)
    expect(exports.firstNotCanonical(address, 2)).toBe(2)
  })

  it('makes powers, Lagrange coefficients and combinations', () => {
    const [k, tau, a, b] = [next(), next(), next(), next()]
    const out = arena.allocate(32 * 64)
    const space = arena.allocate(40 * 64)
    const [kAt, tauAt, aAt, bAt] = factors(k, tau, a, b) as [number, number, number, number]
    exports.powers(out, 64, kAt, tauAt)
    expect(take(out, 64)).toEqual(Array.from({ length: 64 }, (_, i) => frMul(k, frPow(tau, BigInt(i)))))

    const m = 64n
    const root = frPow(7n, (FR_MODULUS - 1n) / m)
    const scaleFactor = frMul(frAdd(frPow(tau, m), FR_MODULUS - 1n), frInv(m))
    const lagrange = Array.from({ length: 64 }, (_, i) => {
      const w = frPow(root, BigInt(i))
      return frMul(frMul(scaleFactor, w), frInv(frAdd(tau, FR_MODULUS - w)))
    })
    // In two ranges, as two threads would.
    for (const first of [0, 32]) {
      const [start, rootAt, scaleAt] = factors(frPow(root, BigInt(first)), root, scaleFactor) as [
        number,
        number,
        number,
      ]
      exports.lagrangeCoefficients(out + 32 * first, 32, start, rootAt, put([tau]), scaleAt, space)
    }
    expect(take(out, 64)).toEqual(lagrange)
    expect(lagrange.reduce(frAdd)).toBe(1n)

    const [u, v, w] = [VALUES, [...VALUES].reverse(), VALUES.map((value) => frMul(value, 3n))]
    const combined = arena.allocate(32 * VALUES.length)
    exports.combine(combined, VALUES.length, put(u), put(v), put(w), aAt, bAt, kAt)
    expect(take(combined, VALUES.length)).toEqual(
      VALUES.map((_, i) => (a * (u[i] as bigint) + b * (v[i] as bigint) + k * (w[i] as bigint)) % FR_MODULUS),
    )
    exports.scale(combined, VALUES.length, put(u), aAt)
    expect(take(combined, VALUES.length)).toEqual(u.map((value) => frMul(value, a)))
    exports.accumulate(combined, put(v), VALUES.length)
    expect(take(combined, VALUES.length)).toEqual(u.map((value, i) => frAdd(frMul(value, a), v[i] as bigint)))
  })
})
