/** Witnesses of PoRep and SnapDeals on bigints, in the order that the circuits document: the slow, plain truth. */
import type { CompressionPlan } from '../../src/circuit/gadgets/sha256-bits.ts'
import { expandParents } from '../../src/circuit/porep/label.ts'
import { customTag } from '../../src/circuit/poseidon/constants.ts'
import { poseidonHash } from '../../src/circuit/poseidon/hash.ts'
import type { CompactWitness } from '../../src/circuit/shape.ts'
import type { SnapParameters } from '../../src/circuit/snap/snap-parameters.ts'
import { FR_BYTES, FR_MODULUS, frAdd, frFromBytes, frMul, frToBytes } from '../../src/field/fr.ts'
import { compactWitness } from './circuits.ts'
import type { PorepPartitionInput, SnapPartitionInput, TreePath } from './seal-inputs.ts'
import { constantForm, ELEMENT_FORMS, fillSha256, planSha256, variableForms } from './sha256-bits.ts'

const FIELD_BITS = 255
const PACKED_BITS = 254

class Plans {
  readonly pair: CompressionPlan[] = planSha256([...ELEMENT_FORMS, ...ELEMENT_FORMS])
  readonly label: CompressionPlan[] = planSha256([
    ...ELEMENT_FORMS,
    constantForm(1),
    ...variableForms(2),
    ...Array.from({ length: 5 }, () => constantForm(0)),
    ...Array.from({ length: 37 }, () => ELEMENT_FORMS).flat(),
  ])
}

let plans: Plans | undefined

/** Collects what travels, in order of allocation. */
class WitnessWriter {
  readonly inputs: bigint[] = []
  readonly bits: number[] = []
  readonly wide: bigint[] = []
  readonly plans: Plans

  constructor() {
    plans ??= new Plans()
    this.plans = plans
  }

  /** Bits of a number, the lowest first. */
  number(value: bigint, bits: number): void {
    for (let i = 0n; i < bits; i++) this.bits.push(Number((value >> i) & 1n))
  }

  scalars(bytes: Uint8Array): bigint[] {
    const values = Array.from({ length: bytes.length / FR_BYTES }, (_, i) => frFromBytes(bytes, FR_BYTES * i))
    this.wide.push(...values)
    return values
  }

  scalar(bytes: Uint8Array): bigint {
    return this.scalars(bytes)[0] as bigint
  }

  /** The SHA-256 of words as a field element. */
  sha256(plan: readonly CompressionPlan[], message: readonly number[]): bigint {
    const digest = fillSha256(plan, message, (bit) => this.bits.push(bit))
    const bytes = new Uint8Array(32)
    const view = new DataView(bytes.buffer)
    for (const [i, word] of digest.entries()) view.setUint32(4 * i, word)
    bytes[31] = (bytes[31] as number) & 0x3f
    return frFromBytes(bytes)
  }

  /** A hash of two, with the bits of both. */
  pair(left: bigint, right: bigint): bigint {
    this.number(left, FIELD_BITS)
    this.number(right, FIELD_BITS)
    return this.sha256(this.plans.pair, [...messageWords(left), ...messageWords(right)])
  }

  witness(): CompactWitness {
    return compactWitness(this)
  }
}

function messageWords(element: bigint): number[] {
  const view = new DataView(frToBytes(element).buffer)
  return Array.from({ length: 8 }, (_, i) => view.getUint32(4 * i))
}

/** Siblings with the element at a position. */
function inserted(element: bigint, position: number, siblings: readonly bigint[]): bigint[] {
  return siblings.toSpliced(position, 0, element)
}

/** A path with its index and siblings. @returns the root */
function writePath(
  w: WitnessWriter,
  leaf: bigint,
  { index, siblings }: TreePath,
  arities: readonly number[],
  hash: (children: readonly bigint[]) => bigint,
): bigint {
  let [current, rest, at] = [leaf, index, 0]
  for (const arity of arities) {
    const position = rest % arity
    w.number(BigInt(position), Math.log2(arity))
    const others = w.scalars(siblings.subarray(at, at + FR_BYTES * (arity - 1)))
    current = hash(inserted(current, position, others))
    rest = Math.floor(rest / arity)
    at += FR_BYTES * (arity - 1)
  }
  w.inputs.push(BigInt(index))
  return current
}

