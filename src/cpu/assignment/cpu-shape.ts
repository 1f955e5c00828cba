/**
 * A circuit's shape in the pool's memory: what the walk reads, how it is cut into tasks, and which variables are dense.
 */
import type { BitArray, CircuitShape } from '../../circuit/shape.ts'
import type { DeviceShape } from '../../groth16/proving-device.ts'
import { type CircuitPlan, planCircuit } from '../circuit-machine/pieces.ts'
import { CircuitTables, placeBytes } from '../circuit-machine/tables.ts'
import type { ThreadPool } from '../thread-context.ts'

/** Rows of one walk: about 50 ms. */
const MAXIMUM_ROWS_PER_PIECE = 32_768
/** Pieces a thread, where the circuit has as many rows: threads then finish together. */
const PIECES_PER_THREAD = 8
/** Bits between two known ranks of a {@link DenseBits}. */
const RANK_STEP_BITS = 8_192

/** A bit array in the pool's memory that finds its k-th set bit fast. */
export interface DenseBits {
  readonly address: number
  readonly count: number
  /** Set bits before bit i · {@link RANK_STEP_BITS}. */
  readonly ranks: Uint32Array
}

/** Where to start looking for set bit number `rank`: a bit, and how many set ones to skip from there. */
export function locateRank({ ranks }: Pick<DenseBits, 'ranks'>, rank: number): { firstBit: number; skip: number } {
  let [low, high] = [0, ranks.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((ranks[middle] as number) <= rank) low = middle
    else high = middle - 1
  }
  return { firstBit: low * RANK_STEP_BITS, skip: rank - (ranks[low] as number) }
}

export function rankSteps(bits: BitArray): Uint32Array {
  const stepBytes = RANK_STEP_BITS / 8
  const ranks = new Uint32Array(Math.max(1, Math.ceil(bits.length / stepBytes)))
  let rank = 0
  for (let i = 0; i < bits.length; i++) {
    if (i % stepBytes === 0) ranks[i / stepBytes] = rank
    for (let byte = bits[i] as number; byte !== 0; byte &= byte - 1) rank++
  }
  return ranks
}

export class CpuShape implements DeviceShape {
  readonly shape: CircuitShape
  readonly tables: CircuitTables
  readonly plan: CircuitPlan
  readonly aDense: DenseBits
  readonly bDense: DenseBits
  readonly #pool: ThreadPool
  readonly #blocks: number[] = []

  /** @throws {Error} a shape that contradicts itself */
  constructor(pool: ThreadPool, shape: CircuitShape) {
    this.shape = shape
    this.#pool = pool
    this.tables = new CircuitTables(pool, shape)
    try {
      const fair = Math.ceil(shape.constraints / (pool.threads * PIECES_PER_THREAD))
      this.plan = planCircuit(shape, this.tables.image, Math.min(MAXIMUM_ROWS_PER_PIECE, fair))
      const { aAux, aAuxCount, bAux, bAuxCount } = shape.density
      this.aDense = this.#place(aAux, aAuxCount)
      this.bDense = this.#place(bAux, bAuxCount)
    } catch (error) {
      this.release()
      throw error
    }
  }

  #place(bits: BitArray, count: number): DenseBits {
    const address = this.#pool.arena.allocate(bits.length)
    this.#blocks.push(address)
    placeBytes(this.#pool.memory, address, bits)
    return { address, count, ranks: rankSteps(bits) }
  }

  release(): void {
    this.tables.release()
    for (const block of this.#blocks.splice(0)) this.#pool.arena.free(block)
  }
}
