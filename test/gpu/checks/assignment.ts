/**
 * Assignments of real sectors: every aux variable as the bigint walk of the shape derives it, the scalars of each
 * query, h.
 */
import assert from 'node:assert/strict'
import { testBit } from '../../../src/circuit/bit-array.ts'
import { circuitShape } from '../../../src/circuit/circuit-shape.ts'
import { allocateBits } from '../../../src/circuit/gadgets/boolean.ts'
import { packBits, packIntoInputs, packValues } from '../../../src/circuit/gadgets/packing.ts'
import { xorWords } from '../../../src/circuit/gadgets/uint32.ts'
import type { BitArray, CircuitShape, CompactWitness } from '../../../src/circuit/shape.ts'
import { walkRows } from '../../../src/circuit/walk-rows.ts'
import { WasmPoseidonHasher } from '../../../src/cpu/poseidon.ts'
import type { Query } from '../../../src/params/layout.ts'
import { takeOver } from '../../../src/request/partitions.ts'
import type { ProofRequest } from '../../../src/request/proof-request.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { checkAndSynthesize } from '../../../src/synthesis/synthesize.ts'
import { assignmentBytes } from '../../../src/webgpu/assignment/assignment-bytes.ts'
import { GpuAssignment } from '../../../src/webgpu/assignment/gpu-assignment.ts'
import { GpuShape } from '../../../src/webgpu/assignment/gpu-shape.ts'
import { ELEMENT_BYTES, layoutOf } from '../../../src/webgpu/elements.ts'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import {
  type Assignment,
  assign,
  compactWitness,
  firstUnsatisfied,
  gadgetShape,
  products,
} from '../../support/circuits.ts'
import { windowRequest } from '../../support/fixtures.ts'
import { forestShape, forestWitness } from '../../support/forest-circuit.ts'
import { type Check, dirtyBuffer, plainOf, readWords, withDevice, withShards } from '../harness.ts'
import { referenceQuotient } from './ntt.ts'

const run = { signal: new AbortController().signal, unit: () => {} }

interface Partition {
  readonly shape: CircuitShape
  readonly witness: CompactWitness
  readonly expected: Assignment
}

async function partitionOf(request: ProofRequest): Promise<Partition> {
  const validated = validateRequest(request)
  const shape = circuitShape(validated.circuitId)
  const [partition] = await takeOver(validated)
  assert(partition !== undefined)
  const witness = await checkAndSynthesize(partition, new WasmPoseidonHasher(), run)
  return { shape, witness, expected: assign(shape, witness) }
}

/** Leaves memory full of ones where the assignment will allocate: z and some polynomials. */
async function dirty(gpu: Gpu, { inputs, aux, log2Domain }: CircuitShape, polynomials: number): Promise<void> {
  const buffers: GPUBuffer[] = []
  for (const count of [inputs + aux, ...Array<number>(polynomials).fill(2 ** log2Domain)]) {
    const least = Math.min(count * ELEMENT_BYTES, gpu.bindingBytes)
    for (let at = 0; at < count * ELEMENT_BYTES; at += least) {
      buffers.push(await dirtyBuffer(gpu, Math.min(least, count * ELEMENT_BYTES - at), 'dirty'))
    }
  }
  for (const buffer of buffers) gpu.release(buffer)
}

/** Scalars of a range, a few at a time: there may be little memory. */
async function readScalars(
  gpu: Gpu,
  assignment: GpuAssignment,
  query: Query,
  first: number,
  count: number,
): Promise<bigint[]> {
  const values: bigint[] = []
  while (values.length < count) {
    const part = Math.min(4000, count - values.length)
    const scalars = await assignment.scalars(query, first + values.length, part)
    await scalars.ready
    const words = await readWords(gpu, scalars.buffer, 8 * (scalars.first + part))
    scalars.release()
    for (let i = scalars.first; i < scalars.first + part; i++) values.push(plainOf(words.subarray(8 * i, 8 * i + 8)))
  }
  return values
}

/** What the scalars of a query are, by the density bit of each aux variable. */
function dense(inputs: readonly bigint[], bits: BitArray, aux: readonly bigint[]): bigint[] {
  const words = new Uint32Array(bits.buffer, bits.byteOffset, bits.byteLength / 4)
  return [...inputs, ...aux.filter((_, i) => testBit(words, i))]
}

