/**
 * The compact witness of a PoSt partition, in the order in which `FallbackPoStCircuit` allocates.
 *
 * Each sector of the circuit allocates comm_r_last, comm_c, comm_r, then for each challenge the leaf and for each level
 * of the path, from the leaf upward, the index bits (least significant first) and the siblings. Everything else
 * (insertions, hashes) is derived on the device. Public inputs of a sector: comm_r, then the number of each challenged
 * leaf.
 *
 * Because the levels' index bits, one after another, are the leaf's number, the bits of a challenge are that number's.
 */
import type { CompactWitness } from '../circuit/shape.ts'
import type { Run } from '../groth16/proving-device.ts'
import { inSlices } from './in-slices.ts'
import type { PostGeometry } from './post-geometry.ts'
import { type OpenPartition, vanillaProofView } from './post-partition.ts'
import { COMM_R_OFFSET, inclusionProofOffset, type VanillaLayout } from './vanilla-post.ts'

const SCALAR_BYTES = 32

/** Lengths of a partition's compact witness, in bytes. They follow from the circuit alone. */
export interface WitnessSizes {
  readonly inputsBytes: number
  readonly bitsBytes: number
  readonly wideBytes: number
}

/**
 * Sizes of the compact witness: a sector has 3 + challenges · (1 + siblings) wide scalars and challenges · nodeBits
 * bits; for wpost-32g 3 + 10 · 71 = 713 scalars and 300 bits, times 2,349 sectors: 53.6 MB and 88 KB.
 */
export function postWitnessSizes(geometry: PostGeometry): WitnessSizes {
  const { circuitSectors, circuitChallenges, nodeBits } = geometry
  const bits = circuitSectors * circuitChallenges * nodeBits
  return {
    inputsBytes: (1 + circuitSectors * (1 + circuitChallenges)) * SCALAR_BYTES,
    bitsBytes: Math.ceil(bits / 64) * 8,
    wideBytes: circuitSectors * wideScalars(geometry) * SCALAR_BYTES,
  }
}

/** Wide scalars of one sector of the circuit. */
function wideScalars({ circuitChallenges, arities }: PostGeometry): number {
  const siblings = arities.reduce((sum, arity) => sum + arity - 1, 0)
  return 3 + circuitChallenges * (1 + siblings)
}

/**
 * Fills a partition's compact witness from vanilla proofs that are well-formed. Missing sectors of a WindowPoSt are
 * repetitions of the last one, challenges included; the 66 pseudo-sectors of a WinningPoSt are the challenges of its
 * only sector.
 *
 * @returns arrays on SharedArrayBuffers
 * @throws `run.signal.reason` once aborted
 */
export async function fillPostWitness(partition: OpenPartition, run: Run): Promise<CompactWitness> {
  const { geometry, layout, sectors } = partition
  const winning = partition.input.kind === 'winning-post'
  const sizes = postWitnessSizes(geometry)
  const writer = new WitnessWriter(sizes)
  await inSlices(winning ? 1 : sectors, run, 1, (s) => {
    const proof = vanillaProofView(partition, s)
    const times = winning ? geometry.circuitSectors : 1
    for (let k = 0; k < times; k++) {
      writer.sector(layout, geometry, proof.bytes, proof.offset, proof.challenges, k * geometry.circuitChallenges)
    }
  })
  if (!winning && sectors < geometry.circuitSectors) writer.repeatLastSector(geometry, sectors)
  run.unit(1)
  return writer.witness
}

/** Appends to the three arrays of a witness. */
class WitnessWriter {
  readonly witness: { readonly inputs: Uint8Array; readonly bits: Uint8Array; readonly wide: Uint8Array }
  readonly #inputNumbers: DataView
  #input = 0
  #bit = 0
  #wide = 0

  constructor(sizes: WitnessSizes) {
    const shared = (bytes: number): Uint8Array => new Uint8Array(new SharedArrayBuffer(bytes))
    this.witness = { inputs: shared(sizes.inputsBytes), bits: shared(sizes.bitsBytes), wide: shared(sizes.wideBytes) }
    this.#inputNumbers = new DataView(this.witness.inputs.buffer)
    this.#inputValue(1)
  }

  /** One sector of the circuit: its commitments, and `circuitChallenges` inclusion proofs from number `first`. */
  sector(
    layout: VanillaLayout,
    geometry: PostGeometry,
    bytes: Uint8Array,
    offset: number,
    challenges: Uint32Array,
    first: number,
  ): void {
    this.#wideRange(bytes, offset + layout.commRLast, SCALAR_BYTES)
    this.#wideRange(bytes, offset + layout.commC, SCALAR_BYTES)
    this.#wideRange(bytes, offset + COMM_R_OFFSET, SCALAR_BYTES)
    this.witness.inputs.set(bytes.subarray(offset + COMM_R_OFFSET, offset + COMM_R_OFFSET + SCALAR_BYTES), this.#input)
    this.#input += SCALAR_BYTES
    for (let c = first; c < first + geometry.circuitChallenges; c++) {
      const base = offset + inclusionProofOffset(layout, c)
      this.#wideRange(bytes, base + layout.leaf, SCALAR_BYTES)
      for (const level of layout.levels) {
        this.#wideRange(bytes, base + level.siblings, (level.arity - 1) * SCALAR_BYTES)
      }
      const leaf = challenges[c] as number
      this.#bits(leaf, geometry.nodeBits)
      this.#inputValue(leaf)
    }
  }

  /** Fills the rest of the circuit's sectors with the last one written, which was number `written` − 1. */
  repeatLastSector(geometry: PostGeometry, written: number): void {
    const { inputs, wide } = this.witness
    const inputBytes = (1 + geometry.circuitChallenges) * SCALAR_BYTES
    const wideBytes = wideScalars(geometry) * SCALAR_BYTES
    const lastInput = this.#input - inputBytes
    const lastWide = this.#wide - wideBytes
    for (let s = written; s < geometry.circuitSectors; s++) {
      inputs.copyWithin(this.#input, lastInput, lastInput + inputBytes)
      wide.copyWithin(this.#wide, lastWide, lastWide + wideBytes)
      this.#input += inputBytes
      this.#wide += wideBytes
      for (let c = 0; c < geometry.circuitChallenges; c++) {
        this.#bits(this.#inputNumbers.getUint32(lastInput + (1 + c) * SCALAR_BYTES, true), geometry.nodeBits)
      }
    }
  }

  #wideRange(bytes: Uint8Array, start: number, length: number): void {
    this.witness.wide.set(bytes.subarray(start, start + length), this.#wide)
    this.#wide += length
  }

  /** Appends a public input below 2^32. */
  #inputValue(value: number): void {
    this.#inputNumbers.setUint32(this.#input, value, true)
    this.#input += SCALAR_BYTES
  }

  #bits(value: number, count: number): void {
    const { bits } = this.witness
    for (let i = 0; i < count; i++, this.#bit++) {
      if ((value >>> i) & 1) bits[this.#bit >>> 3] = (bits[this.#bit >>> 3] as number) | (1 << (this.#bit & 7))
    }
  }
}
