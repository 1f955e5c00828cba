/** Small dense matrices over Fr, row-major; vectors are rows: (v·M)[j] = Σ v[i]·M[i][j]. */
import { FR_MODULUS, frInvBatch, frReduce } from '../../field/fr.ts'

export type Matrix = readonly (readonly bigint[])[]

/** Row vector times matrix. */
export function vectorTimesMatrix(vector: readonly bigint[], matrix: Matrix): bigint[] {
  const width = matrix[0]?.length ?? 0
  return Array.from({ length: width }, (_, j) => {
    let sum = 0n
    // One reduction a sum: a product has 510 bits, so this costs a fraction of reducing each.
    for (let i = 0; i < vector.length; i++) sum += (vector[i] as bigint) * (matrix[i]?.[j] as bigint)
    return sum % FR_MODULUS
  })
}

export function matrixProduct(a: Matrix, b: Matrix): bigint[][] {
  return a.map((row) => vectorTimesMatrix(row, b))
}

/**
 * X with X·A = B, all rows of B at once; the inverse of A if B is the identity.
 *
 * Gauss elimination on the transposed system without divisions: each elimination multiplies the row by the pivot, so
 * that a single batch inversion of the diagonal remains at the end.
 * @throws {RangeError} A is singular
 */
export function solveLeft(a: Matrix, b: Matrix): bigint[][] {
  const n = a.length
  // Row i is equation i: Σ_k X[·][k]·A[k][i] = B[·][i].
  const equations = Array.from({ length: n }, (_, i) => [
    ...a.map((row) => row[i] as bigint),
    ...b.map((row) => row[i] as bigint),
  ])
  const width = n + b.length
  for (let k = 0; k < n; k++) {
    const swap = equations.findIndex((row, i) => i >= k && row[k] !== 0n)
    if (swap < 0) throw new RangeError('singular matrix')
    const pivotRow = equations[swap] as bigint[]
    equations[swap] = equations[k] as bigint[]
    equations[k] = pivotRow
    const pivot = pivotRow[k] as bigint
    for (let i = k + 1; i < n; i++) {
      const row = equations[i] as bigint[]
      const factor = row[k] as bigint
      if (factor === 0n) continue
      for (let j = k; j < width; j++) row[j] = frReduce((row[j] as bigint) * pivot - (pivotRow[j] as bigint) * factor)
    }
  }
  const inverses = frInvBatch(equations.map((row, i) => row[i] as bigint))
  return b.map((_, column) => {
    const solution = new Array<bigint>(n)
    for (let i = n - 1; i >= 0; i--) {
      const row = equations[i] as bigint[]
      let rest = row[n + column] as bigint
      for (let j = i + 1; j < n; j++) rest -= (row[j] as bigint) * (solution[j] as bigint)
      solution[i] = frReduce(frReduce(rest) * (inverses[i] as bigint))
    }
    return solution
  })
}

export function identityMatrix(n: number): bigint[][] {
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 1n : 0n)))
}
