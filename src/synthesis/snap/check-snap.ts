/**
 * The checks of an update's vanilla proofs: every opened node is the one that the chain asks for, every path leads to
 * its root, and the new replica encodes the new data.
 *
 * Most of it the circuit enforces too. Checked here, a fault has a name: partition, challenge and part.
 */
import { frAdd, frFromBytes, frMul, frToBytes } from '../../field/fr.ts'
import { type GroupHasher, hashPaths, leafIndex } from '../merkle-paths.ts'
import type { MerkleLayout, MerkleLevel } from '../merkle-record.ts'
import type { PoseidonHasher } from '../poseidon-hasher.ts'
import { readU64 } from '../records.ts'
import { equalScalars, scalarHex } from '../scalar-bytes.ts'
import { sha256Groups } from '../sha256-tree-hash.ts'
import { type SnapChallenges, snapPhi, snapRhos } from './snap-challenges.ts'
import { snapFault } from './snap-fault.ts'
import type { SnapGeometry } from './snap-geometry.ts'
import type { SnapPartition } from './snap-partition.ts'

const SCALAR_BYTES = 32
const PAIR_BYTES = 2 * SCALAR_BYTES

/** One of the three trees that a challenge opens. */
interface Tree {
  readonly field: string
  readonly layout: MerkleLayout
  /** Of its inclusion proof, from the start of the challenge's proof. */
  readonly at: number
  readonly hash: GroupHasher
  /** What all challenges must share, and whose it is. */
  readonly root: Uint8Array
  readonly rootName: string
}

/** Checks one partition. */
export class SnapChecker {
  readonly #geometry: SnapGeometry
  readonly #partition: SnapPartition
  readonly #nodes: Uint32Array
  readonly #hasher: PoseidonHasher
  readonly #rOld: Tree
  readonly #dNew: Tree
  readonly #rNew: Tree
  /** 32 bytes a challenge. */
  readonly #rhos: Uint8Array

