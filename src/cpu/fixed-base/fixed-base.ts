/** Multiples of one base for a set-up: a table of the base, then units of scalars on all threads. */
import type { Run } from '../../groth16/proving-device.ts'
import { MIN_WINDOW_BITS, SCALAR_BYTES, windowCount } from '../msm/digits.ts'
import type { Group } from '../msm/group-kernels.ts'
import { ENCODED_BYTES } from '../msm/group-kernels.ts'
import { encodedInfinity } from '../msm/multiexp.ts'
import { isEncodedInfinity } from '../msm/projective.ts'
import type { ThreadPool, ThreadTask } from '../thread-context.ts'
import type { MultiplesArgs } from './multiples.ts'
import { multiplyFixedBase, UNIT_SCALARS } from './multiples.ts'
import type { DoublingsArgs, FillArgs, FixedBaseTable } from './table.ts'
import { fillDoublings, fillWindows, tableBytes, windowEntries } from './table.ts'

/** Tasks of this folder, by the name under which the registry of the compute threads has them. */
export const FIXED_BASE_TASKS: {
  readonly 'fixed-base.doublings': ThreadTask<DoublingsArgs, void>
  readonly 'fixed-base.fill': ThreadTask<FillArgs, void>
  readonly 'fixed-base.multiples': ThreadTask<MultiplesArgs, void>
} = {
  'fixed-base.doublings': fillDoublings,
  'fixed-base.fill': fillWindows,
  'fixed-base.multiples': multiplyFixedBase,
}

/**
 * A table of 2^14 entries a window (36 MiB in G1) is as large as pays: beyond, cache misses cost more than a window
 * less saves.
 */
const MAX_TABLE_WINDOW_BITS = 15

/** Scalars whose encodings wait in the pool's memory at a time: 6 or 12 MiB. */
const BLOCK_SCALARS = 2 ** 16

/** The width with the fewest additions, those that make the table included. */
function tableWindowBits(count: number): number {
  let best = MIN_WINDOW_BITS
  let least = Infinity
  for (let bits = MIN_WINDOW_BITS; bits <= MAX_TABLE_WINDOW_BITS; bits++) {
    const windows = windowCount(bits)
    const additions = (windows - 1) * count + windows * windowEntries(bits)
    if (additions < least) [best, least] = [bits, additions]
  }
  return best
}

/**
 * Computes scalar[i] · base for all scalars.
 *
 * @param base uncompressed big-endian, of the subgroup of order r (or infinity)
 * @param scalars canonical, 32 bytes little-endian each
 * @param out receives one uncompressed big-endian point a scalar (infinity for 0)
 * @throws `run.signal.reason` once the signal aborts; RangeError for lengths that don't fit or too little memory; Error
 * for a base off the curve
 */
export async function fixedBaseMultiples(
  pool: ThreadPool,
  group: Group,
  base: Uint8Array,
  scalars: Uint8Array,
  out: Uint8Array,
  run: Run,
): Promise<void> {
  const count = scalars.length / SCALAR_BYTES
  const encodedBytes = ENCODED_BYTES[group]
  if (!Number.isInteger(count) || base.length !== encodedBytes || out.length !== count * encodedBytes) {
    throw new RangeError(
      `Multiples in ${group} of a base of ${base.length} bytes: ${scalars.length} bytes of scalars don't fit ${out.length} bytes of points`,
    )
  }
  run.signal.throwIfAborted()
  if (isEncodedInfinity(base)) {
    for (let i = 0; i < count; i++) out.set(encodedInfinity(group), i * encodedBytes)
    return
  }
  if (count === 0) return
  const { arena } = pool
  const windowBits = tableWindowBits(count)
  const blockScalars = Math.min(count, BLOCK_SCALARS)
  const addresses: number[] = []
  const allocate = (bytes: number): number => {
    const address = arena.allocate(bytes)
    addresses.push(address)
    return address
  }
  try {
    const table: FixedBaseTable = { group, windowBits, address: allocate(tableBytes(group, windowBits)) }
    const scalarBlock = allocate(blockScalars * SCALAR_BYTES)
    const outBlock = allocate(blockScalars * encodedBytes)
    await fillTable(pool, table, base, run)
    for (let first = 0; first < count; first += blockScalars) {
      const size = Math.min(blockScalars, count - first)
      const block = scalars.subarray(first * SCALAR_BYTES, (first + size) * SCALAR_BYTES)
      new Uint8Array(pool.memory.buffer, scalarBlock, block.length).set(block)
      const units: MultiplesArgs[] = []
      for (let at = 0; at < size; at += UNIT_SCALARS) {
        units.push({
          table,
          scalars: scalarBlock + at * SCALAR_BYTES,
          out: outBlock + at * encodedBytes,
          count: Math.min(UNIT_SCALARS, size - at),
        })
      }
      const unit = (share: number): void => run.unit((first + share * size) / count)
      await pool.run<MultiplesArgs, void>('fixed-base.multiples', units, { signal: run.signal, unit })
      out.set(new Uint8Array(pool.memory.buffer, outBlock, size * encodedBytes), first * encodedBytes)
    }
  } finally {
    for (const address of addresses) arena.free(address)
  }
}

async function fillTable(pool: ThreadPool, table: FixedBaseTable, base: Uint8Array, { signal }: Run): Promise<void> {
  const quiet: Run = { signal, unit: () => {} }
  await pool.run<DoublingsArgs, void>('fixed-base.doublings', [{ table, base: base.slice() }], quiet)
  const windows = windowCount(table.windowBits)
  // Windows of a unit share their short levels' batches; 2^17 additions at most.
  const perUnit = Math.max(
    1,
    Math.min(Math.ceil(windows / pool.threads), Math.floor(2 ** 17 / windowEntries(table.windowBits))),
  )
  const units: FillArgs[] = []
  for (let first = 0; first < windows; first += perUnit) {
    units.push({ table, firstWindow: first, windows: Math.min(perUnit, windows - first) })
  }
  await pool.run<FillArgs, void>('fixed-base.fill', units, quiet)
}
