/** What a partition and its circuit need of the host's memory, in bytes, before any of it is allocated. */
import { cpuWorkingSet, shapeImageBytes } from '../cpu/working-set.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../params/layout.ts'
import { mostStagingBuffers, STAGING_BYTES } from '../webgpu/staging-plan.ts'
import type { CircuitSize } from './circuit-sizes.ts'

const SCALAR_BYTES = 32

/** Memory of the WebAssembly device is 32-bit: kept points of one circuit may take a quarter of it. */
const MOST_KEPT_BYTES: number = 2 ** 30

/** What a driver takes beside its code. */
const DRIVER_BYTES: number = 64 * 2 ** 20

/**
 * What a synthesis worker allocates beside the witness: groups of nodes for the hasher, digests, garbage that waits for
 * its collector. Measured 0.1 to 1 MiB for partitions of all kinds.
 */
const SYNTHESIS_BYTES: number = 2 * 2 ** 20

/** What an estimate depends on beside the circuit. */
export interface Machine {
  /** Device that does the work. @default 'cpu' */
  readonly device?: 'cpu' | 'webgpu' | undefined
  /** The whole budget. */
  readonly totalBytes: number
  /** Of the CPU device. */
  readonly threads: number
}

export interface CircuitEstimate {
  /** Per partition until its synthesis has ended: what the worker takes beside the witness. */
  readonly synthesisBytes: number
  /** Per partition until a device has taken the witness over: a copy in the device's own process. */
  readonly sentBytes: number
  /** Per partition until its quotient is there: vectors that the device frees then. */
  readonly quotientBytes: number
  /**
   * Per partition until its proof is there, since the device may fail and another need it: the witness as it was made.
   */
  readonly witnessBytes: number
  /** Per partition until its proof is there: what else the device allocates. */
  readonly deviceBytes: number
  /** Per circuit, kept between jobs: its shape, and its points where they are kept. */
  readonly residentBytes: number
  /** Part of `residentBytes`: the kept points, 0 where they are streamed or kept in a GPU's own memory. */
  readonly pointBytes: number
  /**
   * Points are kept if they take at most a quarter of the budget and a partition still fits beside them; on a GPU as
   * far as its memory goes.
   */
  readonly keepPoints: boolean
}

/** Bytes that a circuit and one of its partitions take of the host's memory, term by term. */
export function estimateCircuit(size: CircuitSize, machine: Machine): CircuitEstimate {
  if (machine.device === 'webgpu') return estimateOnGpu(size)
  const kept = estimate(size, machine, true)
  const { totalBytes } = machine
  // An eighth is left for the inputs of jobs that wait.
  const fits = neededBytes(kept) <= (7 / 8) * totalBytes
  return fits && kept.pointBytes <= Math.min(MOST_KEPT_BYTES, totalBytes / 4) ? kept : estimate(size, machine, false)
}

/** What one partition takes beside its circuit. */
export function partitionBytes(estimate: CircuitEstimate): number {
  const { synthesisBytes, sentBytes, quotientBytes, witnessBytes, deviceBytes } = estimate
  return synthesisBytes + sentBytes + quotientBytes + witnessBytes + deviceBytes
}

/** What the first partition of a circuit takes, the circuit included. */
export function neededBytes(estimate: CircuitEstimate): number {
  return partitionBytes(estimate) + estimate.residentBytes
}

/**
 * Assignment, rows and points are in the device's own memory: the host has the witness, and parameters on their way.
 */
function estimateOnGpu(size: CircuitSize): CircuitEstimate {
  return {
    synthesisBytes: SYNTHESIS_BYTES,
    sentBytes: witnessBytes(size),
    quotientBytes: 0,
    witnessBytes: witnessBytes(size),
    // The ring of staging buffers that parameters and witnesses pass through, as large as a GPU of any memory may have it.
    deviceBytes: mostStagingBuffers(size) * STAGING_BYTES + DRIVER_BYTES,
    residentBytes: shapeBytes(size),
    pointBytes: 0,
    keepPoints: true,
  }
}

const witnessBytes = ({ inputs, wide, bits }: CircuitSize): number =>
  SCALAR_BYTES * (inputs + wide) + Math.ceil(bits / 64) * 8

/**
 * Two density bits an aux variable, beside templates: those are in the host's memory too, in arrays about as large as
 * their image.
 */
const shapeBytes = (size: CircuitSize): number => shapeImageBytes(size) + Math.ceil(size.aux / 4)

function estimate(size: CircuitSize, { threads }: Machine, keepPoints: boolean): CircuitEstimate {
  const pointBytes = keepPoints ? keptPointBytes(size) : 0
  const { quotientBytes, sumsBytes } = cpuWorkingSet(size, { threads, keepPoints })
  const most = Math.max(quotientBytes, sumsBytes)
  return {
    synthesisBytes: SYNTHESIS_BYTES,
    // A thread reads the witness where it was made.
    sentBytes: 0,
    quotientBytes: most - sumsBytes,
    witnessBytes: witnessBytes(size),
    deviceBytes: sumsBytes - shapeBytes(size) - pointBytes,
    residentBytes: 2 * shapeBytes(size) + pointBytes,
    pointBytes,
    keepPoints,
  }
}

/** 128 bytes a point in G1 and 256 in G2, once imported. */
function keptPointBytes(size: CircuitSize): number {
  const { queries } = paramsLayout(size)
  return QUERIES.reduce((sum, query) => sum + queries[query].points * (QUERY_GROUP[query] === 'g1' ? 128 : 256), 0)
}
