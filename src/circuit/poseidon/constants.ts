/**
 * Constants of Filecoin's Poseidon instances (crate neptune: `round_constants.rs`, `mds.rs`, `preprocessing.rs`).
 *
 * A permutation of t = arity + 1 elements has 8 full rounds, half of them at each end, around RP partial ones; S-box
 * x^5. Neptune moves each round's constants backwards through the linear layer and through the S-box of the round
 * before ("compressed" constants, added after an S-box), and factors the linear layers of the partial rounds into
 * sparse matrices.
 */
import { frAdd, frInvBatch } from '../../field/fr.ts'
import { grainConstants } from './grain.ts'
import { identityMatrix, type Matrix, matrixProduct, solveLeft, vectorTimesMatrix } from './matrix.ts'

/** Linear layer of a partial round: new[0] = Σ wHat[i]·el[i]; new[j] = el[j] + vRest[j − 1]·el[0]. */
export interface SparseMatrix {
  readonly wHat: readonly bigint[]
  readonly vRest: readonly bigint[]
}

export interface PoseidonConstants {
  readonly arity: number
  /** t = arity + 1. */
  readonly width: number
  readonly partialRounds: number
  /** Round-major, t a round: the constants of the plain definition, added before each S-box. */
  readonly roundConstants: readonly bigint[]
  /** 8t + RP of them, in the order in which the optimised permutation reads them. */
  readonly compressed: readonly bigint[]
  readonly mds: Matrix
  /** Linear layer of the last full round of the first half. */
  readonly preSparse: Matrix
  readonly sparse: readonly SparseMatrix[]
}

export const FULL_ROUNDS = 8
export const HALF_FULL_ROUNDS = 4

/** RP by arity: the paper's search for 128 bits of security with neptune's margin of 7.5 %. */
const PARTIAL_ROUNDS: Readonly<Record<number, number>> = { 2: 55, 4: 56, 8: 57, 11: 57, 16: 59, 24: 59, 36: 60 }

/**
 * Element 0 of the state for a node of a Merkle tree, a pair and a column alike: one bit set for each child present.
 */
export function merkleTreeTag(arity: number): bigint {
  return (1n << BigInt(arity)) - 1n
}

/** Element 0 of the state for neptune's `HashType::Custom(CType::Arbitrary(n))`; SnapDeals uses n = 1. */
export function customTag(n: number): bigint {
  return BigInt(n) << 40n
}

const cache = new Map<number, PoseidonConstants>()

/**
 * Constants of one arity, generated on first use (tens of milliseconds) and kept.
 * @throws {RangeError} an arity that Filecoin doesn't use
 */
export function poseidonConstants(arity: number): PoseidonConstants {
  let constants = cache.get(arity)
  if (constants === undefined) {
    constants = generate(arity)
    cache.set(arity, constants)
  }
  return constants
}

function generate(arity: number): PoseidonConstants {
  const partialRounds = PARTIAL_ROUNDS[arity]
  if (partialRounds === undefined) throw new RangeError(`no Poseidon instance of arity ${arity}`)
  const width = arity + 1
  const roundConstants = grainConstants(width, FULL_ROUNDS, partialRounds, (FULL_ROUNDS + partialRounds) * width)
  const mds = cauchyMatrix(width)
  return {
    arity,
    width,
    partialRounds,
    roundConstants,
    compressed: compress(width, partialRounds, roundConstants, mds),
    mds,
    ...factorSparse(mds, partialRounds),
  }
}

/** M[i][j] = 1 / (i + j + t): symmetric, every square submatrix invertible. */
function cauchyMatrix(width: number): bigint[][] {
  const inverses = frInvBatch(Array.from({ length: 2 * width - 1 }, (_, k) => BigInt(k + width)))
  return Array.from({ length: width }, (_, i) => inverses.slice(i, i + width))
}

/**
 * Adding k before an S-box is adding k·M⁻¹ after the S-box of the round before. In partial rounds only element 0 passes
 * an S-box, so all but its share moves on to the round before that; the walk goes backwards from the first full round
 * of the second half.
 */
function compress(width: number, partialRounds: number, raw: readonly bigint[], mds: Matrix): bigint[] {
  const inverse = solveLeft(mds, identityMatrix(width))
  const round = (n: number): readonly bigint[] => raw.slice(n * width, (n + 1) * width)
  const final = HALF_FULL_ROUNDS + partialRounds
  const compressed = [...round(0)]
  for (let n = 1; n < HALF_FULL_ROUNDS; n++) compressed.push(...vectorTimesMatrix(round(n), inverse))
  const partial: bigint[] = []
  let carried = round(final)
  for (let p = 0; p < partialRounds; p++) {
    const moved = vectorTimesMatrix(carried, inverse)
    partial.push(moved[0] as bigint)
    moved[0] = 0n
    carried = round(final - 1 - p).map((constant, i) => frAdd(constant, moved[i] as bigint))
  }
  compressed.push(...vectorTimesMatrix(carried, inverse), ...partial.reverse())
  for (let n = 1; n < HALF_FULL_ROUNDS; n++) compressed.push(...vectorTimesMatrix(round(final + n), inverse))
  return compressed
}

/**
 * Writes M as (block-diagonal m')·(sparse) and pulls m' through the partial S-box into the round before, RP times:
 * what is left at the front is `preSparse`.
 */
function factorSparse(mds: Matrix, partialRounds: number): Pick<PoseidonConstants, 'preSparse' | 'sparse'> {
  const sparse: SparseMatrix[] = []
  let current: Matrix = mds
  for (let p = 0; p < partialRounds; p++) {
    const [firstRow, ...rest] = current as readonly [readonly bigint[], ...(readonly bigint[])[]]
    const inner = rest.map((row) => row.slice(1))
    const firstColumn = rest.map((row) => row[0] as bigint)
    const [wHatRest] = solveLeft(inner, [firstColumn]) as [bigint[]]
    sparse.push({ wHat: [firstRow[0] as bigint, ...wHatRest], vRest: firstRow.slice(1) })
    // M·m' with m' = diag(1, inner): the first column of M stays.
    current = matrixProduct(
      mds.map((row) => row.slice(1)),
      inner,
    ).map((row, i) => [mds[i]?.[0] as bigint, ...row])
  }
  return { preSparse: current, sparse: sparse.reverse() }
}
