/**
 * The checks of a PoRep's vanilla proofs: every opened node is the one that the chain asks for, every path leads to its
 * root, and labels follow from their parents.
 *
 * Most of it the circuit enforces too. Checked here, a fault has a name: partition, challenge and part.
 */
import { frAdd, frFromBytes, frToBytes } from '../../field/fr.ts'
import { hashPaths, leafIndex } from '../merkle-paths.ts'
import type { MerkleLayout } from '../merkle-record.ts'
import type { PoseidonHasher } from '../poseidon-hasher.ts'
import { readU32, readU64 } from '../records.ts'
import { equalScalars, scalarHex } from '../scalar-bytes.ts'
import { sha256Element, sha256Groups } from '../sha256-tree-hash.ts'
import { fillLabelPreimage, LABEL_PREIMAGE_BYTES, labelParentOffset } from './label-preimage.ts'
import { type ColumnPlace, LABEL_PARENTS, type LabelingPlace, type PorepGeometry } from './porep-geometry.ts'
import { NODES_PER_CHALLENGE, type PorepPartition } from './porep-partition.ts'
import { sealFault } from './seal-fault.ts'

const SCALAR_BYTES = 32
const ROOT_FIELDS = { data: 'comm_d_proofs', replica: 'comm_r_last_proof' } as const

/** One inclusion proof among those of a challenge. */
interface Inclusion {
  readonly field: string
  readonly layout: MerkleLayout
  /** In the partition's bytes. */
  readonly at: number
  readonly node: number
}

/** Checks the challenges of one partition, one at a time. */
export class PorepChecker {
  readonly #geometry: PorepGeometry
  readonly #partition: PorepPartition
  readonly #hasher: PoseidonHasher
  /** The roots of the partition's first challenge, which all others must share. */
  readonly #commC: Uint8Array
  readonly #commRLast: Uint8Array

  constructor(geometry: PorepGeometry, partition: PorepPartition, hasher: PoseidonHasher) {
    this.#geometry = geometry
    this.#partition = partition
    this.#hasher = hasher
    const { own, replica, octal } = geometry.challenge
    this.#commC = scalarAt(partition.proofs, own.inclusion + octal.root)
    this.#commRLast = scalarAt(partition.proofs, replica + octal.root)
  }

  /**
   * Checks what needs no hash: that all indices are those of the challenged node and its parents.
   * @throws {InvalidRequestError}
   */
  checkNodes(challenge: number): void {
    const { own, parents, labels, encoding } = this.#geometry.challenge
    const { proofs } = this.#partition
    const base = this.#base(challenge)
    for (const inclusion of this.#inclusions(challenge)) this.#checkIndex(challenge, inclusion)
    for (const [i, column] of [own, ...parents].entries()) {
      const index = readU32(proofs, base + column.index)
      const node = this.#node(challenge, i)
      if (index === node) continue
      throw this.#fault(challenge, `${column.field}.column.index`, 'another node', String(node), String(index))
    }
    const node = this.#node(challenge, 0)
    for (const [i, place] of [...labels, encoding].entries()) {
      const layer = Math.min(i + 1, labels.length)
      const layerIndex = readU32(proofs, base + place.layerIndex)
      if (layerIndex !== layer) {
        const field = `${place.field}.layer_index`
        throw this.#fault(challenge, field, 'another layer', String(layer), String(layerIndex))
      }
      const labeled = readU64(proofs, base + place.node)
      if (labeled !== BigInt(node)) {
        throw this.#fault(challenge, `${place.field}.node`, 'another node', String(node), String(labeled))
      }
    }
  }

  /**
   * Checks everything that hashes.
   * @throws {InvalidRequestError}
   */
  checkHashes(challenge: number): void {
    this.#checkColumns(challenge)
    this.#checkPaths(challenge)
    if (challenge === 0) this.#checkCommR()
    this.#checkLabels(challenge)
    this.#checkReplica(challenge)
  }

  /** The leaf above which a column's path begins is the hash of its labels. */
  #checkColumns(challenge: number): void {
    const { layers, challenge: layout } = this.#geometry
    const { proofs } = this.#partition
    const base = this.#base(challenge)
    const columns = [layout.own, ...layout.parents]
    const rowBytes = layers * SCALAR_BYTES
    const preimages = new Uint8Array(columns.length * rowBytes)
    for (const [i, { rows }] of columns.entries()) {
      preimages.set(proofs.subarray(base + rows, base + rows + rowBytes), i * rowBytes)
    }
    const leaves = new Uint8Array(columns.length * SCALAR_BYTES)
    this.#hasher.hash(layers, preimages, leaves)
    for (const [i, { field, inclusion }] of columns.entries()) {
      const leaf = base + inclusion + layout.octal.leaf
      if (equalScalars(leaves, i * SCALAR_BYTES, proofs, leaf)) continue
      const received = scalarHex(leaves, i * SCALAR_BYTES)
      const problem = 'hash to another value than the leaf of its inclusion_proof'
      throw this.#fault(challenge, `${field}.column.rows`, problem, scalarHex(proofs, leaf), received)
    }
  }

