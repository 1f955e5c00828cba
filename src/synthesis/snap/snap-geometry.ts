/** Sizes of SnapDeals circuits and the form of their vanilla proofs (`PartitionProof` of storage-proofs-update). */
import { type CircuitId, parseCircuitId } from '../../circuit/circuit-id.ts'
import { upperLevels } from '../../circuit/sector-tree.ts'
import { type SnapParameters, snapParameters } from '../../circuit/snap/snap-parameters.ts'
import { type MerkleLayout, merkleLayout } from '../merkle-record.ts'
import { listLayout, offsetOf, type RecordLayout, scalarLayout, structLayout } from '../records.ts'

/** Sizes of a SnapDeals circuit, and where the parts of its vanilla proof lie. */
export interface SnapGeometry {
  readonly circuitId: CircuitId
  readonly parameters: SnapParameters
  /** Leaves of the sector's trees, a power of two. */
  readonly nodes: number
  readonly partitions: number
  /** Of each partition. */
  readonly challenges: number
  readonly apexLeafs: number
  /** Levels of TreeD below the apex leafs. */
  readonly apexLevel: number
  /** How many high bits of a challenge choose its randomness: what the chain verifies with. */
  readonly highBits: number
  /** The bit that stands for them, as a number of six bits: that of the first equal count. */
  readonly hSelect: number
  readonly proof: PartitionLayout
}

/** The vanilla proof of one partition. Offsets are from its start. */
export interface PartitionLayout {
  readonly record: RecordLayout
  readonly commC: number
  /** The first of them. */
  readonly apexLeafs: number
  /** The first challenge's proof; they follow each other. */
  readonly challenges: number
  readonly challengeBytes: number
  /** From the start of a challenge's proof. */
  readonly rOld: number
  readonly dNew: number
  readonly rNew: number
  /** Of TreeD, and of TreeR. */
  readonly binary: MerkleLayout
  readonly octal: MerkleLayout
}

/** What the bits of h select stand for has the default in fourth place (`hs` in storage-proofs-update's constants). */
const DEFAULT_HIGH_BITS = 3

const geometries = new Map<CircuitId, SnapGeometry>()

/** Geometry of a SnapDeals circuit, made once. */
export function snapGeometry(circuitId: CircuitId): SnapGeometry {
  let geometry = geometries.get(circuitId)
  if (geometry === undefined) {
    const { family, size } = parseCircuitId(circuitId)
    if (family !== 'snap') throw new Error(`${circuitId} is not a SnapDeals circuit`)
    geometry = makeGeometry(circuitId, snapParameters(size), upperLevels(size))
    geometries.set(circuitId, geometry)
  }
  return geometry
}

function makeGeometry(circuitId: CircuitId, parameters: SnapParameters, levels: 0 | 1 | 2): SnapGeometry {
  const { nodeBits, partitionBits, apexBits, challenges } = parameters
  const highBits = parameters.highBits[DEFAULT_HIGH_BITS] as number
  const apexLeafs = 2 ** apexBits
  return {
    circuitId,
    parameters,
    nodes: 2 ** nodeBits,
    partitions: 2 ** partitionBits,
    challenges,
    apexLeafs,
    apexLevel: nodeBits - partitionBits - apexBits,
    highBits,
    hSelect: 2 ** parameters.highBits.indexOf(highBits),
    proof: partitionLayout(parameters, apexLeafs, levels),
  }
}

function partitionLayout(
  { nodeBits, arities, challenges }: SnapParameters,
  apexLeafs: number,
  levels: 0 | 1 | 2,
): PartitionLayout {
  const binary = merkleLayout(new Array<number>(nodeBits).fill(2), 0)
  const octal = merkleLayout(arities, levels)
  const challenge = structLayout({
    proof_r_old: octal.record,
    proof_d_new: binary.record,
    proof_r_new: octal.record,
  })
  const record = structLayout({
    comm_c: scalarLayout,
    apex_leafs: listLayout(scalarLayout, apexLeafs),
    challenge_proofs: listLayout(challenge, challenges),
  })
  return {
    record,
    commC: offsetOf(record, 'comm_c'),
    apexLeafs: offsetOf(record, 'apex_leafs', 0),
    challenges: offsetOf(record, 'challenge_proofs', 0),
    challengeBytes: challenge.bytes,
    rOld: offsetOf(challenge, 'proof_r_old'),
    dNew: offsetOf(challenge, 'proof_d_new'),
    rNew: offsetOf(challenge, 'proof_r_new'),
    binary,
    octal,
  }
}
