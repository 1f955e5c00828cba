/** Equations of small integers, many to a row (`multieq.rs` in bellperson). */
import type { ConstraintSystem } from '../constraint-system.ts'
import { LinearCombination } from '../linear-combination.ts'
import { ONE } from '../shape.ts'
import { PACKED_BITS } from './packing.ts'

/**
 * Collects equations left = right between integers below 2^n, each shifted to bits of its own, and enforces them
 * together: Σ 2^offset·left · 1 = Σ 2^offset·right. One lives through a SHA-256 compression; {@link close} writes the
 * last row.
 */
export class MultiEq {
  readonly #cs: ConstraintSystem
  #used = 0
  #left = new LinearCombination()
  #right = new LinearCombination()

  constructor(cs: ConstraintSystem) {
    this.#cs = cs
  }

  /**
   * One more equation.
   * @param bits n, for which the sides are below 2^n
   * @param add adds both sides to the linear combinations, times 2^offset
   */
  enforceEqual(bits: number, add: (left: LinearCombination, right: LinearCombination, offset: number) => void): void {
    // "At least", though as many bits as fit would do: that is how the circuits were set up.
    if (this.#used + bits >= PACKED_BITS) this.close()
    add(this.#left, this.#right, this.#used)
    this.#used += bits
  }

  /** Enforces what has collected, if anything. */
  close(): void {
    if (this.#used === 0) return
    this.#cs.enforce(this.#left, LinearCombination.of(ONE), this.#right)
    this.#left = new LinearCombination()
    this.#right = new LinearCombination()
    this.#used = 0
  }
}