  /** Each path leads to the root that stands beside it, and that is the sector's. */
  #checkPaths(challenge: number): void {
    const { binary, octal } = this.#geometry.challenge
    const inclusions = this.#inclusions(challenge)
    const [data, replica, ...columns] = inclusions as [Inclusion, Inclusion, ...Inclusion[]]
    this.#checkRoots(challenge, binary, [data], sha256Groups)
    this.#checkRoots(challenge, octal, [replica, ...columns], (arity, preimages, digests) =>
      this.#hasher.hash(arity, preimages, digests),
    )
    this.#checkRoot(challenge, data, this.#partition.commitments.commD, 'comm_d')
    this.#checkRoot(challenge, replica, this.#commRLast, `${ROOT_FIELDS.replica} of challenge 0`)
    for (const column of columns) this.#checkRoot(challenge, column, this.#commC, 'c_x of challenge 0')
  }

  #checkRoots(
    challenge: number,
    layout: MerkleLayout,
    inclusions: readonly Inclusion[],
    hash: (arity: number, preimages: Uint8Array, digests: Uint8Array) => void,
  ): void {
    const { proofs } = this.#partition
    const roots = new Uint8Array(inclusions.length * SCALAR_BYTES)
    for (const [i, { at }] of inclusions.entries()) roots.set(scalarAt(proofs, at + layout.leaf), i * SCALAR_BYTES)
    const offsets = inclusions.map(({ at }) => at)
    hashPaths(layout, proofs, offsets, roots, hash)
    for (const [i, { field, at }] of inclusions.entries()) {
      if (equalScalars(roots, i * SCALAR_BYTES, proofs, at + layout.root)) continue
      const [expected, received] = [scalarHex(proofs, at + layout.root), scalarHex(roots, i * SCALAR_BYTES)]
      throw this.#fault(challenge, field, 'a path that leads from its leaf to another root', expected, received)
    }
  }

  #checkRoot(challenge: number, { field, layout, at }: Inclusion, root: Uint8Array, name: string): void {
    const { proofs } = this.#partition
    if (equalScalars(root, 0, proofs, at + layout.root)) return
    const received = scalarHex(proofs, at + layout.root)
    throw this.#fault(challenge, `${field}.root`, `differs from ${name}`, scalarHex(root), received)
  }

  /** comm_r = H(comm_c, comm_r_last). */
  #checkCommR(): void {
    const { sectorNumber: sector, partition, commitments } = this.#partition
    const pair = new Uint8Array(2 * SCALAR_BYTES)
    pair.set(this.#commC)
    pair.set(this.#commRLast, SCALAR_BYTES)
    const digest = new Uint8Array(SCALAR_BYTES)
    this.#hasher.hash(2, pair, digest)
    if (equalScalars(digest, 0, commitments.commR, 0)) return
    const problem = 'comm_r is not H(comm_c, comm_r_last) of these roots'
    throw sealFault({ sector, partition }, '', problem, scalarHex(commitments.commR), scalarHex(digest))
  }

  /** The labels of the node are what its parents' labels make them. */
  #checkLabels(challenge: number): void {
    const { layers, challenge: layout } = this.#geometry
    const { proofs, commitments } = this.#partition
    const base = this.#base(challenge)
    const preimage = new Uint8Array(LABEL_PREIMAGE_BYTES)
    const label = new Uint8Array(SCALAR_BYTES)
    const node = this.#node(challenge, 0)
    for (let layer = 1; layer <= layers; layer++) {
      fillLabelPreimage(preimage, this.#geometry, proofs, base, commitments.replicaId, layer, node)
      this.#checkLabelParents(challenge, layout.labels[layer - 1] as LabelingPlace, preimage)
      if (layer === layers) this.#checkLabelParents(challenge, layout.encoding, preimage)
      sha256Element(preimage, label, 0)
      const row = base + layout.own.rows + (layer - 1) * SCALAR_BYTES
      if (equalScalars(label, 0, proofs, row)) continue
      const field = `${layout.own.field}.column.rows[${layer - 1}]`
      throw this.#fault(challenge, field, 'not the label of its parents', scalarHex(label), scalarHex(proofs, row))
    }
  }

  #checkLabelParents(challenge: number, place: LabelingPlace, preimage: Uint8Array): void {
    const { proofs } = this.#partition
    const base = this.#base(challenge)
    for (let i = 0; i < LABEL_PARENTS; i++) {
      const [at, expected] = [base + place.parents + i * SCALAR_BYTES, labelParentOffset(i)]
      if (equalScalars(preimage, expected, proofs, at)) continue
      const field = `${place.field}.parents[${i}]`
      const problem = 'not the label in the parent’s column'
      throw this.#fault(challenge, field, problem, scalarHex(preimage, expected), scalarHex(proofs, at))
    }
  }

  /** The replica's node is the data's plus the last label. */
  #checkReplica(challenge: number): void {
    const { layers, challenge: layout } = this.#geometry
    const { proofs } = this.#partition
    const base = this.#base(challenge)
    const key = frFromBytes(proofs, base + layout.own.rows + (layers - 1) * SCALAR_BYTES)
    const encoded = frToBytes(frAdd(key, frFromBytes(proofs, base + layout.data + layout.binary.leaf)))
    const leaf = base + layout.replica + layout.octal.leaf
    if (equalScalars(encoded, 0, proofs, leaf)) return
    const field = `${ROOT_FIELDS.replica}.leaf`
    throw this.#fault(challenge, field, 'not the last label plus the data', scalarHex(encoded), scalarHex(proofs, leaf))
  }

  #checkIndex(challenge: number, { field, layout, at, node }: Inclusion): void {
    const index = leafIndex(layout, this.#partition.proofs, at)
    if ('badLevel' in index) {
      const level = layout.levels[index.badLevel] as MerkleLayout['levels'][number]
      const received = String(readU64(this.#partition.proofs, at + level.index))
      const path = `${field}.${level.field}.index`
      throw this.#fault(challenge, path, 'an index outside its group', `below ${level.arity}`, received)
    }
    if (index.leaf === node) return
    const problem = 'opens another node than the chain asks for'
    throw this.#fault(challenge, field, problem, `node ${node}`, `node ${index.leaf}`)
  }

  /** Data, replica, the node's own column, then its parents' columns. */
  #inclusions(challenge: number): Inclusion[] {
    const { data, replica, binary, octal, own, parents } = this.#geometry.challenge
    const base = this.#base(challenge)
    const node = this.#node(challenge, 0)
    const ofColumn = ({ field, inclusion }: ColumnPlace, i: number): Inclusion => ({
      field: `${field}.inclusion_proof`,
      layout: octal,
      at: base + inclusion,
      node: this.#node(challenge, i),
    })
    return [
      { field: ROOT_FIELDS.data, layout: binary, at: base + data, node },
      { field: ROOT_FIELDS.replica, layout: octal, at: base + replica, node },
      ...[own, ...parents].map(ofColumn),
    ]
  }

  #base(challenge: number): number {
    return challenge * this.#geometry.challenge.record.bytes
  }

  /** @param i 0 for the challenged node, then its parents */
  #node(challenge: number, i: number): number {
    return this.#partition.nodes[challenge * NODES_PER_CHALLENGE + i] as number
  }

  #fault(challenge: number, field: string, problem: string, expected: string, received: string): Error {
    const { sectorNumber: sector, partition } = this.#partition
    return sealFault({ sector, partition, challenge }, field, problem, expected, received)
  }
}

function scalarAt(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.subarray(at, at + SCALAR_BYTES)
}
