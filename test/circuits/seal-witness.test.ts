/** Witnesses in the documented order satisfy small PoRep and SnapDeals circuits, whose values are computed beside. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { expandParents } from '../../src/circuit/porep/label.ts'
import { synthesizePorep } from '../../src/circuit/porep/porep-circuit.ts'
import { poseidonHash } from '../../src/circuit/poseidon/hash.ts'
import type { CircuitShape, CompactWitness } from '../../src/circuit/shape.ts'
import { synthesizeSnap } from '../../src/circuit/snap/snap-circuit.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { frAdd, frFromBytes, frMul, frToBytes } from '../../src/field/fr.ts'
import { gadgetShape } from '../support/circuits.ts'
import type { PorepPartitionInput, SnapPartitionInput } from '../support/seal-inputs.ts'
import {
  elements,
  pathIn,
  porepWitness,
  sha256Pair,
  snapRandomness,
  snapWitness,
  treeOf,
} from '../support/seal-witness.ts'

const machine = new CircuitMachine()

/** The template of the first row that does not hold. */
async function firstFailure(shape: CircuitShape, witness: CompactWitness): Promise<string | undefined> {
  const circuit = machine.load(shape)
  const { failure } = await machine.check(circuit, witness)
  circuit.release()
  return failure?.template
}

function bytesOf(values: readonly bigint[]): Uint8Array {
  return Uint8Array.from(values.flatMap((value) => [...frToBytes(value)]))
}

const pair = ([left, right]: readonly bigint[]): bigint => sha256Pair(left as bigint, right as bigint)

/** A copy with the first byte of an array changed. */
function damaged(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[0] = (copy[0] as number) ^ 1
  return copy
}

describe('a PoRep partition', () => {
  const arities = [8, 2]
  const parameters = { layers: 2, challenges: 2, dataLevels: 4, arities }
  const [replicaId] = elements(1n, 1) as [bigint]
  const data = elements(100n, 16)

  /** As the vanilla side defines it. */
  function label(layer: number, node: number, parents: readonly bigint[]): bigint {
    const header = Buffer.alloc(64)
    header.set(frToBytes(replicaId))
    header.writeUInt32BE(layer, 32)
    header.writeBigUInt64BE(BigInt(node), 36)
    const hash = createHash('sha256').update(header)
    for (const parent of expandParents(parents)) hash.update(frToBytes(parent))
    const digest = hash.digest()
    digest[31] = (digest[31] as number) & 0x3f
    return frFromBytes(digest)
  }

  /** Parents of the two challenged nodes, none of which is the other's. */
  const PARENTS: Record<number, number[]> = {
    13: [12, 11, 4, 0, 3, 12, 1, 15, 14, 0, 2, 8, 9, 9],
    6: [5, 0, 1, 5, 4, 2, 12, 15, 3, 3, 10, 14, 11, 7],
  }

  function input(): PorepPartitionInput {
    const columns = Array.from({ length: 16 }, (_, node) => elements(BigInt(1000 * node + 7), 2))
    for (const [node, parents] of Object.entries(PARENTS)) {
      const drg = (layer: number): bigint[] => parents.slice(0, 6).map((p) => columns[p]?.[layer - 1] as bigint)
      const expander = parents.slice(6).map((p) => columns[p]?.[0] as bigint)
      columns[Number(node)] = [label(1, Number(node), drg(1)), label(2, Number(node), [...drg(2), ...expander])]
    }
    const treeD = treeOf(data, [2, 2, 2, 2], pair)
    const treeC = treeOf(
      columns.map((column) => poseidonHash(column)),
      arities,
      poseidonHash,
    )
    const replica = columns.map((column, node) => frAdd(column[1] as bigint, data[node] as bigint))
    const treeR = treeOf(replica, arities, poseidonHash)
    const root = (tree: readonly (readonly bigint[])[]): bigint => tree.at(-1)?.[0] as bigint
    const [commD, commC, commRLast] = [root(treeD), root(treeC), root(treeR)]
    return {
      replicaId: frToBytes(replicaId),
      commD: frToBytes(commD),
      commR: frToBytes(poseidonHash([commC, commRLast])),
      commRLast: frToBytes(commRLast),
      commC: frToBytes(commC),
      challenges: Object.keys(PARENTS).map((key) => {
        const node = Number(key)
        return {
          node,
          dataLeaf: frToBytes(data[node] as bigint),
          dataPath: pathIn(treeD, [2, 2, 2, 2], node),
          parents: (PARENTS[node] as number[]).map((parent) => ({
            column: bytesOf(columns[parent] as bigint[]),
            path: pathIn(treeC, arities, parent),
          })),
          replicaPath: pathIn(treeR, arities, node),
          columnPath: pathIn(treeC, arities, node),
        }
      }),
    }
  }

  const shape = gadgetShape((cs) => synthesizePorep(cs, parameters))

  it('holds', async () => {
    expect(await firstFailure(shape, porepWitness(input(), arities))).toBeUndefined()
  })

  it('fails where something is wrong', async () => {
    const good = input()
    const [first, second] = good.challenges as [(typeof good.challenges)[0], (typeof good.challenges)[0]]
    const wrong = (challenge: Partial<typeof first>): CompactWitness =>
      porepWitness({ ...good, challenges: [first, { ...second, ...challenge }] }, arities)
    // The comparison with a root is a row of the challenge; that of a parent's is one of the parent.
    expect(await firstFailure(shape, wrong({ dataLeaf: damaged(second.dataLeaf) }))).toBe('porep-challenge')
    expect(await firstFailure(shape, wrong({ node: 7 }))).toBe('porep-challenge')
    const [parent, ...others] = second.parents as [(typeof second.parents)[0]]
    const parents = [{ ...parent, column: damaged(parent.column) }, ...others]
    expect(await firstFailure(shape, wrong({ parents }))).toBe('porep-parent')
  })
})

