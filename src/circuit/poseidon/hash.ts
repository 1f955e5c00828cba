/** Poseidon on values, by its plain definition: the reference for circuits and kernels. */
import { FR_MODULUS } from '../../field/fr.ts'
import { FULL_ROUNDS, HALF_FULL_ROUNDS, merkleTreeTag, poseidonConstants } from './constants.ts'
import { vectorTimesMatrix } from './matrix.ts'

/**
 * Hash of 2, 4, 8 or 11 field elements.
 * @param domainTag element 0 of the state; that of a Merkle tree by default
 * @throws {RangeError} a number of elements that Filecoin doesn't hash
 */
export function poseidonHash(preimage: readonly bigint[], domainTag: bigint = merkleTreeTag(preimage.length)): bigint {
  const { width, partialRounds, roundConstants, mds } = poseidonConstants(preimage.length)
  const rounds = FULL_ROUNDS + partialRounds
  let state = [domainTag, ...preimage]
  for (let round = 0; round < rounds; round++) {
    const full = round < HALF_FULL_ROUNDS || round >= HALF_FULL_ROUNDS + partialRounds
    state = state.map((element, i) => {
      const sum = (element + (roundConstants[round * width + i] as bigint)) % FR_MODULUS
      if (!full && i > 0) return sum
      const square = (sum * sum) % FR_MODULUS
      return (((square * square) % FR_MODULUS) * sum) % FR_MODULUS
    })
    state = vectorTimesMatrix(state, mds)
  }
  return state[1] as bigint
}
