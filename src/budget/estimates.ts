/** What a partition and its circuit need on the CPU device, in bytes, before any of it is allocated. */
import { cpuWorkingSetBytes, RANGE_POINTS, shapeImageBytes } from '../cpu/working-set.ts'
import { G1_BYTES, G2_BYTES, paramsLayout, QUERIES, QUERY_GROUP } from '../params/layout.ts'
import type { CircuitSize } from './circuit-sizes.ts'

const SCALAR_BYTES = 32

/** Memory of the WebAssembly device is 32-bit: kept points of one circuit may take a quarter of it. */
const MOST_KEPT_BYTES: number = 2 ** 30

/** What an estimate depends on beside the circuit. */
export interface Machine {
  /** The whole budget. */
  readonly totalBytes: number
  /** Of the CPU device. */
  readonly threads: number
}

export interface CircuitEstimate {
  /** Per partition from its reservation on: the witness as it travels. */
  readonly witnessBytes: number
  /** Per partition until its proof is there: what the device allocates, and encoded points on their way to it. */
  readonly deviceBytes: number
  /** Per circuit, kept between jobs: its shape, and its points where they are kept. */
  readonly residentBytes: number
  /** Part of `residentBytes`: the kept points, 0 where they are streamed. */
  readonly pointBytes: number
  /** Points are kept if they take at most a quarter of the budget, and a partition still fits beside them. */
  readonly keepPoints: boolean
}

export function estimateCircuit(size: CircuitSize, machine: Machine): CircuitEstimate {
  const kept = estimate(size, machine, true)
  const { totalBytes } = machine
  const fits = kept.witnessBytes + kept.deviceBytes + kept.residentBytes <= totalBytes
  return fits && kept.pointBytes <= Math.min(MOST_KEPT_BYTES, totalBytes / 4) ? kept : estimate(size, machine, false)
}

function estimate(size: CircuitSize, { threads }: Machine, keepPoints: boolean): CircuitEstimate {
  const { inputs, aux, bits, wide } = size
  // Two density bits an aux variable. Templates are in the host's memory too, in arrays about as large as their image.
  const shapeBytes = shapeImageBytes(size) + Math.ceil(aux / 4)
  const pointBytes = keepPoints ? keptPointBytes(size) : 0
  const total = cpuWorkingSetBytes(size, { threads, keepPoints })
  return {
    witnessBytes: SCALAR_BYTES * (inputs + wide) + Math.ceil(bits / 64) * 8,
    // One range of encoded points in use, the next one being read.
    deviceBytes: total - shapeBytes - pointBytes + 2 * encodedRangeBytes(size),
    residentBytes: 2 * shapeBytes + pointBytes,
    pointBytes,
    keepPoints,
  }
}

/** 128 bytes a point in G1 and 256 in G2, once imported. */
function keptPointBytes(size: CircuitSize): number {
  const { queries } = paramsLayout(size)
  return QUERIES.reduce((sum, query) => sum + queries[query].points * (QUERY_GROUP[query] === 'g1' ? 128 : 256), 0)
}

function encodedRangeBytes(size: CircuitSize): number {
  const { queries } = paramsLayout(size)
  const ranges = QUERIES.map((query) => {
    const group = QUERY_GROUP[query]
    return Math.min(queries[query].points, RANGE_POINTS[group]) * (group === 'g1' ? G1_BYTES : G2_BYTES)
  })
  return Math.max(...ranges)
}