describe('a SnapDeals partition', () => {
  const arities = [8, 4]
  const highBits = [1, 2, 3, 1, 1, 1]
  const parameters = { nodeBits: 5, partitionBits: 1, apexBits: 2, challenges: 3, highBits, arities }
  const partition = 1
  /** The bit for two high bits. */
  const hSelect = 2

  function input(): SnapPartitionInput {
    const [old, data] = [elements(1n, 32), elements(500n, 32)]
    const [commC] = elements(900n, 1) as [bigint]
    const treeD = treeOf(data, [2, 2, 2, 2, 2], pair)
    const treeOld = treeOf(old, arities, poseidonHash)
    const rootOld = treeOld.at(-1)?.[0] as bigint
    const commDNew = treeD.at(-1)?.[0] as bigint
    const commROld = poseidonHash([commC, rootOld])
    const phi = snapRandomness(commDNew, commROld)
    const replica = old.map((leaf, node) =>
      frAdd(leaf, frMul(data[node] as bigint, snapRandomness(phi, BigInt(node >> 3)))),
    )
    const treeNew = treeOf(replica, arities, poseidonHash)
    const rootNew = treeNew.at(-1)?.[0] as bigint
    const commRNew = poseidonHash([commC, rootNew])
    const digest = snapRandomness(commRNew, BigInt(partition))
    const apexLeafs = (treeD[2] as bigint[]).slice(4, 8)
    return {
      partition,
      hSelect,
      commROld: frToBytes(commROld),
      commDNew: frToBytes(commDNew),
      commRNew: frToBytes(commRNew),
      commC: frToBytes(commC),
      rootROld: frToBytes(rootOld),
      rootRNew: frToBytes(rootNew),
      apexLeafs: bytesOf(apexLeafs),
      partitionPath: frToBytes(treeD[4]?.[0] as bigint),
      challenges: [0n, 1n, 2n].map((i) => {
        const node = Number((digest >> (4n * i)) & 15n) + 16 * partition
        return {
          leafOld: frToBytes(old[node] as bigint),
          leafData: frToBytes(data[node] as bigint),
          siblingsOld: pathIn(treeOld, arities, node).siblings,
          siblingsNew: pathIn(treeNew, arities, node).siblings,
          siblingsData: pathIn(treeD, [2, 2], node).siblings,
        }
      }),
    }
  }

  const shape = gadgetShape((cs) => synthesizeSnap(cs, parameters))

  it('holds', async () => {
    expect(await firstFailure(shape, snapWitness(input(), parameters))).toBeUndefined()
  })

  it('fails where something is wrong', async () => {
    const good = input()
    const wrong = (change: Partial<SnapPartitionInput>): CompactWitness =>
      snapWitness({ ...good, ...change }, parameters)
    expect(await firstFailure(shape, wrong({ commC: damaged(good.commC) }))).toBe('winning-2k')
    expect(await firstFailure(shape, wrong({ apexLeafs: damaged(good.apexLeafs) }))).toBe('snap-apex')
    expect(await firstFailure(shape, wrong({ hSelect: 1 }))).toBe('snap-challenge')
    const [challenge, ...others] = good.challenges as [(typeof good.challenges)[0]]
    const challenges = [{ ...challenge, leafOld: damaged(challenge.leafOld) }, ...others]
    expect(await firstFailure(shape, wrong({ challenges }))).toBe('snap-challenge')
  })
})
