import { poseidonConstants } from '../../circuit/poseidon/constants.ts'
import { FR_MODULUS } from '../../field/fr.ts'
import { montgomeryRecords } from './limbs.ts'

/** Arities whose state fits `circuit.wasm`'s scratch: all that Filecoin's four circuits use. */
export const MAXIMUM_ARITY = 11

/**
 * The constants of one Poseidon instance in the order in which a permutation reads them: element 0 after the first
 * S-box, which is constant; keys before the first S-boxes (elements 1 …), then those after each S-box; columns of the
 * dense matrix and of the one before the sparse ones; then of each sparse matrix its first column ŵ and its first row v
 * without the corner.
 * @param domainTag element 0 of the state
 */
export function poseidonTableScalars(arity: number, domainTag: bigint): bigint[] {
  const { compressed, mds, preSparse, sparse, width } = poseidonConstants(arity)
  const tagKey = (domainTag + (compressed[0] as bigint)) % FR_MODULUS
  const start = (tagKey ** 5n + (compressed[width] as bigint)) % FR_MODULUS
  const columns = (matrix: readonly (readonly bigint[])[]): bigint[] =>
    matrix.flatMap((_, j) => matrix.map((row) => row[j] as bigint))
  return [
    start,
    ...compressed.slice(1, width),
    ...compressed.slice(width + 1),
    ...columns(mds),
    ...columns(preSparse),
    ...sparse.flatMap(({ wHat, vRest }) => [...wHat, ...vRest]),
  ]
}

/**
 * {@link poseidonTableScalars} as `circuit.wasm` reads them (its `poseidon.ts` describes the layout).
 * @throws {RangeError} an arity that is not 2, 4, 8 or 11
 */
export function poseidonTable(arity: number, domainTag: bigint): Uint32Array {
  if (arity > MAXIMUM_ARITY) throw new RangeError(`no Poseidon kernel of arity ${arity}`)
  const records = montgomeryRecords(poseidonTableScalars(arity, domainTag))
  const table = new Uint32Array(4 + records.length)
  table.set([arity, poseidonConstants(arity).partialRounds])
  table.set(records, 4)
  return table
}

/** Aux variables of the legacy circuit: three an S-box, one a combination that an S-box or the output needs. */
export function poseidonAuxCount(arity: number): number {
  const { width, partialRounds } = poseidonConstants(arity)
  return 3 * (8 * width + partialRounds - 1) + 7 * width + partialRounds + 1
}
