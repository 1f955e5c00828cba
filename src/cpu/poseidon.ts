/**
 * Poseidon hashing of many groups in WebAssembly, on the calling thread: for checks of vanilla proofs and for
 * witnesses.
 */
import { merkleTreeTag } from '../circuit/poseidon/constants.ts'
import { MemoryArena } from './arena.ts'
import { type CircuitExports, instantiateCircuit } from './circuit-machine/module.ts'
import { poseidonTable } from './circuit-machine/poseidon-table.ts'
import { placeBytes } from './circuit-machine/tables.ts'

const SCRATCH_BYTES = 4096
/** Groups hashed in one call: some milliseconds. */
const GROUPS_PER_CALL = 256
const MAXIMUM_ARITY = 11
const INITIAL_PAGES = 24
const MAXIMUM_PAGES = 64

/** An instance of `circuit.wasm` with constants of the arities in use; some 1.5 MiB of memory. Used from one thread. */
export class WasmPoseidonHasher {
  readonly #memory: WebAssembly.Memory
  readonly #arena: MemoryArena
  readonly #exports: CircuitExports
  readonly #tables = new Map<string, number>()
  readonly #preimages: number
  readonly #digests: number

  /** @throws {Error} the package was not built */
  constructor() {
    this.#memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES, shared: true })
    this.#arena = new MemoryArena(this.#memory, MAXIMUM_PAGES)
    this.#exports = instantiateCircuit(this.#memory)
    this.#exports.bindScratch(this.#arena.allocate(SCRATCH_BYTES), SCRATCH_BYTES)
    this.#preimages = this.#arena.allocate(GROUPS_PER_CALL * MAXIMUM_ARITY * 32)
    this.#digests = this.#arena.allocate(GROUPS_PER_CALL * 32)
  }

  /**
   * Hashes many groups at once.
   * @param arity 2, 4, 8 or 11
   * @param preimages groups of `arity` scalars, one after another, 32 bytes little-endian each, canonical
   * @param digests receives 32 bytes little-endian a group
   * @param domainTag element 0 of the state; that of a Merkle tree by default
   * @throws {RangeError} an arity without constants, or arrays whose lengths don't fit
   */
  hash(arity: number, preimages: Uint8Array, digests: Uint8Array, domainTag: bigint = merkleTreeTag(arity)): void {
    const groups = digests.length / 32
    if (!Number.isInteger(groups) || preimages.length !== groups * arity * 32) {
      throw new RangeError(
        `${preimages.length} bytes of preimages for ${digests.length} bytes of digests of arity ${arity}`,
      )
    }
    const table = this.#table(arity, domainTag)
    for (let done = 0; done < groups; done += GROUPS_PER_CALL) {
      const count = Math.min(GROUPS_PER_CALL, groups - done)
      placeBytes(this.#memory, this.#preimages, preimages.subarray(32 * arity * done, 32 * arity * (done + count)))
      this.#exports.poseidonHashMany(table, this.#preimages, this.#digests, count)
      digests.set(new Uint8Array(this.#memory.buffer, this.#digests, 32 * count), 32 * done)
    }
  }

  #table(arity: number, domainTag: bigint): number {
    const key = `${arity} ${domainTag}`
    let table = this.#tables.get(key)
    if (table === undefined) {
      const words = poseidonTable(arity, domainTag)
      table = this.#arena.allocate(words.byteLength)
      placeBytes(this.#memory, table, words)
      this.#tables.set(key, table)
    }
    return table
  }
}
