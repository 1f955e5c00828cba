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
import { BitWriter } from './bit-writer.ts'
import { inSlices } from './in-slices.ts'
import type { PostGeometry } from './post-geometry.ts'
import { type OpenPartition, type SectorView, sectorView } from './post-partition.ts'
import { COMMITMENTS_BYTES, challengeOffset } from './sector-scalars.ts'

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
 * Fills a partition's compact witness. Missing sectors of a WindowPoSt are repetitions of the last one, challenges
 * included; the 66 pseudo-sectors of a WinningPoSt are the challenges of its only sector.
 *
 * @returns arrays on SharedArrayBuffers; where the partition is full and `unchecked`, its own scalars are the wide ones
 * @throws `run.signal.reason` once aborted
 */
export async function fillPostWitness(partition: OpenPartition, run: Run): Promise<CompactWitness> {
  const { geometry, sectors, input } = partition
  const { circuitSectors, circuitChallenges } = geometry
  const sizes = postWitnessSizes(geometry)
  const numbers = new NumbersWriter(geometry, sizes)
  const winning = input.kind === 'winning-post'
  let view = sectorView(partition, 0)
  await inSlices(winning ? 1 : circuitSectors, run, 1, (s) => {
    if (s < sectors) view = sectorView(partition, s)
    for (let first = 0; first < geometry.proofChallenges; first += circuitChallenges)
      numbers.sector(partition, view, first)
  })
  const wide = winning ? pseudoSectors(partition, sizes.wideBytes) : paddedScalars(partition, sizes.wideBytes)
  run.unit(1)
  return { inputs: numbers.inputs, bits: numbers.bits, wide }
}

const shared = (bytes: number): Uint8Array => new Uint8Array(new SharedArrayBuffer(bytes))

/** The scalars of all sectors, the last one repeated until the circuit is full. */
function paddedScalars({ input, layout }: OpenPartition, bytes: number): Uint8Array {
  const { scalars } = input
  if (input.unchecked && scalars.length === bytes) return scalars
  const wide = shared(bytes)
  wide.set(scalars)
  const last = scalars.length - layout.totalBytes
  for (let at = scalars.length; at < bytes; at += layout.totalBytes) wide.copyWithin(at, last, scalars.length)
  return wide
}

/** Of the only sector: its commitments before each challenge. */
function pseudoSectors({ input, layout, geometry }: OpenPartition, bytes: number): Uint8Array {
  const { scalars } = input
  const wide = shared(bytes)
  const commitments = scalars.subarray(0, COMMITMENTS_BYTES)
  const pseudoBytes = COMMITMENTS_BYTES + geometry.circuitChallenges * layout.challengeBytes
  for (let k = 0; k < geometry.circuitSectors; k++) {
    const from = challengeOffset(layout, k * geometry.circuitChallenges)
    wide.set(commitments, k * pseudoBytes)
    wide.set(scalars.subarray(from, from + pseudoBytes - COMMITMENTS_BYTES), k * pseudoBytes + COMMITMENTS_BYTES)
  }
  return wide
}

/** Appends to the public inputs and the bits of a witness. */
class NumbersWriter {
  readonly inputs: Uint8Array
  readonly bits: Uint8Array
  readonly #geometry: PostGeometry
  readonly #inputNumbers: DataView
  readonly #bits: BitWriter
  #input = 0

  constructor(geometry: PostGeometry, { inputsBytes, bitsBytes }: WitnessSizes) {
    this.#geometry = geometry
    this.inputs = shared(inputsBytes)
    this.bits = shared(bitsBytes)
    this.#inputNumbers = new DataView(this.inputs.buffer)
    // Words are little-endian on every machine that Node runs on.
    this.#bits = new BitWriter(new Uint32Array(this.bits.buffer))
    this.#inputValue(1)
  }

  /** One sector of the circuit: its comm_r, and its challenges from number `first`. */
  sector({ layout }: OpenPartition, { scalars, offset, challenges }: SectorView, first: number): void {
    const { circuitChallenges, nodeBits } = this.#geometry
    const commR = offset + layout.commR
    this.inputs.set(scalars.subarray(commR, commR + SCALAR_BYTES), this.#input)
    this.#input += SCALAR_BYTES
    for (let c = first; c < first + circuitChallenges; c++) {
      const leaf = challenges[c] as number
      this.#bits.put(leaf, nodeBits)
      this.#inputValue(leaf)
    }
  }

  /** Appends a public input below 2^32. */
  #inputValue(value: number): void {
    this.#inputNumbers.setUint32(this.#input, value, true)
    this.#input += SCALAR_BYTES
  }
}
