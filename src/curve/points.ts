/**
 * The groups G1 and G2 of BLS12-381: noble's audited projective points, under names that this package uses.
 *
 * G1: y² = x³ + 4 over Fq. G2: y² = x³ + 4(1 + u) over Fq2 = Fq[u]/(u² + 1). Both have a subgroup of prime order r; a
 * point on the curve need not lie in it (cofactors of 125 and 507 bits).
 */
import { bls12_381 } from '@noble/curves/bls12-381.js'

/** An element of Fq2: c0 + c1·u. */
export interface Fq2 {
  readonly c0: bigint
  readonly c1: bigint
}

/** The methods of noble's points that this package uses. */
interface GroupPoint<F, P> {
  add(other: P): P
  double(): P
  negate(): P
  equals(other: P): boolean
  /** Constant-time as far as JavaScript goes. Scalars from 1 up to r − 1. */
  multiply(scalar: bigint): P
  /** Any scalar from 0 up to r − 1. */
  multiplyUnsafe(scalar: bigint): P
  is0(): boolean
  /** Whether r·P = 0, by the endomorphism (Scott, "A note on group membership tests for G1, G2 and GT", 2021). */
  isTorsionFree(): boolean
  toAffine(): { x: F; y: F }
}

/** A point over Fq. */
export interface G1Point extends GroupPoint<bigint, G1Point> {}
/** A point over Fq2, on the twist. */
export interface G2Point extends GroupPoint<Fq2, G2Point> {}

interface PointGroup<F, P> {
  readonly ZERO: P
  /** The generator of the standard. */
  readonly BASE: P
  /** Does not check that the point is on the curve. */
  fromAffine(point: { x: F; y: F }): P
}

/** The group G1 of BLS12-381, of order r. */
export const G1: PointGroup<bigint, G1Point> = bls12_381.G1.Point as unknown as PointGroup<bigint, G1Point>
/** The group G2 of BLS12-381, of order r. */
export const G2: PointGroup<Fq2, G2Point> = bls12_381.G2.Point as unknown as PointGroup<Fq2, G2Point>

/** Modulus p of Fq. */
export const FQ_MODULUS: bigint = bls12_381.fields.Fp.ORDER
