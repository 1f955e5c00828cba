/**
 * Transforms over the domain of m = 2^k elements, k ≤ 24, in place over shared memory and over all threads.
 *
 * With N1 · N2 = m, n = n1 · N2 + n2, k = k1 + N1 · k2 and z a primitive m-th root,
 *
 *     Σ_n x_n z^(nk)  =  Σ_n2 (z^N1)^(n2 k2) · z^(n2 k1) · Σ_n1 (z^N2)^(n1 k1) x_n
 *
 * so columns are transformed first, then twisted by z^(n2 k1), then rows; value k is left at row k1, position k2. That
 * order is called *transposed* here. The mirror image (rows, twist, columns) takes transposed to natural order. A
 * product of polynomials needs no reordering in between, and each pass works in place:
 *
 *     {@link Transforms.analyse}     values, natural      →  coefficients, transposed
 *     {@link Transforms.synthesise}  coefficients, transposed  →  values, natural
 *
 * Scaling coefficient k by σ · γ^k (the size's inverse, the coset) costs nothing for the factor σ · γ^k1, which rides
 * on the twist, and one multiplication for γ^(N1 k2), which comes from a table.
 */
import { frFromBytes, frInv, frMul, frPow } from '../../field/fr.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { portion } from '../../groth16/run-portion.ts'
import type { ThreadPool } from '../thread-context.ts'
import { inverseOfSize, rootOfUnity } from './domain.ts'
import type { Lattice, PassArgs, TableArgs } from './passes.ts'
import { ELEMENT_BYTES, toMontgomery } from './passes.ts'

/** Largest transform: its rows and columns of 2^12 elements fit a thread's scratch and cache. */
export const MAX_LOG2_DOMAIN = 24

/**
 * Elements of one unit of work. A pass costs about 0.15–0.35 µs an element and thread, by back end, so a unit takes at
 * most 50 ms.
 */
const UNIT_ELEMENTS: number = 2 ** 17

/** Units a thread and pass, if there are as many elements: threads then finish within an eighth of each other. */
const UNITS_PER_THREAD = 8

/** How a transform to coefficients scales and where it writes. */
export interface AnalyseOptions {
  /** The values are those at `values` times those here, element by element. */
  readonly times?: number | undefined
  /** Where the coefficients go; may be `values`. */
  readonly to: number
  /** Every coefficient is multiplied by it, in addition to 1/m. @default 1n */
  readonly scale?: bigint | undefined
  /** Coefficient k is multiplied by shift^k. @default 1n */
  readonly shift?: bigint | undefined
  /**
   * Leaves coefficients in natural order at this address instead (which must not overlap `to`, then only a work space),
   * minus the coefficients, in transposed order, at `minus`.
   */
  readonly natural?: { readonly to: number; readonly minus?: number | undefined } | undefined
}

interface Split {
  readonly log2Rows: number
  readonly log2Columns: number
}

/** N1 = 2^log2Rows rows of N2 = 2^log2Columns elements. */
function split(log2: number): Split {
  const log2Rows = Math.ceil(log2 / 2)
  return { log2Rows, log2Columns: log2 - log2Rows }
}

/** Where coefficient k of a vector of 2^log2 elements lies in transposed order. */
export function transposedIndex(log2: number, k: number): number {
  const { log2Rows, log2Columns } = split(log2)
  const rows = 2 ** log2Rows
  return (k % rows) * 2 ** log2Columns + Math.floor(k / rows)
}

/** The transforms of one pool, with their tables of roots. */
export class Transforms {
  readonly #pool: ThreadPool
  /** R of the kernels' Montgomery form: a kernel's product of x and y is x · y / R. */
  readonly radix: bigint
  readonly #blockBytes: number
  /** Addresses of tables, by `length:direction`. */
  readonly #tables = new Map<string, Promise<number>>()

  private constructor(pool: ThreadPool, radix: bigint, blockBytes: number) {
    this.#pool = pool
    this.radix = radix
    this.#blockBytes = blockBytes
  }

  static async create(pool: ThreadPool, run: Run): Promise<Transforms> {
    const [inverseRadix] = (await pool.run<null, Uint8Array>('ntt-inverse-radix', [null], portion(run, 0, 0))) as [
      Uint8Array,
    ]
    const [blockBytes] = (await pool.run<null, number>('ntt-block-bytes', [null], portion(run, 0, 0))) as [number]
    return new Transforms(pool, frInv(frFromBytes(inverseRadix)), blockBytes)
  }

