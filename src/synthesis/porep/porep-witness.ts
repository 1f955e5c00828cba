/**
 * The compact witness of a PoRep partition, in the order in which `StackedCircuit` allocates: see
 * `circuit/porep/porep-circuit.ts`.
 *
 * Nearly all of it is bits of SHA-256: 18 · (11 · 20 + 30 · 2) compressions of some 26,000 bits for a 32 GiB partition,
 * 16 MB.
 */
import { DRG_PARENTS } from '../../circuit/porep/porep-circuit.ts'
import type { CompactWitness } from '../../circuit/shape.ts'
import type { BitWriter } from '../bit-writer.ts'
import { GrowingWitness, type WitnessBytes } from '../growing-witness.ts'
import { pathIndexBits, pathSiblings, Sha256PathWriter, wordsToBytes, writeIndexBits } from '../path-witness.ts'
import {
  bitsOfPlan,
  constantForm,
  ELEMENT_FORM,
  type FlatPlan,
  flatPlan,
  INITIAL_FORM,
  initialState,
  paddingWords,
  VARIABLE_STATE_FORM,
  writeCompression,
} from '../sha256-witness.ts'
import { fillLabelPreimage, LABEL_PREIMAGE_BYTES, labelParentOffset } from './label-preimage.ts'
import { PARENTS, type PorepGeometry } from './porep-geometry.ts'
import { NODES_PER_CHALLENGE, type PorepPartition } from './porep-partition.ts'
import { INPUTS_PER_CHALLENGE, porepPublicInputs } from './public-inputs.ts'

const SCALAR_BYTES = 32
const SCALAR_BITS = 255
const NODE_BITS = 64
const BLOCK_BYTES = 64
/** A label hashes 19 and a half blocks; the last one holds the last parent and the padding. */
const LABEL_BLOCKS = 20
const LAST_BLOCK = BLOCK_BYTES * (LABEL_BLOCKS - 1)

/**
 * Writes witnesses of one circuit. Holds the plans of its compressions (a few milliseconds to make); used from one
 * thread.
 */
export class PorepWitnessWriter {
  readonly #geometry: PorepGeometry
  readonly #paths = new Sha256PathWriter()
  /** The first compression of a label. The layer is a constant, and only ever added: any one makes the same plan. */
  readonly #first: FlatPlan
  readonly #middle: FlatPlan
  readonly #last: FlatPlan
  readonly #message: Uint8Array

  constructor(geometry: PorepGeometry) {
    this.#geometry = geometry
    const padding = paddingWords(8, 8 * LABEL_PREIMAGE_BYTES)
    const [variable] = VARIABLE_STATE_FORM as [(typeof VARIABLE_STATE_FORM)[number]]
    const header = [constantForm(1), variable, variable, ...[0, 0, 0, 0, 0].map(constantForm)]
    this.#first = flatPlan(INITIAL_FORM, [...ELEMENT_FORM, ...header])
    this.#middle = flatPlan(VARIABLE_STATE_FORM, [...ELEMENT_FORM, ...ELEMENT_FORM])
    this.#last = flatPlan(VARIABLE_STATE_FORM, [...ELEMENT_FORM, ...padding.map(constantForm)])
    this.#message = new Uint8Array(LABEL_PREIMAGE_BYTES + 4 * padding.length)
    this.#message.set(wordsToBytes(padding), LABEL_PREIMAGE_BYTES)
  }