async function checkQueries(gpu: Gpu, assignment: GpuAssignment, { shape, expected }: Partition): Promise<void> {
  const { density } = shape
  const queries: Partial<Record<Query, bigint[]>> = {
    l: [...expected.aux],
    a: dense(expected.inputs, density.aAux, expected.aux),
    b_g1: dense(expected.inputs.slice(0, 1), density.bAux, expected.aux),
  }
  for (const [query, values] of Object.entries(queries) as [Query, bigint[]][]) {
    const n = values.length
    // All of them; then across the end of the inputs, across blocks of the density, one, and the last ones.
    const ranges = [
      [0, n],
      [3, Math.min(1500, n - 3)],
      [1, 1],
      [Math.max(0, n - 1030), Math.min(1030, n)],
      [n - 1, 1],
    ] as const
    for (const [first, count] of ranges) {
      const got = await readScalars(gpu, assignment, query, first, count)
      for (const [i, value] of got.entries()) {
        assert.equal(value, values[first + i], `scalar ${first + i} of query ${query}, ${shape.circuitId}`)
      }
    }
  }
}

/** Assigns, compares every scalar, divides. @returns h */
async function checkAssignment(gpu: Gpu, partition: Partition, givesWay = false): Promise<bigint[]> {
  const { shape, witness } = partition
  const used = gpu.usedBytes
  const plan = assignmentBytes(shape, gpu.bindingBytes)
  const gpuShape = await GpuShape.load(gpu, shape)
  assert.equal(gpu.usedBytes - used, plan.shape, 'bytes of the shape')
  await dirty(gpu, shape, givesWay ? 2 : 3)
  const loaded = gpu.usedBytes
  let peak = 0
  gpu.onUnit = () => {
    peak = Math.max(peak, gpu.usedBytes - loaded)
  }
  const within = (bytes: number, phase: string): void => {
    // What is planned for parameters of units may be in use or not.
    assert(peak <= bytes && peak >= bytes - 65_536, `${phase}: ${peak} bytes where ${bytes} were planned`)
    peak = 0
  }
  const h: bigint[] = []
  try {
    const assignment = await GpuAssignment.create(gpu, gpuShape, witness, run)
    within(plan.assign, 'assign')
    // Where z has to give way, there is no memory for their scalars either.
    if (!givesWay) await checkQueries(gpu, assignment, partition)
    peak = 0
    await assignment.quotient(run)
    within(givesWay ? plan.quotient : plan.quotientWithValues, 'quotient')
    assert(gpu.usedBytes - loaded <= plan.sums, 'bytes left for sums')
    await checkQueries(gpu, assignment, partition)
    const domain = 2 ** shape.log2Domain
    h.push(...(await readScalars(gpu, assignment, 'h', 0, domain - 1)))
    const [from, count] = [Math.floor(domain / 2) - 5, 10]
    assert.deepEqual(await readScalars(gpu, assignment, 'h', from, count), h.slice(from, from + count))
    assignment.release()
  } finally {
    gpu.onUnit = undefined
    gpuShape.release()
  }
  assert.equal(gpu.usedBytes, used, 'every buffer is released')
  return h
}

const real =
  (request: () => ProofRequest): Check =>
  async (gpu) => {
    await checkAssignment(gpu, await partitionOf(request()))
  }

/** h from rows that bigints evaluate. */
function expectedQuotient({ shape, expected }: Partition): bigint[] {
  const [a, b]: [bigint[], bigint[]] = [[], []]
  walkRows(shape, (row) => {
    const [left, right] = products(shape, row, expected)
    a.push(left)
    b.push(right)
  })
  const domain = 2 ** shape.log2Domain
  const rows = [...a, ...expected.inputs]
  const padded = (values: readonly bigint[]): bigint[] => Array.from({ length: domain }, (_, i) => values[i] ?? 0n)
  return referenceQuotient(padded(rows), padded(b), shape.log2Domain).slice(0, domain - 1)
}

/** Rows of bits, their sums with small and with large coefficients, positive and negative. */
const words: Check = async (gpu) => {
  const bits = Array.from({ length: 64 }, (_, i) => ((0x9e3779b97f4a7c15n >> BigInt(i)) & 1n) === 1n)
  const xors = Array.from({ length: 32 }, (_, i) => bits[i] !== bits[i + 32])
  const shape = gadgetShape((cs) => {
    const [x, y] = [allocateBits(cs, 32), allocateBits(cs, 32)]
    const z = xorWords(cs, x, y)
    packIntoInputs(cs, z)
    packBits(cs, [...x, ...z].slice(0, 60))
  })
  const witness = compactWitness({ inputs: packValues(xors), bits: [...bits, ...xors] })
  const partition = { shape, witness, expected: assign(shape, witness) }
  assert.equal(firstUnsatisfied(shape, partition.expected), -1)
  assert.deepEqual(await checkAssignment(gpu, partition), expectedQuotient(partition))
}

