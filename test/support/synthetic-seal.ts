/**
 * Commit-phase-1 outputs of any sector size without a sector, as the objects that their JSON stands for.
 *
 * A 2 KiB sector is really sealed: all labels, all leaves. Of a larger one only what its challenges open exists:
 * parents have labels of their own making, and so have all siblings of the trees over columns and replica. The data is
 * of two kinds of node, laid out so that the whole tree over it takes two hashes a level: comm_d has to be known before
 * there is a challenge.
 */
import { createHash } from 'node:crypto'
import { expandParents } from '../../src/circuit/porep/label.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { frAdd, frFromBytes, frToBytes } from '../../src/field/fr.ts'
import { sealProofOf } from '../../src/request/porep/seal-proofs.ts'
import type { PorepC2Request, RegisteredSealProof } from '../../src/request/proof-request.ts'
import { proverId } from '../../src/request/prover-id.ts'
import { porepChallenges } from '../../src/synthesis/porep/porep-challenges.ts'
import { porepGeometry } from '../../src/synthesis/porep/porep-geometry.ts'
import { StackedGraph } from '../../src/synthesis/porep/porep-graph.ts'
import { jsonBytes } from './porep.ts'

const MINER = 1000n
/** Larger than any number that a double holds exactly. */
const SECTOR = 9_259_733_836_259_213_201n
const FULL_NODES = 64

let hasher: WasmPoseidonHasher | undefined

function poseidon(elements: readonly Uint8Array[]): Uint8Array {
  hasher ??= new WasmPoseidonHasher()
  const digest = new Uint8Array(32)
  hasher.hash(elements.length, new Uint8Array(Buffer.concat(elements)), digest)
  return digest
}

/** SHA-256 as a field element. */
function sha256(...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  const digest = new Uint8Array(hash.digest())
  digest[31] = (digest[31] as number) & 0x3f
  return digest
}

/** A tree of which some leaves are known, and whose other nodes are whatever they are. */
class SparseTree {
  readonly arities: readonly number[]
  readonly #levels: Map<number, Uint8Array>[]

  constructor(arities: readonly number[], leaves: ReadonlyMap<number, Uint8Array>) {
    this.arities = arities
    this.#levels = [new Map(leaves)]
    for (const [h, arity] of arities.entries()) {
      const above = new Map<number, Uint8Array>()
      for (const index of this.#levels[h]?.keys() ?? []) {
        const parent = Math.floor(index / arity)
        if (above.has(parent)) continue
        above.set(parent, poseidon(Array.from({ length: arity }, (_, j) => this.node(h, parent * arity + j))))
      }
      this.#levels.push(above)
    }
  }

  node(height: number, index: number): Uint8Array {
    return this.#levels[height]?.get(index) ?? sha256(`node ${height} ${index}`)
  }

  get root(): Uint8Array {
    return this.node(this.arities.length, 0)
  }
}

/** Nodes of the data: leaf i is of the kind that the parity of i's ones says, and so on upwards. */
class DataTree {
  readonly #kinds: (readonly [Uint8Array, Uint8Array])[] = [[sha256('even'), sha256('odd')]]

  constructor(levels: number) {
    for (let h = 0; h < levels; h++) {
      const [even, odd] = this.#kinds[h] as readonly [Uint8Array, Uint8Array]
      this.#kinds.push([sha256(even, odd), sha256(odd, even)])
    }
  }

  node(height: number, index: number): Uint8Array {
    const ones = index.toString(2).replaceAll('0', '').length
    return this.#kinds[height]?.[ones % 2] as Uint8Array
  }
}

const numbers = (bytes: Uint8Array): number[] => [...bytes]

/** An inclusion proof as JSON has it. */
function inclusion(
  tree: { node(height: number, index: number): Uint8Array },
  arities: readonly number[],
  index: number,
  upperLevels: number,
): object {
  let at = index
  const elements = arities.map((arity, h) => {
    const [group, slot] = [at - (at % arity), at % arity]
    const hashes = []
    for (let j = 0; j < arity; j++) if (j !== slot) hashes.push(numbers(tree.node(h, group + j)))
    at = group / arity
    return { hashes, index: slot }
  })
  const base = { path: elements.slice(0, elements.length - upperLevels) }
  const [sub, top] = elements.slice(elements.length - upperLevels)
  const ends = { root: numbers(tree.node(arities.length, 0)), leaf: numbers(tree.node(0, index)) }
  if (upperLevels === 0) return { data: { Single: { ...ends, path: base } } }
  const below = { base_proof: base, sub_proof: { path: [sub] } }
  if (upperLevels === 1) return { data: { Sub: { ...below, ...ends } } }
  return { data: { Top: { ...below, top_proof: { path: [top] }, ...ends } } }
}

