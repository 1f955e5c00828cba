/** Sizes of PoRep circuits and the form of their vanilla proofs (`filecoin-proofs`' constants; `stacked::Proof`). */
import { type CircuitId, parseCircuitId, SECTOR_SIZE_BYTES } from '../../circuit/circuit-id.ts'
import { DRG_PARENTS, EXPANDER_PARENTS, porepParameters } from '../../circuit/porep/porep-circuit.ts'
import { sectorNodes, upperLevels } from '../../circuit/sector-tree.ts'
import { type MerkleLayout, merkleLayout } from '../merkle-record.ts'
import {
  listLayout,
  offsetOf,
  plainLayout,
  type RecordLayout,
  scalarLayout,
  structLayout,
  u32Layout,
  u64Layout,
} from '../records.ts'

/** Parents of a node: 6 in its own layer, then 8 in the layer below. */
export const PARENTS: number = DRG_PARENTS + EXPANDER_PARENTS

/** Parents that a label hashes: those of the node, over and over. */
export const LABEL_PARENTS = 37

/** Where the parts of a column with its inclusion proof lie. */
export interface ColumnPlace {
  /** Path of the column proof within the challenge's proof, for errors. */
  readonly field: string
  readonly index: number
  /** L labels. */
  readonly rows: number
  readonly inclusion: number
}

/** Where the parts of a labeling or encoding proof lie. */
export interface LabelingPlace {
  readonly field: string
  /** 37 labels. */
  readonly parents: number
  readonly layerIndex: number
  readonly node: number
}

/** The vanilla proof of one challenge. Offsets are from its start. */
export interface ChallengeLayout {
  readonly record: RecordLayout
  /** Of TreeD, and of TreeC and TreeR. */
  readonly binary: MerkleLayout
  readonly octal: MerkleLayout
  readonly data: number
  readonly replica: number
  readonly own: ColumnPlace
  /** In the order of parents. */
  readonly parents: readonly ColumnPlace[]
  /** One a layer. */
  readonly labels: readonly LabelingPlace[]
  readonly encoding: LabelingPlace
}

export interface PorepGeometry {
  readonly circuitId: CircuitId
  readonly sectorBytes: number
  /** Leaves of the sector's trees, a power of two. */
  readonly nodes: number
  readonly layers: number
  /** Of an interactive or synthetic proof. */
  readonly partitions: number
  /** Of each partition. */
  readonly challenges: number
  readonly dataLevels: number
  readonly arities: readonly number[]
  readonly challenge: ChallengeLayout
}

const geometries = new Map<CircuitId, PorepGeometry>()

/** Geometry of a PoRep circuit, made once. */
export function porepGeometry(circuitId: CircuitId): PorepGeometry {
  let geometry = geometries.get(circuitId)
  if (geometry === undefined) {
    geometry = makeGeometry(circuitId)
    geometries.set(circuitId, geometry)
  }
  return geometry
}

function makeGeometry(circuitId: CircuitId): PorepGeometry {
  const { family, size } = parseCircuitId(circuitId)
  if (family !== 'porep') throw new Error(`${circuitId} is not a PoRep circuit`)
  const { layers, challenges, dataLevels, arities } = porepParameters(size)
  return {
    circuitId,
    sectorBytes: SECTOR_SIZE_BYTES[size],
    nodes: sectorNodes(size),
    layers,
    partitions: layers > 2 ? 10 : 1,
    challenges,
    dataLevels,
    arities,
    challenge: challengeLayout(layers, dataLevels, arities, upperLevels(size)),
  }
}

function challengeLayout(
  layers: number,
  dataLevels: number,
  arities: readonly number[],
  levels: 0 | 1 | 2,
): ChallengeLayout {
  const binary = merkleLayout(new Array<number>(dataLevels).fill(2), 0)
  const octal = merkleLayout(arities, levels)
  const column = structLayout({
    column: structLayout({ index: u32Layout, rows: listLayout(scalarLayout, layers) }),
    inclusion_proof: octal.record,
  })
  const labeling = structLayout({
    parents: listLayout(scalarLayout, LABEL_PARENTS),
    layer_index: u32Layout,
    node: u64Layout,
  })
  const record = structLayout({
    comm_d_proofs: binary.record,
    comm_r_last_proof: octal.record,
    replica_column_proofs: structLayout({
      c_x: column,
      drg_parents: listLayout(column, DRG_PARENTS),
      exp_parents: listLayout(column, EXPANDER_PARENTS),
    }),
    labeling_proofs: listLayout(labeling, layers),
    encoding_proof: labeling,
  })
  const columnPlace = (...steps: (string | number)[]): ColumnPlace => {
    const at = offsetOf(record, 'replica_column_proofs', ...steps)
    const [name, number] = steps
    return {
      field: `replica_column_proofs.${name}${number === undefined ? '' : `[${number}]`}`,
      index: at + offsetOf(column, 'column', 'index'),
      rows: at + offsetOf(column, 'column', 'rows', 0),
      inclusion: at + offsetOf(column, 'inclusion_proof'),
    }
  }
  const labelingPlace = (field: string, at: number): LabelingPlace => ({
    field,
    parents: at + offsetOf(labeling, 'parents', 0),
    layerIndex: at + offsetOf(labeling, 'layer_index'),
    node: at + offsetOf(labeling, 'node'),
  })
  return {
    record,
    binary,
    octal,
    data: offsetOf(record, 'comm_d_proofs'),
    replica: offsetOf(record, 'comm_r_last_proof'),
    own: columnPlace('c_x'),
    parents: Array.from({ length: PARENTS }, (_, i) =>
      i < DRG_PARENTS ? columnPlace('drg_parents', i) : columnPlace('exp_parents', i - DRG_PARENTS),
    ),
    labels: Array.from({ length: layers }, (_, i) =>
      labelingPlace(`labeling_proofs[${i}]`, offsetOf(record, 'labeling_proofs', i)),
    ),
    encoding: labelingPlace('encoding_proof', offsetOf(record, 'encoding_proof')),
  }
}

/** What stands in a commit-phase-1 output beside the vanilla proofs; in bincode after them, in this order. */
export const SEAL_HEAD: RecordLayout = structLayout({
  comm_r: scalarLayout,
  comm_d: scalarLayout,
  replica_id: scalarLayout,
  seed: plainLayout,
  ticket: plainLayout,
})
