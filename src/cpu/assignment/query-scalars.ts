/**
 * The scalars that belong to a range of a query (the order of bellperson's `ParameterSource`): `l` all aux; `a` all
 * inputs, then the aux that are dense in A; `b_g1` and `b_g2` ONE, then the aux that are dense in B; `h` the quotient's
 * coefficients.
 */
import type { Run } from '../../groth16/proving-device.ts'
import type { Query } from '../../params/layout.ts'
import type { ThreadPool } from '../thread-context.ts'
import type { CpuAssignment } from './cpu-assignment.ts'
import { type DenseBits, locateRank } from './cpu-shape.ts'
import { type GatherArgs, SCALAR_BYTES } from './tasks.ts'

/** Scalars that one task copies: a few milliseconds. */
const GATHER_UNIT = 65_536

/** Scalars next to each other in the pool's memory. */
export interface ScalarRange {
  readonly address: number
  /** Frees what was copied; the assignment's own memory stays. */
  release(): void
}

/** @throws {RangeError} the query has no such range */
export async function queryScalars(
  pool: ThreadPool,
  assignment: CpuAssignment,
  query: Query,
  first: number,
  count: number,
  run: Run,
): Promise<ScalarRange> {
  const { shape, aDense, bDense } = assignment.shape
  switch (query) {
    case 'h':
      return within(assignment.quotientAt, 2 ** shape.log2Domain - 1, first, count)
    case 'l':
      return within(assignment.auxAt, shape.aux, first, count)
    case 'a':
      return await gathered(pool, assignment, shape.inputs, aDense, first, count, run)
    case 'b_g1':
    case 'b_g2':
      return await gathered(pool, assignment, 1, bDense, first, count, run)
  }
}

function within(address: number, total: number, first: number, count: number): ScalarRange {
  requireRange(total, first, count)
  return { address: address + SCALAR_BYTES * first, release: () => {} }
}

function requireRange(total: number, first: number, count: number): void {
  if (first < 0 || count < 0 || first + count > total) {
    throw new RangeError(`The query has ${total} points, not ${first} to ${first + count}`)
  }
}

/** Copies `count` scalars from number `first` of the list: the first `inputs` inputs, then the dense aux variables. */
async function gathered(
  pool: ThreadPool,
  assignment: CpuAssignment,
  inputs: number,
  dense: DenseBits,
  first: number,
  count: number,
  run: Run,
): Promise<ScalarRange> {
  requireRange(inputs + dense.count, first, count)
  const address = pool.arena.allocate(SCALAR_BYTES * count)
  try {
    const fromInputs = Math.max(0, Math.min(inputs - first, count))
    const source = assignment.inputsAt + SCALAR_BYTES * first
    new Uint8Array(pool.memory.buffer).copyWithin(address, source, source + SCALAR_BYTES * fromInputs)

    const units: GatherArgs[] = []
    for (let done = fromInputs; done < count; done += GATHER_UNIT) {
      units.push({
        bits: dense.address,
        ...locateRank(dense, first + done - inputs),
        count: Math.min(GATHER_UNIT, count - done),
        from: assignment.auxAt,
        to: address + SCALAR_BYTES * done,
      })
    }
    await pool.run<GatherArgs, void>('assignment-gather', units, run)
    return { address, release: () => pool.arena.free(address) }
  } catch (error) {
    pool.arena.free(address)
    throw error
  }
}