export function porepWitness(input: PorepPartitionInput, arities: readonly number[]): CompactWitness {
  const w = new WitnessWriter()
  const replicaId = w.scalar(input.replicaId)
  w.number(replicaId, FIELD_BITS)
  const [commD, commR] = [w.scalar(input.commD), w.scalar(input.commR)]
  w.inputs.push(replicaId, commD, commR)
  w.scalar(input.commRLast)
  w.scalar(input.commC)
  const pair = ([left, right]: readonly bigint[]): bigint => w.pair(left as bigint, right as bigint)

  for (const challenge of input.challenges) {
    const levels = Math.log2(arities.reduce((leaves, arity) => leaves * arity))
    const dataLeaf = w.scalar(challenge.dataLeaf)
    writePath(w, dataLeaf, challenge.dataPath, new Array<number>(levels).fill(2), pair)
    const columns = challenge.parents.map(({ column, path }) => {
      const labels = w.scalars(column)
      writePath(w, poseidonHash(labels), path, arities, poseidonHash)
      return labels
    })
    w.number(BigInt(challenge.node), 64)
    w.inputs.push(BigInt(challenge.node))
    const labels: bigint[] = []
    for (let layer = 1; layer <= (columns[0]?.length as number); layer++) {
      const parents = columns.flatMap((column, i) => {
        if (i < 6) return [column[layer - 1] as bigint]
        return layer > 1 ? [column[layer - 2] as bigint] : []
      })
      for (const parent of parents) w.number(parent, FIELD_BITS)
      const header = [...messageWords(replicaId), layer, 0, challenge.node, 0, 0, 0, 0, 0]
      labels.push(w.sha256(w.plans.label, [...header, ...expandParents(parents).flatMap(messageWords)]))
    }
    writePath(w, frAdd(labels.at(-1) as bigint, dataLeaf), challenge.replicaPath, arities, poseidonHash)
    writePath(w, poseidonHash(labels), challenge.columnPath, arities, poseidonHash)
  }
  return w.witness()
}

export function snapWitness(input: SnapPartitionInput, parameters: SnapParameters): CompactWitness {
  const { partitionBits, highBits, apexBits, nodeBits } = parameters
  const w = new WitnessWriter()
  const packed = BigInt(input.partition) | (BigInt(input.hSelect) << BigInt(partitionBits))
  w.number(packed, partitionBits + highBits.length)
  const comms = [input.commROld, input.commDNew, input.commRNew].map((comm) => w.scalar(comm))
  w.inputs.push(packed, ...comms)
  w.scalar(input.commC)
  w.scalar(input.rootROld)
  w.scalar(input.rootRNew)
  let row = w.scalars(input.apexLeafs)
  const partitionPath = w.scalars(input.partitionPath)
  while (row.length > 1) {
    row = Array.from({ length: row.length / 2 }, (_, i) => w.pair(row[2 * i] as bigint, row[2 * i + 1] as bigint))
  }
  let current = row[0] as bigint
  for (const [i, sibling] of partitionPath.entries()) {
    current = w.pair(...(inserted(current, (input.partition >> i) & 1, [sibling]) as [bigint, bigint]))
  }

  const bits = nodeBits - partitionBits
  const perDigest = Math.floor(PACKED_BITS / bits)
  const digests = Math.ceil(input.challenges.length / perDigest)
  const nodes: number[] = []
  for (let j = 0; j < digests; j++) {
    const digest = snapRandomness(comms[2] as bigint, BigInt(digests * input.partition + j))
    w.number(digest, FIELD_BITS)
    for (let i = 0; i < perDigest && nodes.length < input.challenges.length; i++) {
      nodes.push(Number((digest >> BigInt(bits * i)) & ((1n << BigInt(bits)) - 1n)))
    }
  }
  for (const [c, challenge] of input.challenges.entries()) {
    w.scalar(challenge.leafOld)
    let data = w.scalar(challenge.leafData)
    w.scalars(challenge.siblingsOld)
    w.scalars(challenge.siblingsNew)
    const siblings = w.scalars(challenge.siblingsData)
    if (siblings.length !== bits - apexBits) throw new Error(`${siblings.length} siblings up to the apex`)
    for (const [i, sibling] of siblings.entries()) {
      data = w.pair(...(inserted(data, ((nodes[c] as number) >> i) & 1, [sibling]) as [bigint, bigint]))
    }
  }
  return w.witness()
}

/** SnapDeals' hash of two. */
export function snapRandomness(a: bigint, b: bigint): bigint {
  return poseidonHash([a, b], customTag(1))
}

/** SHA-256 of two field elements, cut to 254 bits. */
export function sha256Pair(left: bigint, right: bigint): bigint {
  return new WitnessWriter().pair(left, right)
}

/** All levels of a tree, the leaves first. */
export function treeOf(
  leaves: readonly bigint[],
  arities: readonly number[],
  hash: (children: readonly bigint[]) => bigint,
): bigint[][] {
  const levels = [[...leaves]]
  for (const arity of arities) {
    const below = levels.at(-1) as bigint[]
    levels.push(Array.from({ length: below.length / arity }, (_, i) => hash(below.slice(arity * i, arity * (i + 1)))))
  }
  return levels
}

export function pathIn(tree: readonly (readonly bigint[])[], arities: readonly number[], index: number): TreePath {
  const siblings: bigint[] = []
  let at = index
  for (const [level, arity] of arities.entries()) {
    const group = Math.floor(at / arity) * arity
    siblings.push(...(tree[level] as bigint[]).slice(group, group + arity).toSpliced(at - group, 1))
    at = Math.floor(at / arity)
  }
  return { index, siblings: Uint8Array.from(siblings.flatMap((sibling) => [...frToBytes(sibling)])) }
}

/** Field elements from a seed. */
export function elements(seed: bigint, count: number): bigint[] {
  return Array.from({ length: count }, (_, i) => frMul((seed + BigInt(i)) ** 5n % FR_MODULUS, 0x9e37_79b9_7f4a_7c15n))
}