/** A valid request, its output in JSON. */
export function syntheticSealRequest(registeredProof: RegisteredSealProof): PorepC2Request {
  const seal = sealProofOf(registeredProof)
  const { nodes, layers, partitions, challenges, dataLevels, arities } = porepGeometry(seal.circuitId)
  const upperLevels = seal.circuitId === 'porep-64g' ? 2 : seal.circuitId === 'porep-32g' ? 1 : 0
  const full = nodes === FULL_NODES
  const data = new DataTree(dataLevels)
  const [ticket, seed] = [sha256('ticket'), sha256('seed')]
  const commD = data.node(dataLevels, 0)
  const sectorBytes = Buffer.alloc(8)
  sectorBytes.writeBigUInt64BE(SECTOR)
  const replicaId = sha256(proverId(MINER), sectorBytes, ticket, commD, seal.porepId)
  const graph = new StackedGraph(nodes, seal.porepId, seal.legacyGraph)
  const parentsOf = (node: number): number[] => {
    const out = new Uint32Array(14)
    graph.parents(node, out)
    return [...out]
  }

  const columns = new Map<number, Uint8Array[]>()
  const made = (node: number): Uint8Array[] => Array.from({ length: layers }, (_, l) => sha256(`label ${node} ${l}`))
  const labelParents = (node: number, layer: number): Uint8Array[] => {
    const label = (parent: number, of: number): Uint8Array => columns.get(parent)?.[of - 1] as Uint8Array
    const parents = parentsOf(node)
    const own = parents.slice(0, 6).map((parent) => label(parent, layer))
    const below = layer === 1 ? [] : parents.slice(6).map((parent) => label(parent, layer - 1))
    return expandParents([...own, ...below])
  }
  const addLabel = (node: number, layer: number): void => {
    const header = Buffer.alloc(64)
    header.set(replicaId)
    header.writeUInt32BE(layer, 32)
    header.writeBigUInt64BE(BigInt(node), 36)
    columns.get(node)?.push(sha256(header, ...(node === 0 ? [] : labelParents(node, layer))))
  }
  const challengesOf = (commR: Uint8Array): number[] =>
    porepChallenges(seal.challengeRule, { replicaId, seed, commR }, nodes, 0, partitions * challenges)
  if (full) {
    for (let node = 0; node < nodes; node++) columns.set(node, [])
    for (let layer = 1; layer <= layers; layer++) for (let node = 0; node < nodes; node++) addLabel(node, layer)
  } else {
    // Interactive challenges don't depend on comm_r.
    const challenged = new Set(challengesOf(new Uint8Array(32)))
    for (const node of challenged) for (const parent of parentsOf(node)) columns.set(parent, made(parent))
    for (const node of challenged) {
      if (columns.has(node)) throw new Error('a challenged node is the parent of another: choose another seed')
      columns.set(node, [])
      for (let layer = 1; layer <= layers; layer++) addLabel(node, layer)
    }
  }

  const replica = (node: number): Uint8Array => {
    const key = columns.get(node)?.[layers - 1] as Uint8Array
    return frToBytes(frAdd(frFromBytes(key), frFromBytes(data.node(0, node))))
  }
  const columnTree = new SparseTree(arities, new Map([...columns].map(([node, rows]) => [node, poseidon(rows)])))
  const replicaTree = new SparseTree(arities, new Map([...columns.keys()].map((node) => [node, replica(node)])))
  const commR = poseidon([columnTree.root, replicaTree.root])

  const columnProof = (node: number): object => ({
    column: { index: node, rows: (columns.get(node) as Uint8Array[]).map(numbers), _h: null },
    inclusion_proof: inclusion(columnTree, arities, node, upperLevels),
  })
  const proofOf = (node: number): object => {
    const labeling = Array.from({ length: layers }, (_, l) => ({
      parents: labelParents(node, l + 1).map(numbers),
      layer_index: l + 1,
      node,
    }))
    const parents = parentsOf(node)
    return {
      comm_d_proofs: inclusion(data, new Array<number>(dataLevels).fill(2), node, 0),
      comm_r_last_proof: inclusion(replicaTree, arities, node, upperLevels),
      replica_column_proofs: {
        c_x: columnProof(node),
        drg_parents: parents.slice(0, 6).map(columnProof),
        exp_parents: parents.slice(6).map(columnProof),
      },
      labeling_proofs: labeling,
      encoding_proof: labeling.at(-1),
    }
  }
  const all = challengesOf(commR)
  const proofs = Array.from({ length: partitions }, (_, k) =>
    all.slice(k * challenges, (k + 1) * challenges).map(proofOf),
  )
  const output = {
    registered_proof: registeredProof,
    vanilla_proofs: { [registeredProof.replace(/V1.*/, 'V1')]: proofs },
    comm_r: numbers(commR),
    comm_d: numbers(commD),
    replica_id: numbers(replicaId),
    seed: numbers(seed),
    ticket: numbers(ticket),
  }
  return {
    kind: 'porep-c2',
    registeredProof,
    minerId: MINER,
    sectorNumber: SECTOR,
    vanillaProof: jsonBytes(output),
    commR,
    commD,
  }
}