/** A byte of a part of a witness. */
type Place = readonly [part: 'inputs' | 'bits' | 'wide', at: number]

/** With one value after another wrong, the number of the first row that does not hold. */
async function checkViolations(
  gpu: Gpu,
  { shape, witness }: Pick<Partition, 'shape' | 'witness'>,
  places: readonly Place[],
): Promise<void> {
  const gpuShape = await GpuShape.load(gpu, shape)
  const used = gpu.usedBytes
  const unchecked = { ...witness, unchecked: true }
  try {
    const assignment = await GpuAssignment.create(gpu, gpuShape, unchecked, run)
    assignment.release()
    for (const [part, at] of places) {
      const wrong = { ...unchecked, [part]: new Uint8Array(witness[part]) }
      wrong[part][at] = (wrong[part][at] as number) ^ 1
      const row = firstUnsatisfied(shape, assign(shape, wrong))
      assert(row >= 0, `${part}[${at}] decides nothing`)
      await assert.rejects(GpuAssignment.create(gpu, gpuShape, wrong, run), {
        code: 'ERR_SYNTHESIS_FAILED',
        message: `the witness of ${shape.circuitId} does not satisfy row ${row}`,
      })
      assert.equal(gpu.usedBytes, used, 'every buffer is released')
    }
  } finally {
    gpuShape.release()
  }
}

/** Commitments, leaves, siblings, index bits, inputs of a real partition. */
const violations: Check = async (gpu) => {
  const { shape, witness } = await partitionOf(windowRequest())
  await checkViolations(gpu, { shape, witness }, [
    ['inputs', ELEMENT_BYTES],
    ['inputs', witness.inputs.length - ELEMENT_BYTES],
    ['bits', (shape.root.totals.bits - 1) >>> 3],
    ...[0, 1, 3, 4].map((scalar) => ['wide', scalar * ELEMENT_BYTES] as const),
    ['wide', witness.wide.length - ELEMENT_BYTES],
  ])
}

/**
 * Polynomials over four shards and values over three, the last of them short; with memory for z in the quotient, and
 * without.
 */
const sharded: Check = async (gpu) => {
  const [shape, witness] = [forestShape(1), forestWitness(1)]
  const partition = { shape, witness, expected: assign(shape, witness) }
  const bindingBytes = (2 ** shape.log2Domain / 4) * ELEMENT_BYTES
  assert.equal(layoutOf({ bindingBytes }, shape.inputs + shape.aux).shards, 3)
  const h = await checkAssignment(gpu, partition)
  assert.deepEqual(h, expectedQuotient(partition))
  const plan = assignmentBytes(shape, bindingBytes)
  const memoryBytes = plan.shape + plan.quotientWithValues + 2 ** 20
  const ballast = memoryBytes - plan.shape - Math.max(plan.assign, plan.quotient)
  await withDevice(gpu, { bindingBytes, memoryBytes }, async (small) => {
    assert.deepEqual(await checkAssignment(small, partition), h)
    await checkViolations(small, partition, [
      ['inputs', witness.inputs.length - ELEMENT_BYTES],
      ['wide', 0],
    ])
    small.trim()
    // Sizes are rounded up to an eighth of their power of two.
    const buffer = await small.allocate((7 / 8) * ballast, 'ballast')
    assert.deepEqual(await checkAssignment(small, partition, true), h)
    small.release(buffer)
    // Memory that was not limited, but turned out not to be there, counts as well.
    small.givenBytes = memoryBytes - (7 / 8) * ballast
    assert.deepEqual(await checkAssignment(small, partition, true), h)
  })
}

export const assignmentChecks: Record<string, Check> = {
  'assignment of wpost-2k': real(windowRequest),
  'assignment of words': words,
  'rows that a wrong witness violates': violations,
  'assignment over shards': sharded,
}

/** Too long for a software adapter within `npm test`. */
export const longAssignmentChecks: Record<string, Check> = {
  // Rows over four shards, values over three.
  'rows that a wrong witness violates over shards': withShards(13, violations),
}
