/** SHA-256 as a hash of field elements, and as the hash of a binary tree (`Sha256Function` in filecoin-hashers). */
import { type Bit, FALSE } from '../bit.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import type { Variable } from '../shape.ts'
import type { TreeHasher } from './merkle-path.ts'
import { toBits } from './num.ts'
import { PACKED_BITS, packBits } from './packing.ts'
import { sha256 } from './sha256.ts'

/**
 * Reverses the order within each byte, after padding with zeros to whole bytes: between a number's bits and a
 * message's.
 */
export function reverseBytewise(bits: readonly Bit[]): Bit[] {
  const padded = [...bits]
  while (padded.length % 8 !== 0) padded.push(FALSE)
  return padded.map((_, i) => padded[(i & ~7) + 7 - (i & 7)] as Bit)
}

/**
 * The 32 bytes of a field element as bits of a message. The highest bit of the last byte, bit 255 of the number, is
 * constantly 0. As a template: 255 bits of class `bit`, least significant first.
 */
export function messageBits(cs: ConstraintSystem, element: Variable): Bit[] {
  const { bits } = cs.template('to-bits', { nums: [element] }, (body, { nums }) => ({
    bits: toBits(body, nums[0] as Variable),
  }))
  return reverseBytewise(bits)
}

/**
 * SHA-256 of bits, cleared of its two highest bits so that it is a field element. The packing row derives the variable.
 */
export function sha256Element(cs: ConstraintSystem, message: readonly Bit[]): Variable {
  return packBits(cs, reverseBytewise(sha256(cs, message)).slice(0, PACKED_BITS))
}

/**
 * Hash of field elements, as a template: the bits of each, then a compression for every two elements and one for the
 * padding.
 */
export function sha256Elements(cs: ConstraintSystem, elements: readonly Variable[]): Variable {
  const { nums } = cs.template(`sha256-${elements.length}`, { nums: elements }, (body, { nums }) => {
    const message = nums.flatMap((element) => messageBits(body, element))
    return { nums: [sha256Element(body, message)] }
  })
  return nums[0] as Variable
}

/** For binary trees over a sector's data (TreeD). */
export const SHA256_TREE: TreeHasher = { name: 'sha256', hash: sha256Elements }