  /** Lengths of the arrays of a witness, in bytes. They follow from the circuit alone. */
  sizes(): WitnessBytes {
    const { layers, challenges, dataLevels, challenge } = this.#geometry
    const siblings = pathSiblings(challenge.octal)
    const wide = 1 + dataLevels + PARENTS * (layers + siblings) + 2 * siblings
    const label = bitsOfPlan(this.#first) + (LABEL_BLOCKS - 2) * bitsOfPlan(this.#middle) + bitsOfPlan(this.#last)
    const parents = SCALAR_BITS * (DRG_PARENTS + (layers - 1) * PARENTS)
    const indices = (PARENTS + 2) * pathIndexBits(challenge.octal)
    const bits = dataLevels * this.#paths.levelBits + indices + NODE_BITS + parents + layers * label
    return {
      inputsBytes: SCALAR_BYTES * (4 + challenges * INPUTS_PER_CHALLENGE),
      bitsBytes: 8 * Math.ceil((SCALAR_BITS + challenges * bits) / 64),
      wideBytes: SCALAR_BYTES * (5 + challenges * wide),
    }
  }

  /** A witness to be filled challenge by challenge, in order, from a partition that was checked. */
  begin(partition: PorepPartition): PorepWitness {
    return new PorepWitness(this, this.#geometry, partition)
  }

  /** Appends the bits of one challenge. */
  writeBits({ nodes, proofs, commitments }: PorepPartition, challenge: number, out: BitWriter): void {
    const { layers, challenge: layout } = this.#geometry
    const base = challenge * layout.record.bytes
    this.#paths.writePath(layout.binary, proofs, base + layout.data, out)
    for (const { inclusion } of layout.parents) writeIndexBits(layout.octal, proofs, base + inclusion, out)
    const node = nodes[challenge * NODES_PER_CHALLENGE] as number
    out.put(node, 32)
    out.put(0, NODE_BITS - 32)
    const message = this.#message
    for (let layer = 1; layer <= layers; layer++) {
      fillLabelPreimage(message, this.#geometry, proofs, base, commitments.replicaId, layer, node)
      const parents = layer === 1 ? DRG_PARENTS : PARENTS
      for (let i = 0; i < parents; i++) out.putScalar(message, labelParentOffset(i))
      const state = initialState()
      writeCompression(this.#first, state, message, 0, out)
      for (let block = BLOCK_BYTES; block < LAST_BLOCK; block += BLOCK_BYTES) {
        writeCompression(this.#middle, state, message, block, out)
      }
      writeCompression(this.#last, state, message, LAST_BLOCK, out)
    }
    writeIndexBits(layout.octal, proofs, base + layout.replica, out)
    writeIndexBits(layout.octal, proofs, base + layout.own.inclusion, out)
  }
}

/** A partition's witness in the making, challenge by challenge. */
export class PorepWitness {
  readonly #writer: PorepWitnessWriter
  readonly #geometry: PorepGeometry
  readonly #partition: PorepPartition
  readonly #witness: GrowingWitness

  constructor(writer: PorepWitnessWriter, geometry: PorepGeometry, partition: PorepPartition) {
    this.#writer = writer
    this.#geometry = geometry
    this.#partition = partition
    this.#witness = new GrowingWitness(writer.sizes())
    this.#header()
  }

  #header(): void {
    const { commitments, nodes, proofs } = this.#partition
    const { replica, own, octal } = this.#geometry.challenge
    const witness = this.#witness
    witness.setInputs(porepPublicInputs(commitments, nodes))
    witness.append(commitments.replicaId)
    witness.bits.putScalar(commitments.replicaId, 0)
    witness.append(commitments.commD)
    witness.append(commitments.commR)
    witness.append(proofs, replica + octal.root)
    witness.append(proofs, own.inclusion + octal.root)
  }

  /** Fills in the next challenge. */
  write(challenge: number): void {
    const { layers, challenge: layout } = this.#geometry
    const { proofs } = this.#partition
    const witness = this.#witness
    const base = challenge * layout.record.bytes
    witness.append(proofs, base + layout.data + layout.binary.leaf)
    witness.appendSiblings(layout.binary, proofs, base + layout.data)
    for (const { rows, inclusion } of layout.parents) {
      witness.append(proofs, base + rows, layers * SCALAR_BYTES)
      witness.appendSiblings(layout.octal, proofs, base + inclusion)
    }
    witness.appendSiblings(layout.octal, proofs, base + layout.replica)
    witness.appendSiblings(layout.octal, proofs, base + layout.own.inclusion)
    this.#writer.writeBits(this.#partition, challenge, witness.bits)
  }

  /** @throws {Error} not all challenges were written */
  finish(): CompactWitness {
    return this.#witness.finish()
  }
}
