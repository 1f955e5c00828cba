/**
 * The discrete logarithms of an SRS by bigints: the truth about what a set-up multiplies its generators with
 * (`bellperson::groth16::generate_parameters`).
 *
 * With m the size of the evaluation domain, ω a primitive m-th root of unity, Z = τ^m − 1 and the Lagrange polynomials
 * at τ
 *
 *     Lᵢ = Z/m · ωⁱ/(τ − ωⁱ),
 *
 * the columns of the constraints at τ are uⱼ = Σᵢ A[i,j]·Lᵢ, vⱼ = Σᵢ B[i,j]·Lᵢ, wⱼ = Σᵢ C[i,j]·Lᵢ, where after the
 * circuit's own rows come the rows {inputₖ} · 0 = 0, one for each public input. Then, times g1 (b_g2: times g2),
 *
 *     h[i] = τⁱ·Z/δ     ic[j] = (β·uⱼ + α·vⱼ + wⱼ)/γ     l[j] = (β·uⱼ + α·vⱼ + wⱼ)/δ     a[j] = uⱼ     b[j] = vⱼ
 */
import { testBit } from '../../src/circuit/bit-array.ts'
import { type CircuitShape, INPUT, KIND_MASK, NUMBER_MASK } from '../../src/circuit/shape.ts'
import { type Terms, walkRows } from '../../src/circuit/walk-rows.ts'
import type { WasmSetupScalars } from '../../src/cpu/setup-scalars.ts'
import {
  FR_BYTES,
  FR_MODULUS,
  frInv,
  frInvBatch,
  frMul,
  frPow,
  frReduce,
  frSub,
  frWriteBytes,
} from '../../src/field/fr.ts'
import type { ToxicScalars } from '../../src/params/toxic-waste.ts'

/** 7^((r−1)/2^32), a root of unity of order 2^32. */
const ROOT_OF_UNITY = frPow(7n, (FR_MODULUS - 1n) >> 32n)

/** Rows whose Lagrange coefficients are made at once: one inversion for all of them. */
const LAGRANGE_CHUNK = 4096

/** Lᵢ for i = first, first + 1, … */
function lagrangeChunk(first: number, count: number, omega: bigint, tau: bigint, zOverM: bigint): bigint[] {
  const powers: bigint[] = []
  let power = frPow(omega, BigInt(first))
  for (let i = 0; i < count; i++) {
    powers.push(power)
    power = frMul(power, omega)
  }
  const inverses = frInvBatch(powers.map((w) => frSub(tau, w)))
  return inverses.map((inverse, i) => frMul(frMul(inverse, powers[i] as bigint), zOverM))
}

/** uⱼ, vⱼ and wⱼ for all inputs, then all aux variables. */
interface Columns {
  readonly u: bigint[]
  readonly v: bigint[]
  readonly w: bigint[]
}

function columnsAtTau(shape: CircuitShape, tau: bigint): Columns {
  const { inputs, aux, constraints, log2Domain, coefficients } = shape
  const m = 1n << BigInt(log2Domain)
  const omega = frPow(ROOT_OF_UNITY, 1n << BigInt(32 - log2Domain))
  const zOverM = frMul(frReduce(frPow(tau, m) - 1n), frInv(m))
  const zeros = (): bigint[] => new Array<bigint>(inputs + aux).fill(0n)
  const [u, v, w] = [zeros(), zeros(), zeros()]
  let chunk: bigint[] = []
  const lagrange = (row: number): bigint => {
    const at = row % LAGRANGE_CHUNK
    if (at === 0) chunk = lagrangeChunk(row, LAGRANGE_CHUNK, omega, tau, zOverM)
    return chunk[at] as bigint
  }
  // Sums are reduced once at the end: products have 510 bits, so sums of millions of them stay short.
  const add = (sums: bigint[], terms: Terms, weight: bigint): void => {
    for (let k = 0; k < terms.count; k++) {
      const variable = terms.variables[k] as number
      const isInput = (variable & KIND_MASK) >>> 0 === INPUT
      const j = (variable & NUMBER_MASK) + (isInput ? 0 : inputs)
      const coefficient = coefficients[terms.coefficients[k] as number] as bigint
      sums[j] = (sums[j] as bigint) + (coefficient === 1n ? weight : coefficient * weight)
    }
  }
  walkRows(shape, ({ index, a, b, c }) => {
    const weight = lagrange(index)
    add(u, a, weight)
    add(v, b, weight)
    add(w, c, weight)
  })
  for (let k = 0; k < inputs; k++) u[k] = (u[k] as bigint) + lagrange(constraints + k)
  for (const sums of [u, v, w]) for (let j = 0; j < sums.length; j++) sums[j] = (sums[j] as bigint) % FR_MODULUS
  return { u, v, w }
}

/** Variables that have a point in a query: inputs first, then the aux variables of a density. */
function denseVariables(inputs: readonly number[], firstAux: number, aux: number, density: Uint8Array): Uint32Array {
  const words = new Uint32Array(density.buffer, density.byteOffset, density.byteLength / 4)
  const dense = [...inputs]
  for (let j = 0; j < aux; j++) if (testBit(words, j)) dense.push(firstAux + j)
  return Uint32Array.from(dense)
}

function encode(count: number, value: (i: number) => bigint): Uint8Array {
  const out = new Uint8Array(count * FR_BYTES)
  for (let i = 0; i < count; i++) frWriteBytes(value(i), out, i * FR_BYTES)
  return out
}

/**
 * All scalars, by bigint arithmetic on one thread: about 3 seconds for the 370,590 constraints of a 32 GiB WinningPoSt.
 * @throws {Error} an aux variable is in no constraint, or τ is a root of a column: draw again
 */
export function referenceSetupScalars(shape: CircuitShape, toxic: ToxicScalars): WasmSetupScalars {
  const { alpha, beta, gamma, delta, tau } = toxic
  const { inputs, aux, log2Domain, density } = shape
  const { u, v, w } = columnsAtTau(shape, tau)
  const perGamma = frInv(gamma)
  const perDelta = frInv(delta)
  const combined = (j: number, factor: bigint): bigint => {
    const value = (beta * (u[j] as bigint) + alpha * (v[j] as bigint) + (w[j] as bigint)) % FR_MODULUS
    if (value === 0n) throw new Error(`variable ${j} is in no constraint`)
    return frMul(value, factor)
  }
  const all = Array.from({ length: inputs }, (_, k) => k)
  const dense = {
    a: denseVariables(all, inputs, aux, density.aAux),
    b: denseVariables([0], inputs, aux, density.bAux),
  }
  const column = (values: readonly bigint[], which: Uint32Array, first: number, count: number): Uint8Array =>
    encode(count, (i) => {
      const value = values[which[first + i] as number] as bigint
      if (value === 0n) throw new Error(`the column of variable ${which[first + i]} vanishes at tau`)
      return value
    })
  const zOverDelta = frMul(frReduce(frPow(tau, 1n << BigInt(log2Domain)) - 1n), perDelta)
  return {
    ic: encode(inputs, (j) => combined(j, perGamma)),
    query(query, first, count) {
      switch (query) {
        case 'h': {
          let power = frMul(frPow(tau, BigInt(first)), zOverDelta)
          return encode(count, () => {
            const value = power
            power = frMul(power, tau)
            return value
          })
        }
        case 'l':
          return encode(count, (i) => combined(inputs + first + i, perDelta))
        case 'a':
          return column(u, dense.a, first, count)
        case 'b_g1':
        case 'b_g2':
          return column(v, dense.b, first, count)
      }
    },
  }
}
