/** 64-bit numbers of bits (`uint64.rs` in storage-proofs-core). */
import type { Bit } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { allocateBits } from './boolean.ts'
import { packIntoInputs } from './packing.ts'

/** 64 bits, least significant first. */
export type UInt64 = readonly Bit[]

/** A new number that is a public input too: 64 bits, then one packing row. */
export function allocatePublicUInt64(cs: ConstraintSystem): UInt64 {
  const bits = allocateBits(cs, 64)
  packIntoInputs(cs, bits)
  return bits
}
