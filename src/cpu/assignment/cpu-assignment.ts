/**
 * A partition in the pool's memory. Its blocks come and go with the phases of a proof:
 *
 *     assign    z (inputs, then aux); bits and wide scalars of the witness until z is full; then the rows a and b
 *     quotient  a work vector c; afterwards a and c are gone and b holds h
 *     sums      z and h are read
 */
import type { CompactWitness } from '../../circuit/shape.ts'
import { SynthesisError } from '../../errors.ts'
import type { Assignment, Run } from '../../groth16/proving-device.ts'
import { portion, silent } from '../../groth16/run-portion.ts'
import { MODE } from '../circuit-machine/module.ts'
import { CONTEXT_BYTES, placeBytes } from '../circuit-machine/tables.ts'
import { computeQuotient } from '../ntt/quotient.ts'
import type { Transforms } from '../ntt/transform.ts'
import type { ThreadPool } from '../thread-context.ts'
import type { CpuShape } from './cpu-shape.ts'
import type { WalkArgs } from './tasks.ts'
import { SCALAR_BYTES } from './tasks.ts'

/** Share of `assign` that goes into filling in derived variables; evaluating rows takes the rest. */
const EXPAND_SHARE = 0.4

type Block = 'z' | 'a' | 'b' | 'c' | 'bits' | 'wide' | 'context'

export class CpuAssignment implements Assignment {
  readonly shape: CpuShape
  readonly #pool: ThreadPool
  readonly #blocks = new Map<Block, number>()
  #phase: 'rows' | 'quotient' | 'unusable' = 'unusable'

  private constructor(pool: ThreadPool, shape: CpuShape) {
    this.#pool = pool
    this.shape = shape
  }

  /**
   * Fills in the assignment and evaluates its rows.
   * @throws {SynthesisError} the witness' lengths are not the circuit's, or a scalar is not canonical
   */
  static async create(pool: ThreadPool, shape: CpuShape, witness: CompactWitness, run: Run): Promise<CpuAssignment> {
    const assignment = new CpuAssignment(pool, shape)
    try {
      await assignment.#expand(witness, portion(run, 0, EXPAND_SHARE))
      await assignment.#evaluateRows(portion(run, EXPAND_SHARE, 1))
      assignment.#phase = 'rows'
      return assignment
    } catch (error) {
      assignment.release()
      throw error
    }
  }

  /** Address of the inputs, ONE first; the aux variables follow. */
  get inputsAt(): number {
    return this.#address('z')
  }

  get auxAt(): number {
    return this.inputsAt + SCALAR_BYTES * this.shape.shape.inputs
  }

