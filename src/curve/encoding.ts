/**
 * Points as bytes, as the Rust crates `blstrs` and `bls12_381` write them (the ZCash convention).
 *
 * Coordinates are big-endian, 48 bytes; an element of Fq2 is c1 then c0. The top three bits of the first byte are
 * flags: 0x80 compressed (x only), 0x40 infinity (all else zero), 0x20 "y is the larger of y and −y" (compressed only;
 * elements of Fq2 are compared by c1, then c0). An uncompressed proper point has none of them.
 */
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { fromBytesBE, writeBytesBE } from '../field/bytes.ts'
import { FQ_MODULUS, type Fq2, G1, type G1Point, G2, type G2Point } from './points.ts'

/** Sizes of encodings in bytes. */
export const G1_COMPRESSED_BYTES = 48
export const G1_UNCOMPRESSED_BYTES = 96
export const G2_COMPRESSED_BYTES = 96
export const G2_UNCOMPRESSED_BYTES = 192

const COMPRESSED = 0x80
const INFINITY = 0x40
const LARGER_Y = 0x20
const FLAGS = COMPRESSED | INFINITY | LARGER_Y
const HALF_MODULUS = (FQ_MODULUS - 1n) / 2n

/** What is wrong with an encoded point. */
export type PointFault =
  | 'length'
  | 'flags'
  | 'coordinate not below p'
  | 'off the curve'
  | 'outside the subgroup'
  | 'infinity'

/** Bytes that are no acceptable point. Callers turn it into `false` or into an error that names the file. */
export class PointEncodingError extends Error {
  readonly fault: PointFault

  constructor(fault: PointFault) {
    super(`invalid point: ${fault}`)
    this.name = 'PointEncodingError'
    this.fault = fault
  }
}

/** Which checks beyond "on the curve" a decoder makes. */
export interface DecodeOptions {
  /** Refuse points outside the subgroup of order r; about 0.7 ms a point. */
  readonly subgroup: boolean
}

const { Fp, Fp2 } = bls12_381.fields
const B1 = 4n
const B2 = Fp2.create({ c0: 4n, c1: 4n })

function coordinate(bytes: Uint8Array): bigint {
  const value = fromBytesBE(bytes)
  if (value >= FQ_MODULUS) throw new PointEncodingError('coordinate not below p')
  return value
}

/** Splits flags and body; refuses every combination that an encoder does not write, and infinity. */
function body(bytes: Uint8Array, length: number, compressed: boolean): { flags: number; body: Uint8Array } {
  if (bytes.length !== length) throw new PointEncodingError('length')
  const first = bytes[0] ?? 0
  const flags = first & FLAGS
  if (((flags & COMPRESSED) !== 0) !== compressed) throw new PointEncodingError('flags')
  if ((flags & INFINITY) !== 0) throw new PointEncodingError('infinity')
  if (!compressed && flags !== 0) throw new PointEncodingError('flags')
  // `slice` would not copy a Buffer, and these are the caller's bytes.
  const copy = new Uint8Array(bytes)
  copy[0] = first & ~FLAGS
  return { flags, body: copy }
}

function isLarger(y: bigint): boolean {
  return y > HALF_MODULUS
}

function isLargerFq2(y: Fq2): boolean {
  return y.c1 === 0n ? isLarger(y.c0) : isLarger(y.c1)
}

function inSubgroup<P extends { isTorsionFree(): boolean }>(point: P, options: DecodeOptions): P {
  if (options.subgroup && !point.isTorsionFree()) throw new PointEncodingError('outside the subgroup')
  return point
}

/** Whether the affine point (x, y) with coordinates below p lies on G1's curve. */
export function isOnG1Curve(x: bigint, y: bigint): boolean {
  return (y * y - x * x * x - B1) % FQ_MODULUS === 0n
}

/** @throws {PointEncodingError} */
export function decodeG1(bytes: Uint8Array, options: DecodeOptions): G1Point {
  const { body: rest } = body(bytes, G1_UNCOMPRESSED_BYTES, false)
  const x = coordinate(rest.subarray(0, 48))
  const y = coordinate(rest.subarray(48))
  if (!isOnG1Curve(x, y)) throw new PointEncodingError('off the curve')
  return inSubgroup(G1.fromAffine({ x, y }), options)
}

/** @throws {PointEncodingError} */
export function decodeG2(bytes: Uint8Array, options: DecodeOptions): G2Point {
  const { body: rest } = body(bytes, G2_UNCOMPRESSED_BYTES, false)
  const [xc1, xc0, yc1, yc0] = [0, 48, 96, 144].map((at) => coordinate(rest.subarray(at, at + 48))) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ]
  const x = Fp2.create({ c0: xc0, c1: xc1 })
  const y = Fp2.create({ c0: yc0, c1: yc1 })
  if (!Fp2.eql(Fp2.sqr(y), rightSideG2(x))) throw new PointEncodingError('off the curve')
  return inSubgroup(G2.fromAffine({ x, y }), options)
}

