/**
 * One partition's use of its circuit, from its turn to its end: what both need of the budget, the circuit's parameters,
 * and the memory that a preload may have kept for it.
 */
import type { ParametersLocation, ReadRun } from '../params/parameters-location.ts'
import type { SrsLease, SrsResource } from '../srs/srs-store.ts'
import { type CircuitEstimate, partitionBytes } from './estimates.ts'
import type { MemoryBudget, Reservation } from './memory-budget.ts'
import { PartitionMemory } from './partition-memory.ts'
import type { ResidentUse } from './residency.ts'

/** A circuit's parameters, ready on the devices. */
export interface LoadedCircuit extends SrsResource {
  readonly location: ParametersLocation
}

/** What a partition holds of its circuit from its turn to its end. */
export interface CircuitUse extends Disposable {
  /** Bytes to reserve for one partition at this moment: its working set, and the circuit where it is not there yet. */
  readonly neededBytes: () => number
  /** Takes the circuit's part out of the reservation. To be called at the moment of the grant. */
  granted(memory: Reservation): void
  /** What is left for the partition, to be released as it gets on. */
  hold(memory: Reservation): PartitionMemory
  /** Loads the parameters, or shares those that are loaded. */
  load(run: ReadRun): Promise<LoadedCircuit>
}

/** A preloaded circuit's working set, which stays reserved for its next partition. */
export interface Kept {
  readonly memory: Reservation
  inUse: boolean
}

/** On a device. */
export class PartitionUse implements CircuitUse {
  readonly #estimate: CircuitEstimate
  readonly #resident: ResidentUse
  readonly #kept: () => Kept | undefined
  readonly #budget: MemoryBudget
  readonly #acquire: (run: ReadRun) => Promise<SrsLease<LoadedCircuit>>
  #held: Kept | undefined
  #lease: SrsLease<LoadedCircuit> | undefined

  constructor(
    estimate: CircuitEstimate,
    resident: ResidentUse,
    kept: () => Kept | undefined,
    budget: MemoryBudget,
    acquire: (run: ReadRun) => Promise<SrsLease<LoadedCircuit>>,
  ) {
    this.#estimate = estimate
    this.#resident = resident
    this.#kept = kept
    this.#budget = budget
    this.#acquire = acquire
  }

  readonly neededBytes = (): number => {
    // What a preload keeps reserved is there already.
    const working = this.#kept()?.inUse === false ? 0 : partitionBytes(this.#estimate)
    return working + this.#resident.missingBytes()
  }

  granted(memory: Reservation): void {
    this.#resident.settle(memory)
    const kept = this.#kept()
    if (memory.bytes > 0 || kept === undefined) return
    kept.inUse = true
    this.#held = kept
  }

  hold(memory: Reservation): PartitionMemory {
    return new PartitionMemory(this.#budget, memory, this.#estimate)
  }

  async load(run: ReadRun): Promise<LoadedCircuit> {
    this.#lease ??= await this.#acquire(run)
    return this.#lease.resource
  }

  [Symbol.dispose](): void {
    this.#lease?.release()
    this.#resident[Symbol.dispose]()
    if (this.#held === undefined) return
    this.#held.inUse = false
    this.#held = undefined
    this.#budget.recheck()
  }
}
