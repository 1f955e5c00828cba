/**
 * The verifying key: the head of a `.params` file, and the whole of a `.vk` file (`bellperson::groth16::VerifyingKey`).
 *
 * alpha_g1 96 · beta_g1 96 · beta_g2 192 · gamma_g2 192 · delta_g1 96 · delta_g2 192 · u32 big-endian count of ic · ic
 * 96 each
 */
import { randomBytes } from 'node:crypto'
import { decodeG1, decodeG2, PointEncodingError } from '../curve/encoding.ts'
import type { G1Point, G2Point } from '../curve/points.ts'
import { allInG1Subgroup } from '../curve/subgroup.ts'
import { SrsUnavailableError } from '../errors.ts'
import { G1_BYTES, G2_BYTES } from './layout.ts'

/** Bytes before the first point of ic. */
export const VK_HEADER_BYTES: number = 3 * G1_BYTES + 3 * G2_BYTES + 4

/** What proofs of a circuit are verified against. Its points were checked when it was parsed. */
export interface VerifyingKey {
  readonly alphaG1: G1Point
  readonly betaG1: G1Point
  readonly betaG2: G2Point
  readonly gammaG2: G2Point
  readonly deltaG1: G1Point
  readonly deltaG2: G2Point
  /** One point per public input, ONE first, uncompressed big-endian. */
  readonly ic: Uint8Array
  /** Points in `ic`. */
  readonly inputs: number
}

export interface ParseVerifyingKeyOptions {
  /** For errors. */
  readonly file: string
  /** Public inputs of the circuit, ONE included, where it is known. */
  readonly inputs?: number | undefined
  /**
   * The digest of these bytes is that of the published key, or of a key that this package made: then what was settled
   * when the key was made, that its points are in the subgroup, needs no second proof. Points are checked on the curve
   * in either case.
   * @default false
   */
  readonly trusted?: boolean | undefined
}

/**
 * Reads a key and checks it: lengths, every point on the curve, none of them infinity, all in the subgroup of order r.
 * @throws {SrsUnavailableError}
 */
export function parseVerifyingKey(bytes: Uint8Array, options: ParseVerifyingKeyOptions): VerifyingKey {
  const { file } = options
  const fail = (message: string, expected: string, received: string): SrsUnavailableError =>
    new SrsUnavailableError(`verifying key ${file}: ${message}`, { details: { file, expected, received } })
  if (bytes.length < VK_HEADER_BYTES) {
    throw fail('truncated', `at least ${VK_HEADER_BYTES} bytes`, `${bytes.length} bytes`)
  }
  const inputs = new DataView(bytes.buffer, bytes.byteOffset).getUint32(VK_HEADER_BYTES - 4, false)
  if (options.inputs !== undefined && inputs !== options.inputs) {
    throw fail('belongs to another circuit', `${options.inputs} public inputs`, `${inputs} public inputs`)
  }
  const length = VK_HEADER_BYTES + inputs * G1_BYTES
  if (inputs === 0) throw fail('no public inputs', 'at least 1 public input', '0 public inputs')
  if (bytes.length !== length) throw fail('wrong length', `${length} bytes`, `${bytes.length} bytes`)

  let at = 0
  const point = <P>(name: string, size: number, decode: (bytes: Uint8Array) => P): P => {
    try {
      const decoded = decode(bytes.subarray(at, at + size))
      at += size
      return decoded
    } catch (error) {
      if (!(error instanceof PointEncodingError)) throw error
      throw fail(`${name} is no valid point`, 'a point of the subgroup other than infinity', `${name}: ${error.fault}`)
    }
  }
  const subgroup = options.trusted !== true
  const g1 = (name: string): G1Point => point(name, G1_BYTES, (encoded) => decodeG1(encoded, { subgroup }))
  const g2 = (name: string): G2Point => point(name, G2_BYTES, (encoded) => decodeG2(encoded, { subgroup }))
  const head = {
    alphaG1: g1('alpha_g1'),
    betaG1: g1('beta_g1'),
    betaG2: g2('beta_g2'),
    gammaG2: g2('gamma_g2'),
    deltaG1: g1('delta_g1'),
    deltaG2: g2('delta_g2'),
  }
  at = VK_HEADER_BYTES
  const ic = new Uint8Array(bytes.subarray(at))
  const points: G1Point[] = []
  for (let i = 0; i < inputs; i++) {
    const decoded = point(`ic[${i}]`, G1_BYTES, (encoded) => decodeG1(encoded, { subgroup: false }))
    // All of them at once are several times as large as what they were decoded from.
    if (subgroup) points.push(decoded)
  }
  if (!allInG1Subgroup(points, randomBytes)) {
    throw fail('a point of ic is no valid point', 'points of the subgroup', 'ic: outside the subgroup')
  }
  return { ...head, ic, inputs }
}

/**
 * The bytes of a key from the points that a set-up makes.
 * @param g1 alpha, beta, delta, then ic, uncompressed big-endian
 * @param g2 beta, gamma, delta
 */
export function joinVerifyingKey(g1: Uint8Array, g2: Uint8Array): Uint8Array {
  const inputs = g1.length / G1_BYTES - 3
  const bytes = new Uint8Array(VK_HEADER_BYTES + inputs * G1_BYTES)
  let at = 0
  const put = (part: Uint8Array): void => {
    bytes.set(part, at)
    at += part.length
  }
  put(g1.subarray(0, 2 * G1_BYTES))
  put(g2.subarray(0, 2 * G2_BYTES))
  put(g1.subarray(2 * G1_BYTES, 3 * G1_BYTES))
  put(g2.subarray(2 * G2_BYTES))
  new DataView(bytes.buffer).setUint32(at, inputs, false)
  at += 4
  put(g1.subarray(3 * G1_BYTES))
  return bytes
}