  /** @param challenges of this partition */
  constructor(geometry: SnapGeometry, partition: SnapPartition, challenges: SnapChallenges, hasher: PoseidonHasher) {
    this.#geometry = geometry
    this.#partition = partition
    this.#nodes = challenges.nodes
    this.#hasher = hasher
    const { rOld, dNew, rNew, binary, octal } = geometry.proof
    const { commROld, commDNew } = partition.commitments
    const replica = (field: string, at: number): Tree => {
      const root = scalarAt(partition.proof, this.#base(0) + at + octal.root)
      const hash: GroupHasher = (arity, preimages, digests) => hasher.hash(arity, preimages, digests)
      return { field, layout: octal, at, hash, root, rootName: 'that of challenge 0' }
    }
    this.#rOld = replica('proof_r_old', rOld)
    this.#rNew = replica('proof_r_new', rNew)
    const data = { layout: binary, at: dNew, hash: sha256Groups, root: commDNew, rootName: 'comm_d_new' }
    this.#dNew = { field: 'proof_d_new', ...data }
    const phi = snapPhi(commDNew, commROld, hasher)
    this.#rhos = snapRhos(phi, challenges.nodes, geometry.parameters.nodeBits, geometry.highBits, hasher)
  }

  /**
   * Checks that the commitments are those of the chain: an update leaves the columns alone, so that comm_c is the same
   * before and after. Comes first, since challenges follow from comm_r_new: a stale one would make all of them wrong.
   * @throws {InvalidRequestError}
   */
  checkCommitments(): void {
    const { commROld, commRNew } = this.#partition.commitments
    this.#checkCommR('comm_r_old', commROld, this.#rOld)
    this.#checkCommR('comm_r_new', commRNew, this.#rNew)
  }

  /**
   * Checks that the indices in a challenge's paths are those of the challenged node.
   * @throws {InvalidRequestError}
   */
  checkNode(challenge: number): void {
    const node = this.#nodes[challenge] as number
    for (const tree of this.#trees()) {
      const leaf = this.#leafIndex(challenge, tree)
      if (leaf === node) continue
      const problem = 'opens another node than the chain asks for'
      throw this.#fault(challenge, tree.field, problem, `node ${node}`, `node ${leaf}`)
    }
  }

  /**
   * Checks the rest of a challenge; with the first one, also the apex leafs. To be called after {@link checkNode}.
   * @throws {InvalidRequestError}
   */
  checkHashes(challenge: number): void {
    for (const tree of this.#trees()) this.#checkPath(challenge, tree)
    this.#checkEncoding(challenge)
    if (challenge === 0) this.#checkApex()
  }

  /** comm_r = H(comm_c, root). */
  #checkCommR(name: string, commR: Uint8Array, tree: Tree): void {
    const pair = new Uint8Array(PAIR_BYTES)
    pair.set(scalarAt(this.#partition.proof, this.#geometry.proof.commC))
    pair.set(tree.root, SCALAR_BYTES)
    const digest = new Uint8Array(SCALAR_BYTES)
    this.#hasher.hash(2, pair, digest)
    if (equalScalars(digest, 0, commR, 0)) return
    // The fault may be the root that challenge 0 states.
    this.#leafIndex(0, tree)
    this.#checkPath(0, tree)
    const problem = `${name} is not H(comm_c, root of ${tree.field})`
    throw this.#fault(undefined, '', problem, scalarHex(commR), scalarHex(digest))
  }

  /** The path leads to the root that stands beside it, and that is the one of all challenges. */
  #checkPath(challenge: number, { field, layout, at, hash, root, rootName }: Tree): void {
    const { proof } = this.#partition
    const offset = this.#base(challenge) + at
    const stated = scalarAt(proof, offset + layout.root)
    if (!equalScalars(root, 0, stated, 0)) {
      throw this.#fault(challenge, `${field}.root`, `differs from ${rootName}`, scalarHex(root), scalarHex(stated))
    }
    const reached = scalarAt(proof, offset + layout.leaf).slice()
    hashPaths(layout, proof, [offset], reached, hash)
    if (equalScalars(reached, 0, root, 0)) return
    const problem = 'a path that leads from its leaf to another root'
    throw this.#fault(challenge, field, problem, scalarHex(root), scalarHex(reached))
  }

  /** new = old + data · rho. */
  #checkEncoding(challenge: number): void {
    const { proof } = this.#partition
    const leaf = ({ at, layout }: Tree): number => this.#base(challenge) + at + layout.leaf
    const old = frFromBytes(proof, leaf(this.#rOld))
    const data = frFromBytes(proof, leaf(this.#dNew))
    const encoded = frToBytes(frAdd(old, frMul(data, frFromBytes(this.#rhos, challenge * SCALAR_BYTES))))
    const at = leaf(this.#rNew)
    if (equalScalars(encoded, 0, proof, at)) return
    const field = `${this.#rNew.field}.leaf`
    const problem = 'not the old leaf plus data times randomness'
    throw this.#fault(challenge, field, problem, scalarHex(encoded), scalarHex(proof, at))
  }

  /**
   * The apex leafs lead to comm_d_new at the partition's place, along the upper end of the first challenge's path,
   * which was checked. So does each challenge's path, at places that its index says: then it passes through the apex
   * leaf there.
   */
  #checkApex(): void {
    const { apexLeafs, parameters, proof: layout } = this.#geometry
    const { proof, partition, commitments } = this.#partition
    let row = proof.slice(layout.apexLeafs, layout.apexLeafs + apexLeafs * SCALAR_BYTES)
    while (row.length > SCALAR_BYTES) {
      const above = new Uint8Array(row.length / 2)
      sha256Groups(2, row, above)
      row = above
    }
    const pair = new Uint8Array(PAIR_BYTES)
    const above = layout.binary.levels.slice(parameters.nodeBits - parameters.partitionBits)
    for (const [i, { siblings }] of above.entries()) {
      const right = (partition >>> i) & 1
      pair.set(row, right * SCALAR_BYTES)
      pair.set(scalarAt(proof, this.#base(0) + layout.dNew + siblings), (1 - right) * SCALAR_BYTES)
      sha256Groups(2, pair, row)
    }
    if (equalScalars(row, 0, commitments.commDNew, 0)) return
    const problem = 'lead to another root than comm_d_new'
    throw this.#fault(undefined, 'apex_leafs', problem, scalarHex(commitments.commDNew), scalarHex(row))
  }

  /** Number of the leaf that a path's indices open. */
  #leafIndex(challenge: number, { field, layout, at }: Tree): number {
    const { proof } = this.#partition
    const offset = this.#base(challenge) + at
    const index = leafIndex(layout, proof, offset)
    if (!('badLevel' in index)) return index.leaf
    const level = layout.levels[index.badLevel] as MerkleLevel
    const path = `${field}.${level.field}.index`
    const received = String(readU64(proof, offset + level.index))
    throw this.#fault(challenge, path, 'an index outside its group', `below ${level.arity}`, received)
  }

  #trees(): readonly Tree[] {
    return [this.#rOld, this.#dNew, this.#rNew]
  }

  #base(challenge: number): number {
    return this.#geometry.proof.challenges + challenge * this.#geometry.proof.challengeBytes
  }

  #fault(challenge: number | undefined, field: string, problem: string, expected: string, received: string): Error {
    const { sectorNumber: sector, partition } = this.#partition
    const place = { sector, partition, ...(challenge !== undefined && { challenge }) }
    return snapFault(place, field, problem, expected, received)
  }
}

function scalarAt(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.subarray(at, at + SCALAR_BYTES)
}
