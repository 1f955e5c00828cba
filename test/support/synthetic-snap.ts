/**
 * Updates of any sector size without a sector: whole sectors, correctly encoded, over trees that are made of few kinds
 * of subtree.
 *
 * Old replica and new data have two kinds of node on each level; child j of a node of kind k is of kind (j + k) mod 2,
 * so neighbours differ. In the new replica it also matters in which stretch of the sector a node lies, since each has a
 * randomness of its own: some ten thousand hashes. Written field by field, as bincode does.
 */
import { createHash } from 'node:crypto'
import type { SectorSizeTag } from '../../src/circuit/circuit-id.ts'
import { customTag } from '../../src/circuit/poseidon/constants.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { frAdd, frFromBytes, frMul, frToBytes } from '../../src/field/fr.ts'
import type { SnapUpdateRequest } from '../../src/request/proof-request.ts'
import { registeredUpdateProof } from '../../src/request/snap/update-proofs.ts'
import { snapChallenges } from '../../src/synthesis/snap/snap-challenges.ts'
import { type SnapGeometry, snapGeometry } from '../../src/synthesis/snap/snap-geometry.ts'
import { BincodeWriter } from './bincode-writer.ts'

const SIZES: readonly SectorSizeTag[] = ['2k', '8m', '512m', '32g', '64g']
const COMM_C = frToBytes(0x1234_5678n)

const hasher = new WasmPoseidonHasher()

function poseidon(elements: readonly Uint8Array[], tag?: bigint): Uint8Array {
  const digest = new Uint8Array(32)
  hasher.hash(elements.length, new Uint8Array(Buffer.concat(elements)), digest, tag)
  return digest
}

function sha256(elements: readonly Uint8Array[]): Uint8Array {
  const digest = new Uint8Array(createHash('sha256').update(Buffer.concat(elements)).digest())
  digest[31] = (digest[31] as number) & 0x3f
  return digest
}

/** The node at a height and index. */
type Tree = (height: number, index: number) => Uint8Array

const oddBits = (index: number): number => {
  let parity = 0
  for (let rest = index; rest > 0; rest = Math.floor(rest / 2)) parity ^= rest & 1
  return parity
}

/** Kind of a node: the parity of the digits on the way to it. */
function kindOf(arities: readonly number[], height: number, index: number): number {
  let [kind, rest] = [0, index]
  for (const arity of arities.slice(height)) {
    kind ^= rest & 1
    rest = Math.floor(rest / arity)
  }
  return kind
}

/** values[h][k]: the node of kind k at height h. */
function kinds(
  arities: readonly number[],
  leafs: readonly bigint[],
  hash: (children: readonly Uint8Array[]) => Uint8Array,
): Uint8Array[][] {
  const values = [leafs.map(frToBytes)]
  for (const [h, arity] of arities.entries()) {
    const below = values[h] as Uint8Array[]
    values.push([0, 1].map((k) => hash(Array.from({ length: arity }, (_, j) => below[(j + k) % 2] as Uint8Array))))
  }
  return values
}

class Sector {
  readonly geometry: SnapGeometry
  readonly commROld: Uint8Array
  readonly commRNew: Uint8Array
  readonly commDNew: Uint8Array
  readonly old: Tree
  readonly data: Tree
  readonly replica: Tree
  readonly #upperLevels: number

  /** @param excess by which every node of the new replica misses its encoding */
  constructor(size: SectorSizeTag, excess: bigint) {
    this.#upperLevels = size === '64g' ? 2 : size === '32g' ? 1 : 0
    this.geometry = snapGeometry(`snap-${size}`)
    const { arities, nodeBits } = this.geometry.parameters
    const binary = new Array<number>(nodeBits).fill(2)
    const old = kinds(arities, [1001n, 2002n], (children) => poseidon(children))
    const data = kinds(binary, [5n ** 90n, 7n ** 80n], sha256)
    this.old = (h, i) => old[h]?.[kindOf(arities, h, i)] as Uint8Array
    this.data = (h, i) => data[h]?.[oddBits(i)] as Uint8Array
    this.commDNew = this.data(nodeBits, 0)
    this.commROld = poseidon([COMM_C, this.old(arities.length, 0)])
    this.replica = this.#replica(excess)
    this.commRNew = poseidon([COMM_C, this.replica(arities.length, 0)])
  }

