/**
 * The stacked depth-robust graph: which nodes' labels a label depends on (`drgraph.rs` in storage-proofs-core,
 * `graph.rs` in storage-proofs-porep).
 */
import { hash } from 'node:crypto'
import { DRG_PARENTS, EXPANDER_PARENTS } from '../../circuit/porep/porep-circuit.ts'
import { ChaCha8 } from './chacha8.ts'

/** Edges drawn for each node of the depth-robust part; the sixth parent is the node before. */
const DRAWN_PARENTS = DRG_PARENTS - 1
const FEISTEL_ROUNDS = 3

/** Graph of a sector. */
export class StackedGraph {
  readonly #nodes: number
  readonly #legacy: boolean
  /** First 28 bytes of the generator's seed; the node's number follows. */
  readonly #drgSeed: Uint8Array
  readonly #feistelKeys: readonly Uint8Array[]
  /** Binary digits of each half of the permuted numbers. */
  readonly #halfBits: number

  /**
   * @param nodes a power of two up to 2^31
   * @param porepId 32 bytes
   * @param legacy rules of API version 1.0.0
   */
  constructor(nodes: number, porepId: Uint8Array, legacy: boolean) {
    this.#nodes = nodes
    this.#legacy = legacy
    const derive = (name: string): Buffer => hash('sha256', Buffer.concat([Buffer.from(name), porepId]), 'buffer')
    this.#drgSeed = derive('Filecoin_DRSample').subarray(0, 28)
    const keys = derive('Filecoin_Feistel')
    // Keys are numbers: read little-endian, hashed big-endian.
    this.#feistelKeys = Array.from({ length: FEISTEL_ROUNDS }, (_, i) => keys.subarray(8 * i, 8 * i + 8).toReversed())
    let halfBits = 1
    while (4 ** halfBits < nodes * EXPANDER_PARENTS) halfBits++
    this.#halfBits = halfBits
  }

  /** Writes the 14 parents of a node: 6 of the depth-robust graph, then 8 of the expander. */
  parents(node: number, out: Uint32Array): void {
    this.#drgParents(node, out)
    for (let i = 0; i < EXPANDER_PARENTS; i++) out[DRG_PARENTS + i] = this.#expanderParent(node * EXPANDER_PARENTS + i)
  }

  /**
   * Predecessors at distances that are uniform within a power of two, in a graph of five times as many nodes
   * (DRSample).
   */
  #drgParents(node: number, out: Uint32Array): void {
    if (node < 2) {
      out.fill(0, 0, DRG_PARENTS)
      return
    }
    const seed = new Uint8Array(32)
    seed.set(this.#drgSeed)
    new DataView(seed.buffer).setUint32(28, node, true)
    const random = new ChaCha8(seed)
    const meta = node * DRAWN_PARENTS
    const buckets = Math.ceil(Math.log2(meta))
    const first = this.#legacy ? 0 : 1
    for (let i = 0; i < DRAWN_PARENTS; i++) {
      const bucket = random.below(buckets) + 1
      const largest = Math.min(meta, 2 ** bucket)
      const smallest = Math.max(2, Math.floor(largest / 2))
      const distance = smallest + random.below(largest - smallest + 1)
      const parent = Math.floor((meta - distance) / DRAWN_PARENTS)
      out[first + i] = parent === node ? node - 1 : parent
    }
    out[this.#legacy ? DRAWN_PARENTS : 0] = node - 1
  }

  /** A permutation of the edges' numbers gives each the node it comes from. */
  #expanderParent(edge: number): number {
    const edges = this.#nodes * EXPANDER_PARENTS
    let value = edge
    // The Feistel network permutes a power of four; what lies outside is permuted again.
    do value = this.#feistel(value)
    while (value >= edges)
    return Math.floor((this.#legacy ? value % 2 ** 32 : value) / EXPANDER_PARENTS)
  }

  #feistel(value: number): number {
    const half = 2 ** this.#halfBits
    let left = Math.floor(value / half)
    let right = value % half
    const preimage = Buffer.alloc(16)
    for (const key of this.#feistelKeys) {
      preimage.writeUInt32BE(right, 4)
      preimage.set(key, 8)
      const digest = hash('blake2b512', preimage, 'buffer').readUInt32BE(4)
      // Halves have at most 17 bits, of 2^34 edges.
      const next = left ^ (digest & (half - 1))
      left = right
      right = next
    }
    return left * half + right
  }
}
