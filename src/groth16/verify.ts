/**
 * Verification (Groth, "On the Size of Pairing-based Non-interactive Arguments", 2016, §3.2).
 *
 * One proof (A, B, C) for public inputs x holds if
 *
 *     e(A, B) = e(α, β) · e(X, γ) · e(C, δ),    X = ic₀ + Σ xᵢ·icᵢ₊₁
 *
 * Several proofs under one key are checked at once with random 128-bit weights zⱼ:
 *
 *     Π e(zⱼ·Aⱼ, Bⱼ) · e(−Σzⱼ·α, β) · e(−Σ zⱼ·Xⱼ, γ) · e(−Σ zⱼ·Cⱼ, δ) = 1
 *
 * If one of them does not hold, the product is 1 with a probability of 2^−128
 * (`bellperson::groth16::verify_proofs_batch`). With a single proof the weight is 1, and the equation is the first one.
 *
 * Σ zⱼ·Xⱼ needs no proof, and takes most of the time where there are many inputs: it can be made ahead.
 */
import { randomBytes } from 'node:crypto'
import { decodeSumG1, PointEncodingError } from '../curve/encoding.ts'
import { bigintMultiexp, type G1Multiexp } from '../curve/multiexp.ts'
import { bigintPairings, type PairingCheck } from '../curve/pairing.ts'
import { G1, type G1Point, type G2Point } from '../curve/points.ts'
import { InvalidRequestError } from '../errors.ts'
import { fromBytesBE, fromBytesLE, writeBytesLE } from '../field/bytes.ts'
import { FR_BYTES, FR_MODULUS } from '../field/fr.ts'
import type { VerifyingKey } from '../params/verifying-key.ts'
import { decodeProof, PROOF_BYTES, type Proof } from './proof.ts'

const WEIGHT_BYTES = 16

/** With what a proof is verified. */
export interface VerifyOptions {
  /** How sums in G1 are made. @default bigint arithmetic: slow for a key of thousands of inputs */
  readonly multiexp?: G1Multiexp | undefined
  /** How pairings are computed. @default bigint arithmetic */
  readonly pairings?: PairingCheck | undefined
}

/** Of several proofs: one list a partition, ONE left out, 32 bytes little-endian each. */
export type PublicInputs = readonly (readonly Uint8Array[])[]

/**
 * The public inputs of several proofs, as their verification needs them (arkworks' `prepare_inputs`). Whoever makes the
 * proofs must not know the weights.
 */
export interface PreparedInputs {
  /** zⱼ, one a partition. */
  readonly weights: readonly bigint[]
  /** Σ zⱼ·Xⱼ, uncompressed big-endian. */
  readonly sum: Uint8Array
}

/**
 * What can be computed of a verification before the proofs are there.
 * @throws {InvalidRequestError} the public inputs are too few or too many for the key, or not canonical
 */
export function prepareInputs(
  key: VerifyingKey,
  publicInputs: PublicInputs,
  options: Pick<VerifyOptions, 'multiexp'> = {},
): PreparedInputs {
  checkAll(key, publicInputs)
  return prepare(key, publicInputs, options)
}

/**
 * Whether the proofs of all partitions hold.
 *
 * @param proof 192 bytes a partition, in the same order. Bytes that are no proof (wrong length, off the curve, outside
 *   the subgroup, infinity) give false
 * @throws {InvalidRequestError} the public inputs are too few or too many for the key, or not canonical
 */
export function verifyProofs(
  key: VerifyingKey,
  publicInputs: PublicInputs,
  proof: Uint8Array,
  options: VerifyOptions = {},
): boolean {
  checkAll(key, publicInputs)
  const proofs = decodeProofs(proof, publicInputs.length)
  if (proofs === undefined) return false
  const { weights, sum } = prepare(key, publicInputs, options)
  return hold(key, weights, decodeSumG1(sum), proofs, options)
}

/**
 * As {@link verifyProofs}, for inputs that {@link prepareInputs} prepared with the same key. False also where these
 * were damaged since: then nothing is known of the proofs.
 */
export function verifyPrepared(
  key: VerifyingKey,
  inputs: PreparedInputs,
  proof: Uint8Array,
  options: Pick<VerifyOptions, 'pairings'> = {},
): boolean {
  const proofs = decodeProofs(proof, inputs.weights.length)
  const sum = decoded(() => decodeSumG1(inputs.sum))
  return proofs !== undefined && sum !== undefined && hold(key, inputs.weights, sum, proofs, options)
}

