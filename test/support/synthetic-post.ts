/**
 * PoSt requests of any sector size without a sector: vanilla proofs over a tree that is made of few kinds of subtree.
 *
 * On each level there are eight kinds of node. Child j of a node of kind k is of kind (j + k) mod arity, so all
 * siblings of a path differ, every leaf has a value, and the whole tree takes eight hashes a level. Written field by
 * field, as bincode does.
 */
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { poseidonHash } from '../../src/circuit/poseidon/hash.ts'
import type { WindowPostRequest, WinningPostRequest } from '../../src/request/proof-request.ts'
import { deriveChallenges } from '../../src/synthesis/post-challenges.ts'
import { type PostGeometry, postGeometry } from '../../src/synthesis/post-geometry.ts'
import { BincodeWriter } from './bincode-writer.ts'

const KINDS = 8

/** values[h][k]: the node of kind k at height h. */
type Tree = readonly (readonly bigint[])[]

const trees = new Map<string, Tree>()

function buildTree(arities: readonly number[]): Tree {
  const key = arities.join()
  const known = trees.get(key)
  if (known !== undefined) return known
  let row = Array.from({ length: KINDS }, (_, k) => BigInt(1000 + k))
  const tree = [row]
  for (const arity of arities) {
    const below = row
    row = Array.from({ length: KINDS }, (_, k) =>
      poseidonHash(Array.from({ length: arity }, (_, j) => below[(j + k) % arity] as bigint)),
    )
    tree.push(row)
  }
  trees.set(key, tree)
  return tree
}

/** One inclusion proof of the leaf `index`. */
function writeInclusionProof(out: BincodeWriter, geometry: PostGeometry, tree: Tree, index: number): void {
  const { arities, upperLevels } = geometry
  const slots: number[] = []
  let rest = index
  for (const arity of arities) {
    slots.push(rest % arity)
    rest = Math.floor(rest / arity)
  }
  // Kinds from the root (kind 0) down: kinds[h] is that of the path's node at height h.
  const kinds = new Array<number>(arities.length + 1).fill(0)
  for (let h = arities.length - 1; h >= 0; h--) {
    kinds[h] = ((slots[h] as number) + (kinds[h + 1] as number)) % (arities[h] as number)
  }
  const value = (h: number, kind: number): bigint => tree[h]?.[kind] as bigint
  const commitments = (): void => {
    out.scalar(value(arities.length, 0))
    out.scalar(value(0, kinds[0] as number))
  }
  const path = (first: number, levels: number): void => {
    out.u64(levels)
    for (let h = first; h < first + levels; h++) {
      const arity = arities[h] as number
      out.u64(arity - 1)
      for (let j = 0; j < arity; j++) {
        if (j !== slots[h]) out.scalar(value(h, (j + (kinds[h + 1] as number)) % arity))
      }
      out.u64(slots[h] as number)
    }
  }
  out.u32(upperLevels)
  if (upperLevels === 0) commitments()
  const baseLevels = arities.length - upperLevels
  path(0, baseLevels)
  for (let upper = 0; upper < upperLevels; upper++) path(baseLevels + upper, 1)
  if (upperLevels !== 0) commitments()
}

function vanillaProof(geometry: PostGeometry, sector: bigint, challenges: Uint32Array): Uint8Array {
  const tree = buildTree(geometry.arities)
  const commRLast = tree.at(-1)?.[0] as bigint
  const commC = 77n + sector
  const out = new BincodeWriter()
  out.u64(sector)
  out.scalar(poseidonHash([commC, commRLast]))
  out.u64(1)
  out.u64(challenges.length)
  for (const index of challenges) writeInclusionProof(out, geometry, tree, index)
  out.scalar(commC)
  out.scalar(commRLast)
  return out.bytes()
}

export const SYNTHETIC_RANDOMNESS: Uint8Array = Uint8Array.from({ length: 32 }, (_, i) => (i === 31 ? 0x3f : 200 + i))

const SIZES = { '2k': '2KiB', '8m': '8MiB', '512m': '512MiB', '32g': '32GiB', '64g': '64GiB' } as const

/** A valid request that proves `sectors` sectors, numbers 1 and up. */
export function syntheticWindowRequest(size: keyof typeof SIZES, sectors: number): WindowPostRequest {
  return {
    kind: 'window-post',
    registeredProof: `StackedDrgWindow${SIZES[size]}V1_2`,
    minerId: 1000n,
    partitionIndex: 0,
    randomness: SYNTHETIC_RANDOMNESS.slice(),
    vanillaProofs: Array.from({ length: sectors }, (_, i) => syntheticVanillaProof(`wpost-${size}`, BigInt(i + 1))),
  }
}

/** A valid request that proves sector 1. */
export function syntheticWinningRequest(size: keyof typeof SIZES): WinningPostRequest {
  return {
    kind: 'winning-post',
    registeredProof: `StackedDrgWinning${SIZES[size]}V1`,
    minerId: 1000n,
    randomness: SYNTHETIC_RANDOMNESS.slice(),
    vanillaProofs: [syntheticVanillaProof(`winning-${size}`, 1n)],
  }
}

function syntheticVanillaProof(circuitId: CircuitId, sector: bigint): Uint8Array {
  const geometry = postGeometry(circuitId)
  const challenges = new Uint32Array(geometry.proofChallenges)
  const rule = circuitId.startsWith('winning') ? 'running' : 'per-sector'
  deriveChallenges(geometry, rule, SYNTHETIC_RANDOMNESS, sector, 0, challenges)
  return vanillaProof(geometry, sector, challenges)
}