  /** Nodes of one stretch, or with the same ones below them, are computed once. */
  #replica(excess: bigint): Tree {
    const { parameters, highBits } = this.geometry
    const { arities, nodeBits } = parameters
    const phi = poseidon([this.commDNew, this.commROld], customTag(1))
    const rhos = Array.from({ length: 2 ** highBits }, (_, i) =>
      frFromBytes(poseidon([phi, frToBytes(BigInt(i))], customTag(1))),
    )
    /** Leafs below a node of each height. */
    const spans = [0, ...arities].map((_, h) => arities.slice(0, h).reduce((span, arity) => span * arity, 1))
    const stretch = 2 ** (nodeBits - highBits)
    const known = new Map<string, Uint8Array>()
    const node: Tree = (h, i) => {
      const span = spans[h] as number
      const first = i * span
      const stretchNumber = Math.floor(first / stretch)
      const key = span > stretch ? `${h} ${i}` : `${h} ${stretchNumber} ${kindOf(arities, h, i)} ${oddBits(i)}`
      let value = known.get(key)
      if (value === undefined) {
        const arity = arities[h - 1] as number
        value =
          h === 0
            ? frToBytes(
                frAdd(
                  frAdd(frFromBytes(this.old(0, i)), excess),
                  frMul(frFromBytes(this.data(0, i)), rhos[stretchNumber] as bigint),
                ),
              )
            : poseidon(Array.from({ length: arity }, (_, j) => node(h - 1, i * arity + j)))
        known.set(key, value)
      }
      return value
    }
    return node
  }

  partition(k: number): Uint8Array {
    const { parameters, proof, apexLeafs, apexLevel } = this.geometry
    const { nodes } = snapChallenges(parameters, this.commRNew, k, hasher)
    const out = new BincodeWriter()
    out.raw(COMM_C)
    out.u64(apexLeafs)
    for (let i = 0; i < apexLeafs; i++) out.raw(this.data(apexLevel, k * apexLeafs + i))
    out.u64(nodes.length)
    const binary = proof.binary.levels.map(({ arity }) => arity)
    for (const leaf of nodes) {
      inclusion(out, this.old, parameters.arities, this.#upperLevels, leaf)
      inclusion(out, this.data, binary, 0, leaf)
      inclusion(out, this.replica, parameters.arities, this.#upperLevels, leaf)
    }
    return out.bytes()
  }
}

/** @param upper levels above the base trees, each in a path of its own */
function inclusion(out: BincodeWriter, tree: Tree, arities: readonly number[], upper: number, leaf: number): void {
  const base = arities.length - upper
  let index = leaf
  const path = (from: number, to: number): void => {
    out.u64(to - from)
    for (let h = from; h < to; h++) {
      const arity = arities[h] as number
      const place = index % arity
      out.u64(arity - 1)
      for (let j = 0; j < arity; j++) if (j !== place) out.raw(tree(h, index - place + j))
      out.u64(place)
      index = Math.floor(index / arity)
    }
  }
  const ends = (): void => {
    out.raw(tree(arities.length, 0))
    out.raw(tree(0, leaf))
  }
  out.u32(upper)
  if (upper === 0) ends()
  path(0, base)
  for (let h = base; h < arities.length; h++) path(h, h + 1)
  if (upper > 0) ends()
}

const sectors = new Map<string, Sector>()

/**
 * Vanilla proofs of all partitions. Each call gives fresh buffers.
 * @param excess by which every node of the new replica misses its encoding
 */
export function syntheticSnapRequest(size: SectorSizeTag, excess: bigint = 0n): SnapUpdateRequest {
  const key = `${size} ${excess}`
  let sector = sectors.get(key)
  if (sector === undefined) {
    sector = new Sector(size, excess)
    sectors.set(key, sector)
  }
  const { commROld, commRNew, commDNew, geometry } = sector
  return {
    kind: 'snap-update',
    registeredProof: registeredUpdateProof(SIZES.indexOf(size)),
    minerId: 1000n,
    sectorNumber: 9_259_733_836_259_213_201n,
    commROld,
    commRNew,
    commDNew,
    vanillaProofs: Array.from({ length: geometry.partitions }, (_, k) => (sector as Sector).partition(k)),
  }
}
