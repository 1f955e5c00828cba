/**
 * What a partition needs on the CPU device, in bytes, before any of it is allocated. Each term is an allocation that can be
 * found in the code; a scalar is 32 bytes, an imported point 128 (G1) or 256 (G2).
 */
import type { CircuitSize } from './circuit-sizes.ts'

const SCALAR_BYTES = 32
const G1_POINT_BYTES = 128
const G2_POINT_BYTES = 256

/** Templates and coefficients of any circuit: a few dozen templates with some ten thousand terms of 12 bytes. */
const SHAPE_BYTES = 4 * 2 ** 20

/** Memory of the WebAssembly device is 32-bit: kept points of one circuit may take a quarter of it. */
const MOST_KEPT_BYTES = 2 ** 30

export interface CircuitEstimate {
  /** Per partition from its reservation on: the witness as it travels. */
  readonly witnessBytes: number
  /** Per partition until its proof is there: what the device allocates for it. */
  readonly deviceBytes: number
  /** Per circuit, kept between jobs: its shape, and its points where they are kept. */
  readonly residentBytes: number
  /** Part of `residentBytes`: the kept points, 0 where they are streamed. */
  readonly pointBytes: number
  readonly keepPoints: boolean
}

/** @param totalBytes the whole budget: points are kept if they take at most a quarter of it */
export function estimateCircuit(size: CircuitSize, totalBytes: number): CircuitEstimate {
  const { inputs, aux, bits, wide, log2Domain, g1Points, g2Points } = size
  const domain = 2 ** log2Domain
  const pointBytes = G1_POINT_BYTES * g1Points + G2_POINT_BYTES * g2Points
  const keepPoints = pointBytes <= Math.min(MOST_KEPT_BYTES, totalBytes / 4)
  const witnessBytes = SCALAR_BYTES * (inputs + wide) + Math.ceil(bits / 64) * 8
  // The largest ranges that are imported at once, where points are not kept: one in use, the next one being read.
  const rangeBytes = keepPoints ? 0 : 2 * Math.min(pointBytes, 2 ** 26)
  return {
    witnessBytes,
    // z; a, b, their product and a transform's second copy; digits and sorted pairs of one sum, at most 64 bytes a scalar.
    deviceBytes: SCALAR_BYTES * (inputs + aux) + 4 * SCALAR_BYTES * domain + 64 * domain + rangeBytes,
    // Two density bits an aux variable.
    residentBytes: SHAPE_BYTES + Math.ceil(aux / 4) + (keepPoints ? pointBytes : 0),
    pointBytes: keepPoints ? pointBytes : 0,
    keepPoints,
  }
}
