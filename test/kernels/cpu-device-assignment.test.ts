import { blake2s } from '@noble/hashes/blake2.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import type { CircuitShape, CompactWitness } from '../../src/circuit/shape.ts'
import { CpuAssignment } from '../../src/cpu/assignment/cpu-assignment.ts'
import { CpuShape, locateRank, rankSteps } from '../../src/cpu/assignment/cpu-shape.ts'
import { queryScalars } from '../../src/cpu/assignment/query-scalars.ts'
import { Transforms } from '../../src/cpu/ntt/transform.ts'
import { ComputePool } from '../../src/cpu/thread-pool.ts'
import { FR_MODULUS, frMul, frPow, frSub, frWriteBytes } from '../../src/field/fr.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { paramsLayout, QUERIES } from '../../src/params/layout.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { ProofRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { bigintHasher } from '../../src/synthesis/bigint-hasher.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { windowRequest, winning32Request, winningRequest } from '../support/fixtures.ts'
import { getVector } from '../support/fr-vectors.ts'
import { vectorJson } from '../support/vectors.ts'

const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

async function firstPartition(request: ProofRequest): Promise<{ shape: CircuitShape; witness: CompactWitness }> {
  const validated = validateRequest(request)
  const [partition] = await takeOver(validated)
  if (partition === undefined) throw new Error('no partition')
  return { shape: circuitShape(validated.circuitId), witness: await checkAndSynthesize(partition, bigintHasher, idle) }
}

describe('assignments on the CPU device', () => {
  let pool: ComputePool
  beforeAll(async () => {
    pool = await ComputePool.create({ threads: 2 })
    new Uint8Array(pool.memory.buffer).fill(0xff, pool.arena.allocate(2 ** 20))
  })
  afterAll(() => pool.close())
  const bytesAt = (address: number, length: number): Uint8Array =>
    new Uint8Array(pool.memory.buffer, address, length).slice()

  /** a(x) · b(x) − c(x) = h(x) · (x^m − 1) at a point x outside of the domain, with c = a∘b on it. */
  async function checkQuotient(assignment: CpuAssignment, m: number): Promise<void> {
    const { a, b } = assignment.rowsAt
    const [left, right] = [getVector(pool, a, m), getVector(pool, b, m)]
    const x = 0x1234_5678_9abc_def0n
    const at = (values: readonly bigint[]): bigint => evaluateOnDomain(values, x)
    const transforms = await Transforms.create(pool, idle)
    await assignment.computeQuotient(transforms, idle)
    const h = getVector(pool, assignment.quotientAt, m).reduceRight((sum, value) => (sum * x + value) % FR_MODULUS, 0n)
    const c = left.map((value, i) => frMul(value, right[i] as bigint))
    expect(frSub(frMul(at(left), at(right)), at(c))).toBe(frMul(h, frSub(frPow(x, BigInt(m)), 1n)))
    await transforms.release()
  }

  const recorded: [string, () => ProofRequest, string][] = [
    ['window', windowRequest, '2KiB/a/witness-window.json'],
    ['winning', winningRequest, '2KiB/a/witness-winning.json'],
    ['winning 32 GiB', winning32Request, '32GiB/witness-winning.json'],
  ]
  it.each(recorded)('derive what the reference prover recorded, and its h: %s', async (_, request, file) => {
    const { shape, witness } = await firstPartition(request())
    const expected = vectorJson(file).partitions[0]
    const used = pool.arena.usedBytes
    const loaded = new CpuShape(pool, shape)
    const shares: number[] = []
    const assignment = await CpuAssignment.create(pool, loaded, witness, {
      ...idle,
      unit: (share) => shares.push(share),
    })
    expect(hex(blake2s(bytesAt(assignment.inputsAt, 32 * shape.inputs)))).toBe(expected.inputs_digest)
    expect(hex(blake2s(bytesAt(assignment.auxAt, 32 * shape.aux)))).toBe(expected.aux_digest)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBe(1)

    const m = 2 ** shape.log2Domain
    const { a, b } = assignment.rowsAt
    expect(hex(blake2s(bytesAt(a, 32 * shape.constraints)))).toBe(expected.products.a)
    expect(hex(blake2s(bytesAt(b, 32 * shape.constraints)))).toBe(expected.products.b)
    const tail = 32 * (m - shape.constraints)
    const appended = Buffer.alloc(tail)
    appended.set(witness.inputs)
    expect(appended.equals(bytesAt(a + 32 * shape.constraints, tail))).toBe(true)
    expect(bytesAt(b + 32 * shape.constraints, tail).every((byte) => byte === 0)).toBe(true)

    if (m <= 2 ** 17) await checkQuotient(assignment, m)
    assignment.release()
    loaded.release()
    expect(pool.arena.usedBytes).toBe(used)
  })

  it('give the scalars of any range of a query', async () => {
    const { shape, witness } = await firstPartition(windowRequest())
    const used = pool.arena.usedBytes
    const loaded = new CpuShape(pool, shape)
    const assignment = await CpuAssignment.create(pool, loaded, witness, idle)
    const transforms = await Transforms.create(pool, idle)
    await expect(queryScalars(pool, assignment, 'h', 0, 1, idle)).rejects.toThrow('The quotient has not been computed')
    await assignment.computeQuotient(transforms, idle)
    await expect(assignment.computeQuotient(transforms, idle)).rejects.toThrow(
      'The rows of the assignment are not there',
    )
    await transforms.release()

    const inputs = getVector(pool, assignment.inputsAt, shape.inputs)
    const aux = getVector(pool, assignment.auxAt, shape.aux)
    const dense = (bits: Uint8Array): bigint[] => aux.filter((_, i) => ((bits[i >>> 3] as number) >>> (i & 7)) & 1)
    const lists = {
      h: getVector(pool, assignment.quotientAt, 2 ** shape.log2Domain - 1),
      l: aux,
      a: [...inputs, ...dense(shape.density.aAux)],
      b_g1: [1n, ...dense(shape.density.bAux)],
      b_g2: [1n, ...dense(shape.density.bAux)],
    }
    for (const query of QUERIES) {
      const { points } = paramsLayout(shape).queries[query]
      expect(lists[query].length).toBe(points)
      for (const [first, count] of [
        [0, points],
        [5, 40],
        [points - 1, 1],
        [9_999, 3_000],
        [7, 0],
      ] as const) {
        const range = await queryScalars(pool, assignment, query, first, count, idle)
        expect(getVector(pool, range.address, count)).toEqual(lists[query].slice(first, first + count))
        range.release()
      }
      await expect(queryScalars(pool, assignment, query, 0, points + 1, idle)).rejects.toThrow(RangeError)
    }
    assignment.release()
    loaded.release()
    expect(pool.arena.usedBytes).toBe(used)
  })

  it('refuse a witness of wrong length and scalars that are not canonical, and keep nothing', async () => {
    const { shape, witness } = await firstPartition(windowRequest())
    const loaded = new CpuShape(pool, shape)
    const used = pool.arena.usedBytes
    const tooLarge = (bytes: Uint8Array, index: number): Uint8Array => {
      const copy = bytes.slice()
      frWriteBytes(FR_MODULUS, copy, 32 * index)
      return copy
    }
    const faults: [Partial<CompactWitness>, RegExp][] = [
      [{ bits: witness.bits.slice(8) }, /wrong lengths/],
      [{ wide: new Uint8Array(witness.wide.length + 32) }, /wrong lengths/],
      [{ inputs: witness.inputs.slice(32) }, /wrong lengths/],
      [{ wide: tooLarge(witness.wide, 300) }, /Scalar 300 of the witness \(wide\)/],
      [{ inputs: tooLarge(witness.inputs, 22) }, /Scalar 22 of the witness \(inputs\)/],
    ]
    for (const [fault, message] of faults) {
      const created = CpuAssignment.create(pool, loaded, { ...witness, ...fault }, idle)
      await expect(created).rejects.toMatchObject({
        code: 'ERR_SYNTHESIS_FAILED',
        message: expect.stringMatching(message),
      })
      expect(pool.arena.usedBytes).toBe(used)
    }
    loaded.release()
  })

  it.each([0, 0.2, 0.6, 0.9])('free everything when aborted at share %d', async (share) => {
    const { shape, witness } = await firstPartition(winningRequest())
    const loaded = new CpuShape(pool, shape)
    const used = pool.arena.usedBytes
    const controller = new AbortController()
    if (share === 0) controller.abort('stop')
    const run: Run = { signal: controller.signal, unit: (done) => done > share && controller.abort('stop') }
    await expect(CpuAssignment.create(pool, loaded, witness, run)).rejects.toBe('stop')
    expect(pool.arena.usedBytes).toBe(used)
    loaded.release()
  })
})

/** Value at x of the polynomial with the given values on the domain, by the barycentric formula. */
function evaluateOnDomain(values: readonly bigint[], x: bigint): bigint {
  const m = BigInt(values.length)
  const root = frPow(7n, (FR_MODULUS - 1n) / m)
  const points: bigint[] = []
  for (let w = 1n; points.length < values.length; w = frMul(w, root)) points.push(w)
  // Σ v_i w_i / (x − w_i) · (x^m − 1) / m, with all inverses from one.
  const prefixes: bigint[] = []
  let product = 1n
  for (const w of points) {
    prefixes.push(product)
    product = frMul(product, frSub(x, w))
  }
  let inverse = frPow(product, FR_MODULUS - 2n)
  let sum = 0n
  for (let i = values.length - 1; i >= 0; i--) {
    const w = points[i] as bigint
    sum = (sum + frMul(frMul(values[i] as bigint, w), frMul(inverse, prefixes[i] as bigint))) % FR_MODULUS
    inverse = frMul(inverse, frSub(x, w))
  }
  return frMul(frMul(sum, frSub(frPow(x, m), 1n)), frPow(m, FR_MODULUS - 2n))
}

describe('ranks of set bits', () => {
  it('are found in sparse, dense and empty arrays', () => {
    const bits = new Uint8Array(8_192)
    const set: number[] = []
    for (let i = 0; i < bits.length * 8; i++) {
      const chosen = i < 20_000 ? i % 7 === 3 : i >= 50_000
      if (!chosen) continue
      set.push(i)
      bits[i >>> 3] = (bits[i >>> 3] as number) | (1 << (i & 7))
    }
    const ranks = rankSteps(bits)
    for (let rank = 0; rank < set.length; rank += 97) {
      const { firstBit, skip } = locateRank({ ranks }, rank)
      expect(firstBit % 8).toBe(0)
      expect(set.filter((bit) => bit < firstBit).length + skip).toBe(rank)
    }
    expect(locateRank({ ranks: rankSteps(new Uint8Array(0)) }, 0)).toEqual({ firstBit: 0, skip: 0 })
  })
})