function hold(
  key: VerifyingKey,
  weights: readonly bigint[],
  x: G1Point,
  proofs: readonly Proof[],
  { pairings = bigintPairings }: Pick<VerifyOptions, 'pairings'>,
): boolean {
  let c = G1.ZERO
  const terms: [G1Point, G2Point][] = proofs.map(({ a, b, c: cj }, j) => {
    const weight = weights[j] as bigint
    c = c.add(cj.multiplyUnsafe(weight))
    return [a.multiplyUnsafe(weight), b]
  })
  terms.push([key.alphaG1.multiplyUnsafe(sumOf(weights)).negate(), key.betaG2])
  terms.push([x.negate(), key.gammaG2])
  terms.push([c.negate(), key.deltaG2])
  // e(0, Q) = 1: such a factor is left out, since infinity has no affine coordinates.
  return pairings(terms.filter(([point]) => !point.is0()))
}

/** @returns nothing if the bytes are no proofs */
function decodeProofs(bytes: Uint8Array, count: number): Proof[] | undefined {
  if (bytes.length !== PROOF_BYTES * count) return undefined
  return decoded(() =>
    Array.from({ length: count }, (_, j) => decodeProof(bytes.subarray(j * PROOF_BYTES, (j + 1) * PROOF_BYTES))),
  )
}

/** @returns nothing if the bytes are no points */
function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof PointEncodingError) return undefined
    throw error
  }
}

function prepare(
  key: VerifyingKey,
  publicInputs: PublicInputs,
  { multiexp = bigintMultiexp }: Pick<VerifyOptions, 'multiexp'>,
): PreparedInputs {
  const weights = publicInputs.map(() => (publicInputs.length === 1 ? 1n : randomWeight()))
  return { weights, sum: multiexp(key.ic, weightedInputs(publicInputs, weights, key.inputs)) }
}

const sumOf = (weights: readonly bigint[]): bigint => weights.reduce((sum, weight) => sum + weight, 0n) % FR_MODULUS

/** A weight of 0 would skip its proof. */
function randomWeight(): bigint {
  for (;;) {
    const weight = fromBytesBE(randomBytes(WEIGHT_BYTES))
    if (weight !== 0n) return weight
  }
}

/** Scalars for the points of ic: Σ zⱼ for ONE, then Σ zⱼ·xⱼᵢ, 32 bytes little-endian each. */
function weightedInputs(publicInputs: PublicInputs, weights: readonly bigint[], count: number): Uint8Array {
  const scalars = new Uint8Array(count * FR_BYTES)
  writeBytesLE(sumOf(weights), scalars.subarray(0, FR_BYTES))
  for (let i = 1; i < count; i++) {
    const out = scalars.subarray(i * FR_BYTES, (i + 1) * FR_BYTES)
    if (publicInputs.length === 1) {
      out.set(publicInputs[0]?.[i - 1] as Uint8Array)
    } else {
      let sum = 0n
      for (const [j, inputs] of publicInputs.entries()) {
        sum += (weights[j] as bigint) * fromBytesLE(inputs[i - 1] as Uint8Array)
      }
      writeBytesLE(sum % FR_MODULUS, out)
    }
  }
  return scalars
}

function checkAll(key: VerifyingKey, publicInputs: PublicInputs): void {
  if (publicInputs.length === 0) {
    throw new InvalidRequestError('publicInputs: no partition', {
      details: { field: 'publicInputs', expected: 'at least 1 partition', received: '0 partitions' },
    })
  }
  for (const [k, inputs] of publicInputs.entries()) checkInputs(inputs, key.inputs - 1, `publicInputs[${k}]`)
}

function checkInputs(inputs: readonly Uint8Array[], expected: number, field: string): void {
  if (inputs.length !== expected) {
    throw new InvalidRequestError(`${field}: ${inputs.length} public inputs, the verifying key has ${expected}`, {
      details: { field, expected: `${expected} public inputs`, received: `${inputs.length} public inputs` },
    })
  }
  for (const [i, input] of inputs.entries()) {
    if (input.length !== FR_BYTES || fromBytesLE(input) >= FR_MODULUS) {
      throw new InvalidRequestError(`${field}[${i}]: not a canonical scalar`, {
        details: {
          field: `${field}[${i}]`,
          expected: '32 bytes little-endian, below the group order r',
          received: Buffer.from(input).toString('hex'),
        },
      })
    }
  }
}
