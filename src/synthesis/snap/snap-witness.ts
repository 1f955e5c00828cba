/**
 * The compact witness of a SnapDeals partition, in the order in which `EmptySectorUpdateCircuit` allocates: see
 * `circuit/snap/snap-circuit.ts`.
 *
 * Nearly all of it is bits of SHA-256: 86 · 19 + 127 + 4 hashes of two compressions for a 32 GiB partition, 10 MB.
 */
import type { CompactWitness } from '../../circuit/shape.ts'
import type { BitWriter } from '../bit-writer.ts'
import { GrowingWitness, type WitnessBytes } from '../growing-witness.ts'
import { pathSiblings, Sha256PathWriter } from '../path-witness.ts'
import { packedSelectors, SNAP_INPUTS, snapPublicInputs } from './public-inputs.ts'
import { digestsPerPartition, type SnapChallenges } from './snap-challenges.ts'
import type { SnapGeometry } from './snap-geometry.ts'
import type { SnapPartition } from './snap-partition.ts'

const SCALAR_BYTES = 32
const SCALAR_BITS = 255
/** Commitments and roots. */
const HEADER_SCALARS = 6
/** Of the old replica and of the new data; the third one is derived. */
const CHALLENGE_LEAFS = 2

/**
 * Writes witnesses of one circuit. Holds the plans of its compressions (a few milliseconds to make); used from one
 * thread.
 */
export class SnapWitnessWriter {
  readonly geometry: SnapGeometry
  readonly #hashes = new Sha256PathWriter()
  readonly #pair = new Uint8Array(2 * SCALAR_BYTES)

  constructor(geometry: SnapGeometry) {
    this.geometry = geometry
  }

  /** Lengths of the arrays of a witness, in bytes. They follow from the circuit alone. */
  sizes(): WitnessBytes {
    const { challenges, apexLeafs, apexLevel, parameters, proof } = this.geometry
    const { partitionBits, highBits } = parameters
    const hashes = apexLeafs - 1 + partitionBits + challenges * apexLevel
    const selectors = partitionBits + highBits.length
    const bits = selectors + hashes * this.#hashes.pairBits + digestsPerPartition(parameters) * SCALAR_BITS
    const challenge = CHALLENGE_LEAFS + 2 * pathSiblings(proof.octal) + apexLevel
    return {
      inputsBytes: SCALAR_BYTES * (1 + SNAP_INPUTS),
      bitsBytes: 8 * Math.ceil(bits / 64),
      wideBytes: SCALAR_BYTES * (HEADER_SCALARS + apexLeafs + partitionBits + challenges * challenge),
    }
  }

  /** A witness to be filled challenge by challenge, in order, from a partition that was checked. */
  begin(partition: SnapPartition, challenges: SnapChallenges): SnapWitness {
    return new SnapWitness(this, partition, challenges)
  }

  /** Appends the bits of the tree over the apex leafs, and replaces its leafs: the first becomes the root. */
  writeApexTree(row: Uint8Array, out: BitWriter): void {
    for (let { length } = row; length > SCALAR_BYTES; length /= 2) {
      for (let from = 0; from < length; from += 2 * SCALAR_BYTES) {
        this.#hashes.writePair(row, from, out, row, from / 2)
      }
    }
  }

  /**
   * Appends the bits of the hashes along some levels of a path in TreeD.
   * @param current the node below them; replaced by the one above
   * @param index of that node; its bits say on which side it is
   * @param proof offset of the inclusion proof in `bytes`
   */
  writePath(
    current: Uint8Array,
    index: number,
    bytes: Uint8Array,
    proof: number,
    levels: SnapGeometry['proof']['binary']['levels'],
    out: BitWriter,
  ): void {
    const pair = this.#pair
    let rest = index
    for (const { siblings } of levels) {
      const right = rest & 1
      rest >>>= 1
      pair.set(current, right * SCALAR_BYTES)
      pair.set(bytes.subarray(proof + siblings, proof + siblings + SCALAR_BYTES), (1 - right) * SCALAR_BYTES)
      this.#hashes.writePair(pair, 0, out, current, 0)
    }
  }
}

/** A partition's witness in the making, challenge by challenge. */
export class SnapWitness {
  readonly #writer: SnapWitnessWriter
  readonly #partition: SnapPartition
  readonly #challenges: SnapChallenges
  readonly #witness: GrowingWitness

  constructor(writer: SnapWitnessWriter, partition: SnapPartition, challenges: SnapChallenges) {
    this.#writer = writer
    this.#partition = partition
    this.#challenges = challenges
    this.#witness = new GrowingWitness(writer.sizes())
    this.#header()
  }

  /** All that comes before the challenges. */
  #header(): void {
    const { geometry } = this.#writer
    const { apexLeafs, parameters, proof: layout } = geometry
    const { proof, partition, commitments } = this.#partition
    const witness = this.#witness
    const { bits } = witness
    witness.setInputs(snapPublicInputs(geometry, commitments, partition))
    bits.put(packedSelectors(geometry, partition), parameters.partitionBits + parameters.highBits.length)
    witness.append(commitments.commROld)
    witness.append(commitments.commDNew)
    witness.append(commitments.commRNew)
    witness.append(proof, layout.commC)
    witness.append(proof, layout.challenges + layout.rOld + layout.octal.root)
    witness.append(proof, layout.challenges + layout.rNew + layout.octal.root)
    witness.append(proof, layout.apexLeafs, apexLeafs * SCALAR_BYTES)
    const first = layout.challenges + layout.dNew
    const partitionPath = layout.binary.levels.slice(parameters.nodeBits - parameters.partitionBits)
    for (const { siblings } of partitionPath) witness.append(proof, first + siblings)

    const row = proof.slice(layout.apexLeafs, layout.apexLeafs + apexLeafs * SCALAR_BYTES)
    this.#writer.writeApexTree(row, bits)
    this.#writer.writePath(row.subarray(0, SCALAR_BYTES), partition, proof, first, partitionPath, bits)
    const { digests } = this.#challenges
    for (let at = 0; at < digests.length; at += SCALAR_BYTES) bits.putScalar(digests, at)
  }

  /** Fills in the next challenge. */
  write(challenge: number): void {
    const { apexLevel, proof: layout } = this.#writer.geometry
    const { proof } = this.#partition
    const witness = this.#witness
    const base = layout.challenges + challenge * layout.challengeBytes
    const data = base + layout.dNew
    const belowApex = layout.binary.levels.slice(0, apexLevel)
    witness.append(proof, base + layout.rOld + layout.octal.leaf)
    witness.append(proof, data + layout.binary.leaf)
    for (const replica of [layout.rOld, layout.rNew]) witness.appendSiblings(layout.octal, proof, base + replica)
    for (const { siblings } of belowApex) witness.append(proof, data + siblings)
    const leaf = proof.slice(data + layout.binary.leaf, data + layout.binary.leaf + SCALAR_BYTES)
    const node = this.#challenges.nodes[challenge] as number
    this.#writer.writePath(leaf, node, proof, data, belowApex, witness.bits)
  }

  /** @throws {Error} not all challenges were written */
  finish(): CompactWitness {
    return this.#witness.finish()
  }
}