  /** Addresses of A·z and B·z, padded with zeros to the domain. */
  get rowsAt(): { readonly a: number; readonly b: number } {
    if (this.#phase !== 'rows') throw new Error('The rows of the assignment are not there')
    return { a: this.#address('a'), b: this.#address('b') }
  }

  /** Address of the coefficients of h. */
  get quotientAt(): number {
    if (this.#phase !== 'quotient') throw new Error('The quotient has not been computed')
    return this.#address('b')
  }

  async computeQuotient(transforms: Transforms, run: Run): Promise<void> {
    const { a, b } = this.rowsAt
    const { log2Domain } = this.shape.shape
    this.#phase = 'unusable'
    try {
      const c = this.#allocate('c', SCALAR_BYTES * 2 ** log2Domain)
      await computeQuotient(transforms, log2Domain, { a, b, c }, run)
      this.#phase = 'quotient'
    } finally {
      this.#free('a', 'c')
    }
  }

  release(): void {
    this.#free(...this.#blocks.keys())
    this.#phase = 'unusable'
  }

  async #expand(witness: CompactWitness, run: Run): Promise<void> {
    const { shape, tables, plan } = this.shape
    const { totals } = shape.root
    const received = [witness.inputs.length, witness.bits.length, witness.wide.length]
    const expected = [SCALAR_BYTES * shape.inputs, 8 * Math.ceil(totals.bits / 64), SCALAR_BYTES * totals.wide]
    if (received.some((length, i) => length !== expected[i])) {
      throw new SynthesisError(`The witness of ${shape.circuitId} has wrong lengths`, {
        details: { expected: expected.join(', '), received: received.join(', ') },
      })
    }
    const keys = shape.inputs + shape.aux
    const z = this.#allocate('z', SCALAR_BYTES * keys)
    const bits = this.#allocate('bits', witness.bits.length)
    const wide = this.#allocate('wide', witness.wide.length)
    const context = this.#allocate('context', CONTEXT_BYTES)
    placeBytes(this.#pool.memory, z, witness.inputs)
    placeBytes(this.#pool.memory, bits, witness.bits)
    placeBytes(this.#pool.memory, wide, witness.wide)
    await this.#requireCanonical('inputs', z, shape.inputs, run)
    await this.#requireCanonical('wide', wide, totals.wide, run)
    tables.writeContext(context, {
      fixedBase: z,
      fixedKeys: keys,
      bits,
      bitCount: totals.bits,
      wide,
      wideCount: totals.wide,
    })

    // Sections are independent of each other but for the first, which all others read; pieces of one follow each other.
    const rows = plan.sections.reduce((sum, section) => sum + section.rows, 0)
    let done = 0
    const expandSection = async (section: (typeof plan.sections)[number]): Promise<void> => {
      for (const { words, rows: pieceRows } of section.pieces) {
        const args: WalkArgs = { context, pieces: [words], mode: MODE.expand }
        await this.#pool.run<WalkArgs, void>('assignment-walk', [args], silent(run))
        done += pieceRows
        run.unit(Math.min(1, done / rows))
      }
    }
    const [common, ...others] = plan.sections
    if (common !== undefined) await expandSection(common)
    const queue = others.values()
    const takeSections = async (): Promise<void> => {
      for (const section of queue) await expandSection(section)
    }
    // A failure must not leave another thread's task writing to memory that is freed.
    const settled = await Promise.allSettled(Array.from({ length: this.#pool.threads }, takeSections))
    for (const result of settled) if (result.status === 'rejected') throw result.reason
    this.#free('bits', 'wide')
  }

  async #requireCanonical(field: string, address: number, count: number, run: Run): Promise<void> {
    const [index] = await this.#pool.run<{ address: number; count: number }, number>(
      'assignment-first-not-canonical',
      [{ address, count }],
      silent(run),
    )
    if (index !== undefined && index < count) {
      throw new SynthesisError(`Scalar ${index} of the witness (${field}) is not below r`, {
        details: { field: `${field}[${index}]` },
      })
    }
  }

  async #evaluateRows(run: Run): Promise<void> {
    const { shape, plan } = this.shape
    const { memory } = this.#pool
    const bytes = SCALAR_BYTES * 2 ** shape.log2Domain
    const [a, b] = [this.#allocate('a', bytes), this.#allocate('b', bytes)]
    // A row `input_i · 0 = 0` for each input follows the circuit's, then zeros up to the domain.
    const own = SCALAR_BYTES * shape.constraints
    const inputBytes = SCALAR_BYTES * shape.inputs
    const all = new Uint8Array(memory.buffer)
    all.copyWithin(a + own, this.inputsAt, this.inputsAt + inputBytes)
    all.fill(0, a + own + inputBytes, a + bytes)
    all.fill(0, b + own, b + bytes)
    const units = plan.sections
      .flatMap(({ pieces }) => pieces)
      .map(
        ({ words }): WalkArgs => ({
          context: this.#address('context'),
          pieces: [words],
          mode: MODE.rows,
          rows: { a, b },
        }),
      )
    await this.#pool.run<WalkArgs, void>('assignment-walk', units, run)
    this.#free('context')
  }

  #allocate(block: Block, bytes: number): number {
    const address = this.#pool.arena.allocate(bytes)
    this.#blocks.set(block, address)
    return address
  }

  #address(block: Block): number {
    const address = this.#blocks.get(block)
    if (address === undefined) throw new Error(`The assignment holds no ${block}`)
    return address
  }

  #free(...blocks: readonly Block[]): void {
    for (const block of blocks) {
      const address = this.#blocks.get(block)
      if (address === undefined) continue
      this.#blocks.delete(block)
      this.#pool.arena.free(address)
    }
  }
}