function rightSideG2(x: Fq2): Fq2 {
  return Fp2.add(Fp2.mul(Fp2.sqr(x), x), B2)
}

/** A square root, or the fault that there is none. */
function root<F>(sqrt: (value: F) => F, value: F): F {
  try {
    return sqrt(value)
  } catch {
    throw new PointEncodingError('off the curve')
  }
}

/** @throws {PointEncodingError} */
export function decodeG1Compressed(bytes: Uint8Array, options: DecodeOptions): G1Point {
  const { flags, body: rest } = body(bytes, G1_COMPRESSED_BYTES, true)
  const x = coordinate(rest)
  const y = root((v: bigint) => Fp.sqrt(v), Fp.create(x * x * x + B1))
  const larger = (flags & LARGER_Y) !== 0
  return inSubgroup(G1.fromAffine({ x, y: isLarger(y) === larger ? y : Fp.neg(y) }), options)
}

/** @throws {PointEncodingError} */
export function decodeG2Compressed(bytes: Uint8Array, options: DecodeOptions): G2Point {
  const { flags, body: rest } = body(bytes, G2_COMPRESSED_BYTES, true)
  const x = Fp2.create({ c1: coordinate(rest.subarray(0, 48)), c0: coordinate(rest.subarray(48)) })
  const y = root((v: Fq2) => Fp2.sqrt(v as ReturnType<typeof Fp2.create>), rightSideG2(x))
  const larger = (flags & LARGER_Y) !== 0
  const signed = isLargerFq2(y) === larger ? y : Fp2.neg(y as ReturnType<typeof Fp2.create>)
  return inSubgroup(G2.fromAffine({ x, y: signed }), options)
}

function withFlags(bytes: Uint8Array, flags: number): Uint8Array {
  bytes[0] = (bytes[0] ?? 0) | flags
  return bytes
}

/** @returns 96 bytes; infinity has the flag 0x40 */
export function encodeG1(point: G1Point): Uint8Array {
  const out = new Uint8Array(G1_UNCOMPRESSED_BYTES)
  if (point.is0()) return withFlags(out, INFINITY)
  const { x, y } = point.toAffine()
  writeBytesBE(x, out.subarray(0, 48))
  writeBytesBE(y, out.subarray(48))
  return out
}

/** @returns 192 bytes; infinity has the flag 0x40 */
export function encodeG2(point: G2Point): Uint8Array {
  const out = new Uint8Array(G2_UNCOMPRESSED_BYTES)
  if (point.is0()) return withFlags(out, INFINITY)
  const { x, y } = point.toAffine()
  for (const [k, value] of [x.c1, x.c0, y.c1, y.c0].entries()) writeBytesBE(value, out.subarray(48 * k, 48 * k + 48))
  return out
}

/** @returns 48 bytes */
export function encodeG1Compressed(point: G1Point): Uint8Array {
  const out = new Uint8Array(G1_COMPRESSED_BYTES)
  if (point.is0()) return withFlags(out, COMPRESSED | INFINITY)
  const { x, y } = point.toAffine()
  writeBytesBE(x, out)
  return withFlags(out, COMPRESSED | (isLarger(y) ? LARGER_Y : 0))
}

/** @returns 96 bytes */
export function encodeG2Compressed(point: G2Point): Uint8Array {
  const out = new Uint8Array(G2_COMPRESSED_BYTES)
  if (point.is0()) return withFlags(out, COMPRESSED | INFINITY)
  const { x, y } = point.toAffine()
  writeBytesBE(x.c1, out.subarray(0, 48))
  writeBytesBE(x.c0, out.subarray(48))
  return withFlags(out, COMPRESSED | (isLargerFq2(y) ? LARGER_Y : 0))
}

/**
 * Decodes a sum that a device computed: uncompressed, infinity allowed, trusted to be in the subgroup.
 * @throws {PointEncodingError}
 */
export function decodeSumG1(bytes: Uint8Array): G1Point {
  return isInfinity(bytes, G1_UNCOMPRESSED_BYTES) ? G1.ZERO : decodeG1(bytes, { subgroup: false })
}

/** As {@link decodeSumG1}, in G2. */
export function decodeSumG2(bytes: Uint8Array): G2Point {
  return isInfinity(bytes, G2_UNCOMPRESSED_BYTES) ? G2.ZERO : decodeG2(bytes, { subgroup: false })
}

function isInfinity(bytes: Uint8Array, length: number): boolean {
  return bytes.length === length && bytes[0] === INFINITY && bytes.subarray(1).every((byte) => byte === 0)
}