  /** Coefficients of the polynomial with the given `values` on the domain; see {@link AnalyseOptions}. */
  async analyse(log2: number, values: number, options: AnalyseOptions, run: Run): Promise<void> {
    const { log2Rows, log2Columns } = split(log2)
    const [rows, columns] = [2 ** log2Rows, 2 ** log2Columns]
    const { to, times, shift = 1n } = options
    // The kernel's product of two elements lacks a factor R.
    const scale = frMul(frMul(options.scale ?? 1n, inverseOfSize(log2)), times === undefined ? 1n : this.radix)
    const natural = (address: number): Lattice => columnsOf(address, columns)

    await this.#pass(
      {
        log2n: log2Rows,
        table: await this.#table(log2Rows, 'inverse'),
        total: columns,
        from: natural(values),
        times: times === undefined ? undefined : natural(times),
        to: natural(to),
        chain: {
          start: toMontgomery(scale, this.radix),
          base: frInv(rootOfUnity(log2)),
          shift: toMontgomery(shift, this.radix),
        },
      },
      portion(run, 0, 0.5),
    )
    const table = await this.#table(log2Columns, 'inverse')
    const second = portion(run, 0.5, 1)
    const pass = {
      log2n: log2Columns,
      table,
      total: rows,
      from: rowsOf(to, columns),
      // Value k2 of row k1 is coefficient k1 + rows · k2.
      to: options.natural === undefined ? rowsOf(to, columns) : columnsOf(options.natural.to, rows),
      minus: options.natural?.minus === undefined ? undefined : rowsOf(options.natural.minus, columns),
    }
    if (shift === 1n) return this.#pass(pass, second)
    const factors = this.#pool.arena.allocate(columns * this.#blockBytes)
    try {
      await this.#makeTable(factors, columns, frPow(shift, BigInt(rows)))
      await this.#pass({ ...pass, factors }, second)
    } finally {
      this.#pool.arena.free(factors)
    }
  }

  /**
   * Values on the domain of the polynomial whose coefficients lie in transposed order at `address`: in place, natural
   * order.
   */
  async synthesise(log2: number, address: number, run: Run): Promise<void> {
    const { log2Rows, log2Columns } = split(log2)
    const [rows, columns] = [2 ** log2Rows, 2 ** log2Columns]
    await this.#pass(
      {
        log2n: log2Columns,
        table: await this.#table(log2Columns, 'forward'),
        total: rows,
        from: rowsOf(address, columns),
        to: rowsOf(address, columns),
        chain: { start: toMontgomery(1n, this.radix), base: rootOfUnity(log2), shift: toMontgomery(1n, this.radix) },
      },
      portion(run, 0, 0.5),
    )
    await this.#pass(
      {
        log2n: log2Rows,
        table: await this.#table(log2Rows, 'forward'),
        total: columns,
        from: columnsOf(address, columns),
        to: columnsOf(address, columns),
      },
      portion(run, 0.5, 1),
    )
  }

  /** Frees the tables. */
  async release(): Promise<void> {
    const tables = await Promise.allSettled(this.#tables.values())
    this.#tables.clear()
    for (const table of tables) if (table.status === 'fulfilled') this.#pool.arena.free(table.value)
  }

  async #pass(pass: Omit<PassArgs, 'first' | 'count'>, run: Run): Promise<void> {
    const n = 2 ** pass.log2n
    const fair = Math.ceil((pass.total * n) / (this.#pool.threads * UNITS_PER_THREAD))
    // Whole pairs of lanes.
    const count = Math.max(2, 2 * Math.floor(Math.min(UNIT_ELEMENTS, fair) / (2 * n)))
    const units: PassArgs[] = []
    for (let first = 0; first < pass.total; first += count) {
      units.push({ ...pass, first, count: Math.min(count, pass.total - first) })
    }
    await this.#pool.run<PassArgs, void>('ntt-pass', units, run)
  }

  /** Roots of unity w^0 … w^(n/2 − 1) of order n = 2^log2n, made when first wanted. */
  #table(log2n: number, direction: 'forward' | 'inverse'): Promise<number> {
    const key = `${log2n}:${direction}`
    const known = this.#tables.get(key)
    if (known !== undefined) return known
    const make = async (): Promise<number> => {
      const length = Math.max(1, 2 ** log2n / 2)
      const address = this.#pool.arena.allocate(length * this.#blockBytes)
      const root = rootOfUnity(log2n)
      try {
        await this.#makeTable(address, length, direction === 'forward' ? root : frInv(root))
        return address
      } catch (error) {
        this.#tables.delete(key)
        this.#pool.arena.free(address)
        throw error
      }
    }
    const table = make()
    this.#tables.set(key, table)
    return table
  }

  /**
   * Powers of `ratio` from 1, in the kernels' form: a millisecond, and tables are shared, so no one's signal stops it.
   */
  async #makeTable(address: number, length: number, ratio: bigint): Promise<void> {
    const args: TableArgs = {
      address,
      length,
      start: toMontgomery(1n, this.radix),
      ratio: toMontgomery(ratio, this.radix),
    }
    await this.#pool.run<TableArgs, void>('ntt-table', [args], { signal: new AbortController().signal, unit: () => {} })
  }
}

/** Short transforms along the columns of a matrix with rows of `width` elements. */
function columnsOf(address: number, width: number): Lattice {
  return { address, stride: width * ELEMENT_BYTES, step: ELEMENT_BYTES }
}

/** Short transforms along its rows. */
function rowsOf(address: number, width: number): Lattice {
  return { address, stride: ELEMENT_BYTES, step: width * ELEMENT_BYTES }
}
